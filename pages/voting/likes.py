"""The button with which a user likes a listing, and takes that back.

The guards of the vote button guard it, too: accounts that are too young give no like, and presses are
limited for each user and address. Everybody may take back a like.
"""

from actions.likes import TAKE_BACK, give_of, take_back_of
from languages.refusals import Refusal
from pages.page import Page, PageCall, Post
from pages.shared_texts import done


async def _press(page: PageCall, _: object) -> str:
    """Give the like of the visitor or take it back, as the button says, and return the notice."""
    call, user = page.call, page.person.id
    row = call.state.listings.get(call.ref)
    if row is None or not row.is_public:
        raise Refusal("no_such_listing")
    guards = page.site.voting.guards
    guards.take(user, page.visit.request.address)
    if page.visit.form().text("like") == "off":
        await take_back_of(call, user)
        return "unliked"
    if call.now_ms < guards.old_enough_ms(user):
        return "too-young-to-like"
    try:
        await give_of(call, user)
    except Refusal as refused:
        if refused.code != "liked_too_soon":
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
