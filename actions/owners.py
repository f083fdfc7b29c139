"""The owners of a listing: co-owners, and a hand-over. Invariant: nobody becomes an owner without consent.

The operator may state the consent of a user, who has agreed on a page of the operator's own.
"""

from actions.action import Access, Action, Call, Command, Option
from actions.listing_views import ListingAnswer, commit_listing
from actions.views import Success
from forms.fields import Nothing
from kinds.registry import KINDS
from listings import owners
from listings.forms import Heir
from listings.rules import listing_of
from people.quarantine import refuse_of_quarantined_owner, refuse_quarantined


async def invite(call: Call, _: Nothing) -> ListingAnswer:
    """Invite the user of the path to be a co-owner."""
    row, user = listing_of(call.state, call.ref), call.ids[1]
    events = owners.invite(row, user, call.tools.new_id(), call.now_ms, by=call.by)
    return await commit_listing(call, call.ref, events)


async def accept_invitation(call: Call, _: Nothing) -> ListingAnswer:
    """Make the invited user of the path a co-owner."""
    row, user = listing_of(call.state, call.ref), call.ids[1]
    return await commit_listing(call, call.ref, owners.accept_invitation(row, user, call.now_ms, by=call.by))


async def end_co_owner(call: Call, _: None) -> ListingAnswer:
    """End the invitation or the co-ownership of the user of the path."""
    row, user = listing_of(call.state, call.ref), call.ids[1]
    return await commit_listing(call, call.ref, owners.end_co_owner(row, user, call.now_ms, by=call.by))


async def offer(call: Call, form: Heir) -> ListingAnswer:
    """Offer the listing to another owner."""
    row = listing_of(call.state, call.ref)
    return await commit_listing(call, call.ref, owners.offer(row, form.heir, call.now_ms, by=call.by))


async def accept_offer(call: Call, form: Heir) -> ListingAnswer:
    """Hand the listing over, unless its successor or its owner may not submit listings."""
    row, now_ms = listing_of(call.state, call.ref), call.now_ms
    events = owners.accept_offer(row, form.heir, call.tools.new_id(), now_ms, by=call.by)
    refuse_quarantined(call.state, form.heir, "submit", now_ms)
    refuse_of_quarantined_owner(call.state, row.owner_id, now_ms, by=call.by)
    return await commit_listing(call, call.ref, events)


async def end_offer(call: Call, _: None) -> ListingAnswer:
    """Withdraw the offer, or decline it."""
    row = listing_of(call.state, call.ref)
    return await commit_listing(call, call.ref, owners.end_offer(row, call.now_ms, by=call.by))


async def take_over(call: Call, user: str, evidence: owners.Evidence) -> Success:
    """Make the user the owner, whom the platform has just proven to own the listing.

    The management API has no row for it: there the operator edits the owner. Raises Refusal and Unavailable.
    """
    refuse_quarantined(call.state, user, "submit", call.now_ms)
    row = listing_of(call.state, call.ref)
    is_done = row.owner_id == user  # the form was sent twice
    events = [] if is_done else owners.take_over(row, user, evidence, call.now_ms)
    return await commit_listing(call, call.ref, events)


_INVITING = (
    "The user has no rights before they accept. The user finds the invitation under `/me`: "
    "The gateway sends no message about it."
)
_SUCCESSOR = {"id": Option(argument="id"), "heir": Option(argument="user_id")}
_ACCEPTING = (
    "Call it when the heir has agreed on a page of your own. All invitations end. The call is "
    "refused while the heir or the owner is under a quarantine for `submit`."
)
_STAYING = " The former owner stays as a co-owner if there is room."

INVITE_CO_OWNER = Action(
    name="inviteExtraOwner",
    run=invite,
    access=Access("own", fresh=True),
    route="PUT /manage/{kind}/{id}/extra-owners/{user_id}",
    of="co_owners",
    summary="Invite a user to manage a {thing}",
    about={
        kind.plural: f"{_INVITING} A {{thing}} has at most {kind.co_owners.most} co-owners and invitations."
        for kind in KINDS
        if kind.co_owners is not None
    },
    outcome="The {thing}, with the user among the invited.",
    refuses=("owns_already", "too_many_owners"),
    command=Command("owners invite"),
)
ACCEPT_INVITATION = Action(
    name="acceptInvitation",
    run=accept_invitation,
    access=Access("answer"),
    route="POST /manage/{kind}/{id}/extra-owners/{user_id}/accept",
    of="co_owners",
    summary="Accept an invitation for a user",
    about="Call it when the user has agreed on a page of your own.",
    outcome="The {thing}, with the user among its co-owners (`extra_owners`).",
    refuses=("no_invitation",),
    command=Command("owners accept"),
)
END_CO_OWNER = Action(
    name="endExtraOwner",
    run=end_co_owner,
    access=Access("own", fresh=True),
    route="DELETE /manage/{kind}/{id}/extra-owners/{user_id}",
    of="co_owners",
    summary="Remove a co-owner, or end an invitation",
    about=(
        "Call it when a user leaves or declines, or when the owner removes a user. Keys that the "
        "user made still work: `made_by` in the list of keys names their makers."
    ),
    outcome="The {thing}, without the user.",
    refuses=("no_extra_owner",),
    command=Command("owners remove"),
)
OFFER = Action(
    name="offer{Thing}",
    run=offer,
    access=Access("own", fresh=True),
    route="PUT /manage/{kind}/{id}/hand-over",
    of="hand_over",
    summary="Offer a {thing} to another owner",
    about=(
        "Nothing changes until the heir accepts, within 7 days. The offer replaces an earlier one. To set an "
        "owner without asking, edit the {thing}."
    ),
    outcome="The {thing}, with the offer.",
    refuses=("owns_already",),
    command=Command("{kind} offer", options=_SUCCESSOR),
)
ACCEPT_OFFER = Action(
    name="accept{Thing}Offer",
    run=accept_offer,
    access=Access("answer"),
    route="POST /manage/{kind}/{id}/hand-over/accept",
    of="hand_over",
    summary="Accept the offer of a {thing} for the heir",
    about={kind.plural: _ACCEPTING + _STAYING * kind.has("co_owners") for kind in KINDS},
    outcome="The {thing}, with its new owner.",
    refuses=("no_hand_over", "owner_quarantined"),
    command=Command("{kind} accept-offer", options=_SUCCESSOR),
)
END_OFFER = Action(
    name="end{Thing}Offer",
    run=end_offer,
    access=Access("own", fresh=True),
    route="DELETE /manage/{kind}/{id}/hand-over",
    of="hand_over",
    summary="Withdraw the offer of a {thing}, or decline it",
    about="The owner stays the same.",
    outcome="The {thing}, without the offer.",
    refuses=("no_hand_over",),
    command=Command("{kind} end-offer"),
)
OWNER_ACTIONS = (INVITE_CO_OWNER, ACCEPT_INVITATION, END_CO_OWNER, OFFER, ACCEPT_OFFER, END_OFFER)
