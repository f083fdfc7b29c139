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
decisions. The message goes to the owner alone. A withdrawal settles the open reports, too.
"""

import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from core import events as ev
from core import rows
from core.actors import OPERATOR, Actor, user_actor
from core.rows import Decision, Listing, PendingChange, Policy, Review, WebhookEvent
from core.state import State
from core.webhook_events import NewDeliveries, told
from kinds.kind import ListingEdit, ListingSubmission
from kinds.registry import KINDS, AnyProfile, kind_of
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from listings import owners
from listings.forms import Limit, Limits
from listings.reports import settled

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


def submit(state: State, ref: str, form: ListingSubmission, now_ms: int, *, by: Actor) -> list[ev.Event]:
    """Submit a listing."""
    if ref in state.listings:
        raise Refusal("listing_exists")
    kind = form.of_kind
    review: Review = "approved" if kind.is_seen_at_once else "in_review"
    return [ev.ListingSaved(ref, form.owner_id, kind.profile_of(form), review, now_ms, by=by)]


def edit(
    state: State,
    ref: str,
    form: ListingEdit,
    now_ms: int,
    *,
    by: Actor,
    shown: EditsShown = "after",
) -> list[ev.Event]:
    """Replace profile and owner. A save that changes nothing leaves no trace. Only the operator sets another
    owner at once; others offer the listing."""
    listing = listing_of(state, ref)
    profile, events = kind_of(ref).profile_of(form), list[ev.Event]()
    if profile != listing.latest or listing.state == "denied":
        events.append(_saved(listing, profile, now_ms, by, shown))
    if form.owner_id != listing.owner_id:
        if kind_of(ref).is_of_user:
            raise Invalid({"owner_id": Fault("not_a_choice", {"choices": repr(listing.owner_id)})})
        hands_over = owners.hand_over if by == OPERATOR else owners.offer
        events += hands_over(listing, form.owner_id, now_ms, by=by)
    return events


def not_in_review(listing: Listing) -> Refusal:
    """Return the refusal of a decision about a listing that is decided."""
    return Refusal("is_denied" if listing.state == "denied" else "not_in_review")


class Verdict(NamedTuple):
    """A moderator's decision about a listing, or about its change.

    Args:
        reason: the reason that the owner reads. An approval and an agreement have none.
        version: the version of the change that the moderator has seen.
    """

    decision: Decision
    reason: str | None = None
    version: str = ""


def decide(
    state: State,
    ref: str,
    verdict: Verdict,
    now_ms: int,
    *,
    by: Actor,
    tells_owner: bool = False,
    deliveries: NewDeliveries | None = None,
) -> list[ev.Event]:
    """Return the events of a decision, with the messages to the owner and the listing's endpoint.

    Without `deliveries` no endpoint is told. Raises Refusal.
    """
    listing = listing_of(state, ref)
    _refuse(listing, verdict)
    decision, reason = verdict.decision, verdict.reason
    events = [_decided(listing, verdict, now_ms, by)]
    if decision == "withdrawn":
        events += settled(listing, None, now_ms, by=by)
    if tells_owner:
        events.append(ev.OwnerMessageQueued(ref, user_actor(listing.owner_id), decision, reason, now_ms))
    if deliveries is not None and decision in DECISION_EVENTS:
        event = DECISION_EVENTS[decision]
        events += told(state, listing, event, deliveries, now_ms, users=("",), reason=reason)
    return events


def may_return(listing: Listing) -> bool:
    """Return true if a moderator may bring a denied listing back as it is: everybody had seen it."""
    return listing.state == "denied" and kind_of(listing.ref).is_seen_at_once


def _refuse(listing: Listing, verdict: Verdict) -> None:
    """Raise Refusal if a listing as it is now does not wait for such a decision."""
    match verdict.decision:
        case "approved" if may_return(listing):
            pass
        case "approved" | "denied" if listing.state != "in_review":
            is_late = verdict.decision == "denied" and listing.state == "approved"
            raise Refusal("is_approved") if is_late else not_in_review(listing)
        case "withdrawn" if listing.state != "approved":
            raise Refusal("not_approved")
        case "change_agreed" | "change_refused":
            if listing.change is None:
                raise Refusal("no_change")
            if verdict.version != change_version(listing):
                raise Refusal("other_version")


def _decided(listing: Listing, verdict: Verdict, now_ms: int, by: Actor) -> ev.Event:
    """Return the event of a decision.

    A withdrawn approval makes a denied listing. Its keys stay, and are refused until it is approved again.
    """
    ref, decision, reason = listing.ref, verdict.decision, verdict.reason
    match decision:
        case "approved" | "denied":
            return ev.ListingReviewed(ref, decision, reason, now_ms, by=by)
        case "withdrawn":
            return ev.ListingReviewed(ref, "denied", reason, now_ms, withdraws=True, by=by)
        case "change_agreed" | "change_refused":
            is_agreed = decision == "change_agreed"
            public = listing.latest if is_agreed else listing.agreed
            return ev.ChangeDecided(ref, public, is_agreed=is_agreed, reason=reason, at_ms=now_ms, by=by)


def change_version(listing: Listing) -> str:
    """Return the name of a listing's change as it is now: a digest of both versions."""
    both = msgspec.json.encode((listing.agreed, listing.latest))
    return hashlib.blake2b(both, digest_size=8).hexdigest()


def remove(state: State, ref: str, now_ms: int, *, by: Actor) -> list[ev.Event]:
    listing_of(state, ref)
    return [ev.ListingRemoved(ref, at_ms=now_ms, by=by)]


def remove_of_user(state: State, user_id: str, now_ms: int, *, by: Actor) -> list[ev.Event]:
    """Remove the listings that have the id of a user, such as a profile: they are about that user alone."""
    refs = (kind.ref(user_id) for kind in KINDS if kind.is_of_user)
    return [ev.ListingRemoved(ref, at_ms=now_ms, by=by) for ref in refs if ref in state.listings]


def set_actual_count(state: State, ref: str, server_count: int, now_ms: int, *, by: Actor) -> list[ev.Event]:
    listing_of(state, ref)
    return [ev.SlotsSet(ref, now_ms, "actual_count_set", str(server_count), actual=server_count, by=by)]


def set_limits(state: State, ref: str, limits: Limits, now_ms: int, *, by: Actor) -> list[ev.Event]:
    listing_of(state, ref)
    own = rows.BotLimits(_policy(limits.stats), _policy(limits.voters))
    return [ev.SlotsSet(ref, now_ms, "limits_set", limits=own if own != rows.BotLimits() else None, by=by)]


def _saved(
    listing: Listing, profile: AnyProfile, now_ms: int, by: Actor, shown: EditsShown
) -> ev.ListingSaved:
    ref, owner_id, agreed = listing.ref, listing.owner_id, listing.agreed
    if listing.state != "approved":
        return ev.ListingSaved(ref, owner_id, profile, "in_review", now_ms, by=by)
    if profile == agreed or kind_of(ref).is_seen_at_once:
        return ev.ListingSaved(ref, owner_id, profile, "approved", now_ms, by=by)
    since_ms = listing.change.since_ms if listing.change is not None else now_ms
    is_public = shown == "after"
    public, other = (profile, agreed) if is_public else (agreed, profile)
    change = PendingChange(other, is_public, by, now_ms, since_ms)
    return ev.ListingSaved(ref, owner_id, public, "approved", now_ms, change, by=by)


def _policy(limit: Limit | None) -> Policy | None:
    return Policy(limit.requests, limit.window_seconds) if limit is not None else None
