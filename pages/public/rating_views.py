"""The reviews of a listing by users as pages show them, and what the visitor may do with each."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from actions.ratings import RatingView, ratings_of
from core.rows import Listing
from core.user_rows import Rating, user_ref
from kinds.registry import kind_of
from languages.refusals import Refusal
from languages.said import plainly
from languages.texts import Words
from pages.page import PageCall
from pages.public.authors import Author, author_of
from people.permissions import rights
from votes.ratings import LEAST_CHARACTERS, MOST_CHARACTERS, refuse_rating, standing_rating, summary_of

ON_A_PAGE = 10
ON_THE_LISTING = 3
"""The newest reviews, on the first page of a listing."""


class ShownRating(NamedTuple):
    """A review with its author; None for one who has never signed in."""

    rating: RatingView
    author: Author | None
    is_own: bool


class RatingStanding(NamedTuple):
    """The visitor and a listing: the visitor's own review, and why the visitor cannot write one."""

    own: Rating | None
    why_not: Words | None


def offers_ratings(page: PageCall, row: Listing) -> bool:
    return page.call.tools.offers(kind_of(row.ref), "ratings")


def ratings_shown(
    page: PageCall, row: Listing, most: int, after: str | None = None
) -> Mapping[str, Any] | None:
    """Return the values of the reviews of a listing for its pages; None where there are no reviews."""
    if not offers_ratings(page, row):
        return None
    found, visitor = ratings_of(page.call, after, most), page.visit.visitor
    allowed = rights(visitor.id, row, is_moderator=visitor.is_moderator) if visitor is not None else ()
    me = visitor.id if visitor is not None else ""
    return {
        "count": found.count,
        "mean": found.mean,
        "bars": [(stars, found.stars[stars - 1]) for stars in range(len(found.stars), 0, -1)],
        "shown": [ShownRating(each, author_of(page, each.user), each.user == me) for each in found.ratings],
        "next": found.next,
        "standing": _standing(page, row) if visitor is not None else None,
        "may_answer": "edit" in allowed,
        "may_remove": "decide" in allowed,
        "stars": page.typed("stars", ""),
        "text": page.typed("text", ""),
        "least": LEAST_CHARACTERS,
        "most": MOST_CHARACTERS,
    }


def _standing(page: PageCall, row: Listing) -> RatingStanding:
    call, user = page.call, page.person.id
    own = standing_rating(call.state.users.get(user_ref(user)), row)
    try:
        refuse_rating(call.state, row, user)
    except Refusal as refused:
        is_asked = refused.code == "has_not_voted" and call.tools.is_member is not None
        if is_asked and kind_of(row.ref).known_as == "server":
            return RatingStanding(own, None)  # the chat platform is asked once the review is sent
        return RatingStanding(own, plainly(refused.code, refused.facts))
    return RatingStanding(own, None)


def rating_facts(page: PageCall, row: Listing) -> Mapping[str, Any]:
    """Return the mean and the number of reviews for JSON; nothing where there are no reviews."""
    if not offers_ratings(page, row):
        return {}
    summary = summary_of(page.call.state, row)
    return {"rating": summary.mean if summary.count else None, "rating_count": summary.count}


def rating_thing(page: PageCall, row: Listing) -> Mapping[str, Any]:
    """Return the reviews for search engines; nothing for a listing without one."""
    facts = rating_facts(page, row)
    if not facts.get("rating_count"):
        return {}
    numbers = {"ratingValue": facts["rating"], "ratingCount": facts["rating_count"]}
    return {"aggregateRating": {"@type": "AggregateRating", **numbers, "bestRating": 5, "worstRating": 1}}
