"""The rules of a listing's life. Invariant: a rule reads the state and returns events, or refuses.

Events name their actor in `by`. The caller has checked that the actor has the right.

    submitted -> in_review -> approved -> withdrawn, which is denied
                    |  ^-------- edited ---------,
                    `-> denied ------------------'

An approved listing stays approved when it is edited. A moderator looks at the change, and agrees to it or
refuses it. Meanwhile everybody sees the change, or the version agreed to last: the deployment says which
(`EditsShown`). Several edits are one change. An edit back to the version agreed to last ends it.

A moderator decides on the version that they have seen: `version` names it.

A decision is one record with its message to the owner, and with a delivery if the listing's endpoint takes
decisions. The message goes to the owner alone.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal

import msgspec

from core import rows
from core.actors import OPERATOR, Actor, user_actor
from core.events import (
    ChangeDecided,
    Event,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    OwnerMessageQueued,
    SlotsSet,
)
from core.refusals import Refusal
from core.rows import Decision, Listing, PendingChange, Policy, WebhookEvent
from core.state import State
from core.webhook_events import NewDeliveries, told
from kinds.kind import ListingEdit, ListingSubmission
from kinds.registry import AnyProfile, kind_of
from listings import owners
from listings.forms import Limit, Limits

EditsShown = Literal["after", "before"]
"""When a moderator looks at an edit of an approved listing: after everybody sees it, or before."""
DECISION_EVENTS: Mapping[Decision, WebhookEvent] = {
    "approved": "review.approved",
    "denied": "review.denied",
    "withdrawn": "review.denied",
}
"""The decisions that an endpoint gets. One about a change goes to the owner alone: the listing stays
approved."""


def listing_of(state: State, ref: str) -> Listing:
    """Return the listing. Raises Refusal."""
    listing = state.listings.get(ref)
    if listing is None:
        raise Refusal("no_such_listing")
    return listing


def submit(state: State, form: ListingSubmission, now_ms: int, *, by: Actor) -> list[Event]:
    ref = form.of_kind.ref(form.id)
    if ref in state.listings:
        raise Refusal("listing_exists")
    return [ListingSaved(ref, form.owner_id, form.of_kind.profile_of(form), "in_review", now_ms, by=by)]


def edit(
    state: State,
    ref: str,
    form: ListingEdit,
    now_ms: int,
    *,
    by: Actor,
    shown: EditsShown = "after",
) -> list[Event]:
    """Replace profile and owner. A save that changes nothing leaves no trace. Only the operator sets another
    owner at once; others offer the listing."""
    listing = listing_of(state, ref)
    profile, events = kind_of(ref).profile_of(form), list[Event]()
    if profile != listing.latest or listing.state == "denied":
        events.append(_saved(listing, profile, now_ms, by, shown))
    if form.owner_id != listing.owner_id:
        hands_over = owners.hand_over if by == OPERATOR else owners.offer
        events += hands_over(listing, form.owner_id, now_ms, by=by)
    return events


def not_in_review(listing: Listing) -> Refusal:
    """Return the refusal of a decision about a listing that is decided."""
    return Refusal("is_denied" if listing.state == "denied" else "not_in_review")


def approve(
    state: State,
    ref: str,
    now_ms: int,
    *,
    by: Actor,
    tells_owner: bool = False,
    deliveries: NewDeliveries | None = None,
) -> list[Event]:
    """Approve a listing in review. Without `deliveries` no endpoint is told."""
    listing = listing_of(state, ref)
    if listing.state != "in_review":
        raise not_in_review(listing)
    told_of = _told(state, listing, "approved", None, now_ms, tells_owner=tells_owner, deliveries=deliveries)
    return [ListingReviewed(ref, "approved", None, now_ms, by=by), *told_of]


def deny(
    state: State,
    ref: str,
    reason: str,
    now_ms: int,
    *,
    by: Actor,
    tells_owner: bool = False,
    deliveries: NewDeliveries | None = None,
) -> list[Event]:
    """Deny a listing in review. Without `deliveries` no endpoint is told."""
    listing = listing_of(state, ref)
    if listing.state == "approved":
        raise Refusal("is_approved")
    if listing.state == "denied":
        raise Refusal("is_denied")
    told_of = _told(state, listing, "denied", reason, now_ms, tells_owner=tells_owner, deliveries=deliveries)
    return [ListingReviewed(ref, "denied", reason, now_ms, by=by), *told_of]


def withdraw(
    state: State,
    ref: str,
    reason: str,
    now_ms: int,
    *,
    by: Actor,
    tells_owner: bool = False,
    deliveries: NewDeliveries | None = None,
) -> list[Event]:
    """Withdraw the approval of a listing, which is denied from now on. Its keys stay, and are refused until
    it is approved again. Without `deliveries` no endpoint is told."""
    listing = listing_of(state, ref)
    if listing.state != "approved":
        raise Refusal("not_approved")
    told_of = _told(
        state, listing, "withdrawn", reason, now_ms, tells_owner=tells_owner, deliveries=deliveries
    )
    return [ListingReviewed(ref, "denied", reason, now_ms, withdraws=True, by=by), *told_of]


def agree(
    state: State, ref: str, version: str, now_ms: int, *, by: Actor, tells_owner: bool = False
) -> list[Event]:
    """Agree to the change of an approved listing: everybody sees it from now on."""
    listing = _with_change(state, ref, version)
    told_of = _told(state, listing, "change_agreed", None, now_ms, tells_owner=tells_owner)
    return [ChangeDecided(ref, listing.latest, is_agreed=True, reason=None, at_ms=now_ms, by=by), *told_of]


def refuse(
    state: State, ref: str, version: str, reason: str, now_ms: int, *, by: Actor, tells_owner: bool = False
) -> list[Event]:
    """Refuse the change of an approved listing: everybody sees the version agreed to last."""
    listing = _with_change(state, ref, version)
    told_of = _told(state, listing, "change_refused", reason, now_ms, tells_owner=tells_owner)
    return [ChangeDecided(ref, listing.agreed, is_agreed=False, reason=reason, at_ms=now_ms, by=by), *told_of]


def change_version(listing: Listing) -> str:
    """Return the name of a listing's change as it is now: a digest of both versions."""
    both = msgspec.json.encode((listing.agreed, listing.latest))
    return hashlib.blake2b(both, digest_size=8).hexdigest()


def remove(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    return [ListingRemoved(ref, at_ms=now_ms, by=by)]


def set_actual_count(state: State, ref: str, server_count: int, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    return [SlotsSet(ref, now_ms, "actual_count_set", str(server_count), actual=server_count, by=by)]


def set_limits(state: State, ref: str, limits: Limits, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    own = rows.BotLimits(_policy(limits.stats), _policy(limits.voters))
    return [SlotsSet(ref, now_ms, "limits_set", limits=own if own != rows.BotLimits() else None, by=by)]


def _saved(listing: Listing, profile: AnyProfile, now_ms: int, by: Actor, shown: EditsShown) -> ListingSaved:
    ref, owner_id, agreed = listing.ref, listing.owner_id, listing.agreed
    if listing.state != "approved":
        return ListingSaved(ref, owner_id, profile, "in_review", now_ms, by=by)
    if profile == agreed:
        return ListingSaved(ref, owner_id, profile, "approved", now_ms, by=by)
    since_ms = listing.change.since_ms if listing.change is not None else now_ms
    is_public = shown == "after"
    public, other = (profile, agreed) if is_public else (agreed, profile)
    change = PendingChange(other, is_public, by, now_ms, since_ms)
    return ListingSaved(ref, owner_id, public, "approved", now_ms, change, by=by)


def _with_change(state: State, ref: str, version: str) -> Listing:
    """Return the listing with the change of that name. Raises Refusal."""
    listing = listing_of(state, ref)
    if listing.change is None:
        raise Refusal("no_change")
    if version != change_version(listing):
        raise Refusal("other_version")
    return listing


def _told(
    state: State,
    listing: Listing,
    decision: Decision,
    reason: str | None,
    now_ms: int,
    *,
    tells_owner: bool,
    deliveries: NewDeliveries | None = None,
) -> list[Event]:
    """Return the events that tell the owner and the listing's endpoint of a decision."""
    events = list[Event]()
    if tells_owner:
        owner = user_actor(listing.owner_id)
        events.append(OwnerMessageQueued(listing.ref, owner, decision, reason, now_ms))
    if deliveries is not None and decision in DECISION_EVENTS:
        kind = DECISION_EVENTS[decision]
        events += told(state, listing, kind, deliveries, now_ms, users=("",), reason=reason)
    return events


def _policy(limit: Limit | None) -> Policy | None:
    return Policy(limit.requests, limit.window_seconds) if limit is not None else None
