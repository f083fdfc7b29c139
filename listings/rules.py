"""The rules of a listing's life. Law: a rule reads the state and returns events, or refuses.

The events say `by` whom; whether that one may do it, the caller has checked.

Review: submitted -> in_review -> approved | denied. An edit sends a denied listing back to review. An
approved listing stays approved.

A decision and what tells of it are one record: a message, and a delivery if the listing's endpoint takes
decisions. The message goes to the owner alone.
"""

from collections.abc import Mapping

import msgspec

from core import rows
from core.actors import OPERATOR, Actor, user_actor
from core.events import (
    ActualCountSet,
    Event,
    LimitsSet,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    OwnerMessageQueued,
)
from core.refusals import Conflict, NotFound
from core.rows import BotProfile, Decision, Listing, Policy, Review, ServerProfile, WebhookEvent
from core.state import State
from core.webhook_events import NewDeliveries, told
from listings import hand_over
from listings.forms import BotEdit, BotSubmission, Limit, Limits, ServerEdit, ServerSubmission

DECISION_EVENTS: Mapping[Decision, WebhookEvent] = {"approved": "review.approved", "denied": "review.denied"}


def listing_of(state: State, ref: str) -> Listing:
    """Return the listing. Raises NotFound."""
    listing = state.listings.get(ref)
    if listing is None:
        raise NotFound("listing")
    return listing


def submit(state: State, form: BotSubmission | ServerSubmission, now_ms: int, *, by: Actor) -> list[Event]:
    ref = (rows.BOTS if isinstance(form, BotSubmission) else rows.SERVERS) + form.id
    if ref in state.listings:
        raise Conflict("listing_exists")
    return [ListingSaved(ref, form.owner_id, _profile(form), "in_review", now_ms, by=by)]


def edit(state: State, ref: str, form: BotEdit | ServerEdit, now_ms: int, *, by: Actor) -> list[Event]:
    """Replace profile and owner. A save that changes nothing leaves no trace. Only the operator sets another
    owner at once; others offer the listing."""
    listing = listing_of(state, ref)
    review: Review = "approved" if listing.review == "approved" else "in_review"
    profile, events = _profile(form), list[Event]()
    if (listing.profile, listing.review) != (profile, review):
        events.append(ListingSaved(ref, listing.owner_id, profile, review, now_ms, by=by))
    if form.owner_id != listing.owner_id:
        hands_over = hand_over.hand_over if by == OPERATOR else hand_over.offer
        events += hands_over(listing, form.owner_id, now_ms, by=by)
    return events


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
    return _decided(state, ref, "approved", None, now_ms, by, tells_owner, deliveries)


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
    return _decided(state, ref, "denied", reason, now_ms, by, tells_owner, deliveries)


def remove(state: State, ref: str, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    return [ListingRemoved(ref, at_ms=now_ms, by=by)]


def set_actual_count(state: State, ref: str, server_count: int, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    return [ActualCountSet(ref, server_count, at_ms=now_ms, by=by)]


def set_limits(state: State, ref: str, limits: Limits, now_ms: int, *, by: Actor) -> list[Event]:
    listing_of(state, ref)
    return [LimitsSet(ref, _policy(limits.stats), _policy(limits.voters), at_ms=now_ms, by=by)]


def _decided(
    state: State,
    ref: str,
    decision: Decision,
    reason: str | None,
    now_ms: int,
    by: Actor,
    tells_owner: bool,
    deliveries: NewDeliveries | None,
) -> list[Event]:
    listing = listing_of(state, ref)
    if listing.review != "in_review":
        raise Conflict("not_in_review", review=listing.review)
    events: list[Event] = [ListingReviewed(ref, decision, reason, now_ms, by=by)]
    if tells_owner:
        events.append(OwnerMessageQueued(ref, user_actor(listing.owner_id), decision, reason, now_ms))
    if deliveries is not None:
        kind = DECISION_EVENTS[decision]
        events += told(state, listing, kind, deliveries, now_ms, users=("",), reason=reason)
    return events


def _policy(limit: Limit | None) -> Policy | None:
    return Policy(limit.requests, limit.window_seconds) if limit is not None else None


def _profile(form: BotEdit | ServerEdit) -> BotProfile | ServerProfile:
    """Return the fields that form and profile have in common: a new one needs no line here."""
    kind: type[BotProfile] | type[ServerProfile] = BotProfile if isinstance(form, BotEdit) else ServerProfile
    return msgspec.convert(form, kind, from_attributes=True)
