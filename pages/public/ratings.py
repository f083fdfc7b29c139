"""The reviews of a listing by users: the list with the visitor's own, and the pages around one review.

    /{kind}/{id}/reviews                     all, the newest first, and the form of the visitor's own
    /{kind}/{id}/reviews/{user_id}/answer    an owner answers
    /{kind}/{id}/reviews/{user_id}/remove    a moderator removes
    /{kind}/{id}/reviews/{user_id}/report    a user reports: see report.py

A review is guarded as a vote is: the same limits of presses, and the same age of accounts.
"""

from collections.abc import Callable, Mapping
from typing import Any

from actions.action import AnyAction
from actions.ratings import (
    ANSWER_RATING,
    RATE,
    REMOVE_RATING,
    TAKE_ANSWER_BACK,
    TAKE_RATING_BACK,
    NewRating,
    RatingList,
    RatingOfUser,
    RatingsQuery,
    RatingView,
    known_rating,
    rating_view,
    ratings_of,
    take_back,
    write,
)
from actions.views import Success
from core.user_rows import user_ref
from forms.reading import read_query
from handlers.reply import Reply
from languages.texts import Text
from pages.page import Again, AnyPage, Page, PageCall, Post, Shown
from pages.public.authors import author_of
from pages.public.listing import listing_html, listing_view, seen_listing, shown_listing
from pages.public.rating_views import ON_A_PAGE, ratings_shown
from pages.shared_texts import done
from votes.ratings import MOST_CHARACTERS
from web.form_posts import FormPost
from web.pages import Done

YOUNG = Text("Your account is too young to write reviews here. Come back in a few days.")
NO_STARS = Text("Choose 1 to 5 stars.")


def show(page: PageCall) -> Shown[RatingList] | Reply:
    """Show the reviews, if the visitor may see the listing. Raises Refusal, and Invalid for a wrong query."""
    row, query = seen_listing(page), read_query(RatingsQuery, page.visit.request.query)
    value = ratings_of(page.call, query.after, query.limit if page.is_json else ON_A_PAGE)
    page.shown.update(user_ref(each.user) for each in value.ratings)
    listing = listing_view(page, row)

    async def html() -> Mapping[str, Any]:
        values = await listing_html(page, row, listing, "reviews")
        return {**values, "ratings": ratings_shown(page, row, ON_A_PAGE, query.after)}

    return shown_listing(row, value, html)


def _guard(page: PageCall) -> None:
    """Raise Again for a form without stars, for too many presses, and for a young account."""
    guards, user = page.site.voting.guards, page.person.id
    seen_listing(page)
    if page.visit.form().number("stars") not in range(1, 6):
        raise Again(errors={"stars": NO_STARS}, status=400)
    guards.take(user, page.visit.request.address)
    if page.call.now_ms < guards.old_enough_ms(user):
        raise Again(errors={"": YOUNG}, status=403)


def _read(_: PageCall, form: FormPost) -> Mapping[str, Any]:
    return {"stars": form.number("stars"), "text": form.text("text")}


def _to_reviews(told: str) -> Callable[[PageCall, object], Done]:
    return lambda page, _: done(f"/{page.call.ref}/reviews", told)


async def _write(page: PageCall, form: NewRating) -> RatingOfUser:
    return await write(page.call.with_id(page.person.id), form)


async def _take_back(page: PageCall, _: object) -> Success:
    return await take_back(page.call.with_id(page.person.id), None)


RATINGS: AnyPage = Page(
    path="/{kind}/{id}/reviews",
    of="ratings",
    template="public_listing",
    visitors="anyone",
    show=show,
    kept=("after",),
    posts=(
        Post(action=RATE, guard=_guard, reads=_read, run=_write, then=_to_reviews("rated")),
        Post(action=TAKE_RATING_BACK, button="take-back", run=_take_back, then=_to_reviews("rating-gone")),
    ),
)


def _quoted(page: PageCall, field: str) -> Shown[None]:
    """Show a review of the path with a form of one text. Raises Refusal."""
    author, rating = known_rating(page.call)
    view: RatingView = rating_view(author, rating)
    before = view.answer.text if view.answer is not None and field == "text" else ""
    html = {
        "row": page.row,
        "here": page.visit.path,
        "rating": view,
        "author": author_of(page, author.id),
        "field": field,
        "before": before,
        "typed": page.typed(field, before),
        "most": MOST_CHARACTERS,
    }
    title = Text("Answer a review") if field == "text" else Text("Remove a review")
    return Shown(None, title, html)


def _words_page(field: str, action: AnyAction, told: str, *more: Post[Any]) -> AnyPage:
    """Return a page with a review and a form of one text. Its path ends as that of the action."""
    return Page(
        path=f"/{{kind}}/{{id}}/reviews/{{user_id}}/{action.path.rpartition('/')[2]}",
        of="ratings",
        template="rating_words",
        access=action.access,
        show=lambda page: _quoted(page, field),
        has_json=False,
        gives_back=True,
        posts=(
            Post(action=action, reads=lambda _, form: {field: form.text(field)}, then=_to_reviews(told)),
            *more,
        ),
    )


ANSWER = _words_page(
    *("text", ANSWER_RATING, "answered"),
    Post(action=TAKE_ANSWER_BACK, button="take-back", then=_to_reviews("answer-gone")),
)
REMOVAL = _words_page("reason", REMOVE_RATING, "rating-removed")
RATING_PAGES = (RATINGS, ANSWER, REMOVAL)
