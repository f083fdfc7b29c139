"""The page of an invitation to become an owner. Invariant: nothing changes before the person agrees.

An owner sends its address to the person, who finds it at `/me`, too.
"""

from collections.abc import Awaitable

from actions.owners import ACCEPT_INVITATION, ACCEPT_OFFER, accept_invitation, end_co_owner, end_offer
from actions.views import Success
from forms.fields import Nothing
from languages.refusals import Refusal
from languages.texts import Text
from listings.owners import is_offered_to, open_offer
from pages.page import Page, PageCall, Post, Shown
from pages.shared_texts import done
from pages.visitors import faces_of


def show(page: PageCall) -> Shown[None]:
    row, user = page.row, page.person.id
    html = {
        "row": row,
        "is_invited": user in row.invited,
        "offered": row.hand_over if is_offered_to(row, user) else None,
        "is_standing": open_offer(row, page.call.now_ms) is not None,
        "faces": faces_of(page.call.state, page.site.addresses.cdn_url, (row.owner_id,)),
    }
    return Shown(None, Text("Invitation"), html)


def join(page: PageCall, _: object) -> Awaitable[Success]:
    return accept_invitation(page.call.with_id(page.person.id), Nothing())


def decline(page: PageCall, _: object) -> Awaitable[Success]:
    if page.person.id not in page.row.invited:
        raise Refusal("no_invitation")
    return end_co_owner(page.call.with_id(page.person.id), None)


def decline_offer(page: PageCall, _: object) -> Awaitable[Success]:
    if not is_offered_to(page.row, page.person.id):
        raise Refusal("no_invitation")
    return end_offer(page.call, None)


_ANSWER = ACCEPT_INVITATION.access
INVITATION = Page(
    path="/{kind}/{id}/invitation",
    template="invitation",
    access=_ANSWER,
    show=show,
    has_json=False,
    posts=(
        Post(access=_ANSWER, run=join, then=lambda page, _: done(page.here, "joined"), button="join"),
        Post(
            action=ACCEPT_OFFER,
            reads=lambda page, _: {"heir": page.person.id},
            then=lambda page, _: done(page.here, "inherited"),
            button="take",
        ),
        Post(access=_ANSWER, run=decline, then=lambda *_: done("/me", "declined"), button="decline"),
        Post(
            access=_ANSWER,
            run=decline_offer,
            then=lambda *_: done("/me", "declined"),
            button="decline_offer",
        ),
    ),
)
