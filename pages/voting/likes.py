"""The button with which a user likes a listing, and takes that back."""

from actions.likes import LIKE, TAKE_BACK, give_of, take_back_of
from languages.refusals import Refusal
from pages.page import Page, PageCall, Post
from pages.shared_texts import done


async def _press(page: PageCall, _: object) -> str:
    """Give the like of the visitor or take it back, as the button says, and return the notice."""
    call, user = page.call, page.person.id
    row = call.state.listings.get(call.ref)
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    page.site.voting.guards.take(user, page.visit.request.address)
    if page.visit.form().text("like") == "off":
        await take_back_of(call, user)
        return "unliked"
    try:
        await give_of(call, user)
    except Refusal as refused:
        if refused.code not in LIKE.refuses:
            raise
        return "not-liked"
    return "liked"


LIKE_BUTTON = Page[None](
    path="/{kind}/{id}/like",
    of="likes",
    posts=(
        Post(
            run=_press,
            access=TAKE_BACK.access,
            then=lambda page, notice: done(f"/{page.call.ref}", notice),
        ),
    ),
)
