"""The change that an event makes to the row of a listing. Invariant: row, event and stamp decide it, nothing
else.

A stamp is given inside a fleet only. It goes to the part of the row that the event writes, because two nodes
may write two parts at the same time and neither change may undo the other.
"""

from typing import Literal, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from core.actors import UNKNOWN, user_actor
from core.clock import day_of
from core.co_owner_changes import with_co_owner, without_co_owners
from core.events import (
    ActualCountSet,
    ChangeDecided,
    CoOwnerSaved,
    CoOwnersEnded,
    EligibilityChecked,
    EndpointHealthSet,
    EndpointHelped,
    KeyDeleted,
    KeySaved,
    KeyUsed,
    LimitsSet,
    ListingClaimed,
    ListingReviewed,
    ListingSaved,
    ListingTakenOver,
    NoteAdded,
    OwnerSet,
    OwnershipProven,
    StatsUpdated,
    VotesStruck,
    WebhookRemoved,
    WebhookSaved,
)
from core.push_history import with_push
from core.review_notes import newest_notes
from core.rows import (
    UNSTAMPED,
    Act,
    Claim,
    Deed,
    Eligibility,
    Key,
    Listing,
    Note,
    PendingChange,
    Proof,
    Revocation,
    Stamp,
    Stamps,
    Takeover,
)
from core.sharing import newest_revocations
from core.trail import with_act
from kinds.registry import AnyProfile

OwnersEvent = OwnerSet | CoOwnerSaved | CoOwnersEnded
ManagedRowEvent = (
    ListingReviewed
    | ChangeDecided
    | KeySaved
    | KeyDeleted
    | ActualCountSet
    | LimitsSet
    | WebhookSaved
    | WebhookRemoved
    | EndpointHelped
    | ListingClaimed
    | NoteAdded
    | OwnershipProven
    | ListingTakenOver
    | VotesStruck
    | EligibilityChecked
)
RowEvent = StatsUpdated | OwnersEvent | ManagedRowEvent
"""The events, stamped in a fleet, that change a listing that is there, and do nothing when it is not."""


def saved(row: Listing | None, event: ListingSaved, stamp: Stamp | None) -> Listing:
    """Return the row as submitted or edited; `row` is the one before, if there is one."""
    if row is None:
        stamps = _stamped(_stamped(Stamps(), "profile", stamp), "owner", stamp)
        at_ms = event.at_ms
        row = Listing(
            *(event.ref, event.owner_id, event.profile, event.review, at_ms, at_ms),
            stamps=stamps,
            sent_ms=at_ms,
            change=_stamped_change(event.change, stamp),
        )
        return _with_act(row, event, stamp, "submitted")
    is_reviewed = event.review != "in_review"
    edited = replace(
        row,
        denied_profile=_denied_profile(row, event),
        profile=event.profile,
        review=event.review,
        change=_stamped_change(event.change, stamp),
        updated_ms=row.updated_ms if is_reviewed and event.profile == row.profile else event.at_ms,
        sent_ms=row.sent_ms if is_reviewed or row.review == "in_review" else event.at_ms,
        reason=row.reason if is_reviewed else None,
        reviewed_ms=row.reviewed_ms if is_reviewed else None,
        stamps=_stamped(row.stamps, "profile", stamp),
    )
    return _with_act(edited, event, stamp, "submitted" if event.at_ms == row.created_ms else "edited")


def _denied_profile(row: Listing, event: ListingSaved) -> AnyProfile | None:
    """Return the version that a moderator compares the edited one with."""
    if event.review != "in_review":
        return None
    return row.profile if row.review == "denied" else row.denied_profile


def _stamped_change(change: PendingChange | None, stamp: Stamp | None) -> PendingChange | None:
    """Return the change with the time of the stamp, so that a change after an erasure has a later time."""
    if change is None or stamp is None:
        return change
    since_ms = stamp.ms if change.since_ms == change.sent_ms else change.since_ms
    return replace(change, sent_ms=stamp.ms, since_ms=since_ms)


def _taken_over(row: Listing, event: ListingTakenOver, stamp: Stamp | None) -> Listing:
    """Return the row of its new owner: votes, counts and the review stay. An event beside it removes the
    webhook, because readers of the log look for that one."""
    stamps = _stamped(_stamped(_stamped(row.stamps, "profile", stamp), "proof", stamp), "owner", stamp)
    return replace(
        row,
        owner_id=event.owner_id,
        co_owners=(),
        hand_over=None,
        updated_ms=event.at_ms,
        keys=(),
        proof=Proof(event.at_ms, user_actor(event.owner_id)),
        taken=Takeover(stamp or UNSTAMPED, event.at_ms, user_actor(event.lost_by)),
        stamps=stamps,
    )


def changed(row: Listing, event: RowEvent, stamp: Stamp | None) -> Listing:
    if isinstance(event, StatsUpdated):
        return replace(
            row,
            server_count=event.server_count,
            command_count=event.command_count,
            counts_ms=event.at_ms,
            pushed=with_push(row.pushed, day_of(event.at_ms), event.server_count, event.command_count),
            stats_window=event.window,
            stamps=_stamped(row.stamps, "counts", stamp),
        )
    if isinstance(event, OwnersEvent):
        return _with_owners(row, event, stamp)
    return _managed(row, event, stamp)


def _managed(row: Listing, event: ManagedRowEvent, stamp: Stamp | None) -> Listing:
    match event:
        case ListingReviewed() | ChangeDecided():
            return _decided(row, event, stamp)
        case KeySaved(key=key):
            saved_key = _with_key(row, key if stamp is None else replace(key, stamp=stamp))
            deed: Deed = "key_issued" if key.rotated_ms is None else "key_rotated"
            return _with_act(saved_key, event, stamp, deed, key.name)
        case KeyDeleted():
            known = row.key(event.key_id)
            deleted = _without_key(row, event.key_id, stamp)
            return (
                _with_act(deleted, event, stamp, "key_deleted", known.name) if known is not None else deleted
            )
        case ActualCountSet():
            counted = replace(
                row,
                actual_server_count=event.server_count,
                stamps=_stamped(row.stamps, "actual", stamp),
            )
            return _with_act(counted, event, stamp, "actual_count_set", str(event.server_count))
        case LimitsSet():
            limited = replace(
                row,
                stats_limit=event.stats,
                voters_limit=event.voters,
                stamps=_stamped(row.stamps, "limits", stamp),
            )
            return _with_act(limited, event, stamp, "limits_set")
        case WebhookSaved(webhook=webhook):
            saved_webhook = replace(row, webhook=webhook, stamps=_stamped(row.stamps, "webhook", stamp))
            # A rotation leaves the time at which the settings were saved as it was.
            deed = "webhook_saved" if webhook.saved_ms == event.at_ms else "secret_rotated"
            return _with_act(saved_webhook, event, stamp, deed, webhook.host)
        case WebhookRemoved():
            removed = replace(row, webhook=None, stamps=_stamped(row.stamps, "webhook", stamp))
            return _with_act(removed, event, stamp, "webhook_removed")
        case EndpointHelped():
            return _with_act(row, event, stamp, event.deed)
        case (
            ListingClaimed()
            | NoteAdded()
            | OwnershipProven()
            | ListingTakenOver()
            | VotesStruck()
            | EligibilityChecked()
        ):
            return _at_review(row, event, stamp)
        case _:
            assert_never(event)


def _decided(row: Listing, event: ListingReviewed | ChangeDecided, stamp: Stamp | None) -> Listing:
    stamps = _stamped(row.stamps, "profile", stamp)
    if isinstance(event, ChangeDecided):
        updated_ms = row.updated_ms if event.profile == row.profile else event.at_ms
        row = replace(row, profile=event.profile, change=None, updated_ms=updated_ms, stamps=stamps)
        deed: Deed = "change_agreed" if event.is_agreed else "change_refused"
        return _with_act(row, event, stamp, deed, event.reason or "")
    reviewed = replace(
        row,
        profile=row.latest,  # a listing that is not approved has one version
        change=None,
        review=event.review,
        reason=event.reason,
        reviewed_ms=event.at_ms,
        denied_profile=None,
        stamps=stamps,
    )
    deed = "approved" if event.review == "approved" else "denied"
    deed = "withdrawn" if event.withdraws else deed
    return _with_act(reviewed, event, stamp, deed, event.reason or "")


def _with_owners(row: Listing, event: OwnersEvent, stamp: Stamp | None) -> Listing:
    # Nobody else is named in the act: an erasure would have to search for them in its text.
    match event:
        case OwnerSet():
            stamps = _stamped(row.stamps, "owner", stamp)
            owned = replace(row, owner_id=event.owner_id, hand_over=event.hand_over, stamps=stamps)
            return _with_act(owned, event, stamp, event.deed)
        case CoOwnerSaved(co_owner=co_owner):
            deed: Deed = "co_owner_invited" if co_owner.joined_ms is None else "co_owner_joined"
            return _with_act(with_co_owner(row, co_owner, stamp), event, stamp, deed)
        case CoOwnersEnded():
            return _with_act(without_co_owners(row, event.ids, stamp), event, stamp, event.deed)


def _at_review(
    row: Listing,
    event: ListingClaimed | NoteAdded | OwnershipProven | ListingTakenOver | VotesStruck | EligibilityChecked,
    stamp: Stamp | None,
) -> Listing:
    match event:
        case ListingClaimed():
            claim = Claim(event.at_ms, event.by) if event.is_claimed else None
            return replace(row, claim=claim, stamps=_stamped(row.stamps, "claim", stamp))
        case NoteAdded():
            at = Stamp(event.at_ms) if stamp is None else stamp
            note = Note(at.ms, event.by, event.text, at.node)
            return replace(row, notes=newest_notes((*row.notes, note)))
        case OwnershipProven():
            proof = Proof(event.at_ms, event.by)
            proven = replace(row, proof=proof, stamps=_stamped(row.stamps, "proof", stamp))
            return _with_act(proven, event, stamp, "ownership_proven")
        case ListingTakenOver():
            return _with_act(_taken_over(row, event, stamp), event, stamp, "taken_over")
        case VotesStruck():
            # The users are not named: the owner reads this, and erasures would have to search for them here.
            # Nor does a further part of an act have the reason again.
            return _with_act(row, event, stamp, "votes_struck", event.reason) if event.reason else row
        case EligibilityChecked():
            return _checked(row, event, stamp)
        case _:
            assert_never(event)


def _checked(row: Listing, event: EligibilityChecked, stamp: Stamp | None) -> Listing:
    """Return the row with the check, and with an act if it changes something for the owner."""
    before = row.eligibility
    failing, hidden = (before.failing_ms, before.hidden_ms) if before is not UNSET else (None, None)
    stamped = UNSTAMPED if stamp is None else stamp
    after = Eligibility(event.at_ms, event.checks, event.failing_ms, event.hidden_ms, stamped)
    checked = replace(row, eligibility=after)
    about = " ".join(check.name for check in event.checks if check.outcome == "fail")
    if after.hidden_ms is not None and hidden is None:
        return _with_act(checked, event, stamp, "hidden", about)
    if after.hidden_ms is None and hidden is not None:
        return _with_act(checked, event, stamp, "shown_again")
    if after.failing_ms is not None and failing is None:
        return _with_act(checked, event, stamp, "found_failing", about)
    return checked


def with_key_used(row: Listing, event: KeyUsed) -> Listing:
    """Return the row with the day of a key's use, which has no stamp: of two days the later one holds."""
    key = row.key(event.key_id)
    if key is None or event.day <= key.used_day:
        return row
    return _with_key(row, replace(key, used_day=event.day))


def with_health(row: Listing, event: EndpointHealthSet) -> Listing:
    """Return the row with the health of its endpoint, which has no stamp because each node has its own."""
    if row.webhook is None:
        return row
    return replace(row, webhook=replace(row.webhook, failed=event.failed, suspension=event.suspension))


def _with_act(
    row: Listing,
    event: ListingSaved | OwnersEvent | ManagedRowEvent,
    stamp: Stamp | None,
    deed: Deed,
    about: str = "",
) -> Listing:
    if event.by == UNKNOWN:
        return row
    # In a fleet the stamp is the time, so that an act that follows an erasure is later than it.
    at = Stamp(event.at_ms) if stamp is None else stamp
    return with_act(row, Act(at.ms, event.by, deed, about, at.node))


def _with_key(row: Listing, key: Key) -> Listing:
    """Return the row with the key, in place of the one of its id."""
    if row.key(key.id) is None:
        return replace(row, keys=(*row.keys, key))
    return replace(row, keys=tuple(key if each.id == key.id else each for each in row.keys))


def _without_key(row: Listing, key_id: str, stamp: Stamp | None) -> Listing:
    row = replace(row, keys=tuple(key for key in row.keys if key.id != key_id))
    if stamp is None:
        return row
    return replace(row, revoked=newest_revocations((*row.revoked, Revocation(stamp.ms, key_id))))


def _stamped(
    stamps: Stamps,
    part: Literal["profile", "counts", "actual", "limits", "webhook", "claim", "proof", "owner"],
    stamp: Stamp | None,
) -> Stamps:
    return stamps if stamp is None else replace(stamps, **{part: stamp})
