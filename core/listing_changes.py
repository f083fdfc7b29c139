"""The change that an event makes to the row of a listing. Law: row, event and stamp decide it, nothing else.

A stamp is given inside a fleet only. It goes to the part of the row that the event writes, because two nodes
may write two parts at the same time and neither change may undo the other.
"""

from typing import Literal, assert_never

from msgspec.structs import replace

from core.events import (
    ActualCountSet,
    EndpointHealthSet,
    KeyDeleted,
    KeySaved,
    LimitsSet,
    ListingReviewed,
    ListingSaved,
    StatsUpdated,
    WebhookRemoved,
    WebhookSaved,
)
from core.rows import Key, Listing, Revocation, Stamp, Stamps
from core.sharing import newest_revocations

RowEvent = (
    StatsUpdated
    | ListingReviewed
    | KeySaved
    | KeyDeleted
    | ActualCountSet
    | LimitsSet
    | WebhookSaved
    | WebhookRemoved
)
"""The events, stamped in a fleet, that change a listing that is there, and do nothing when it is not."""


def saved(row: Listing | None, event: ListingSaved, stamp: Stamp | None) -> Listing:
    """Return the row as submitted or edited; `row` is the one before, if there is one."""
    if row is None:
        stamps = _stamped(Stamps(), "profile", stamp)
        at_ms = event.at_ms
        return Listing(event.ref, event.owner_id, event.profile, event.review, at_ms, at_ms, stamps=stamps)
    is_reviewed = event.review != "in_review"
    return replace(
        row,
        owner_id=event.owner_id,
        profile=event.profile,
        review=event.review,
        updated_ms=event.at_ms,
        reason=row.reason if is_reviewed else None,
        reviewed_ms=row.reviewed_ms if is_reviewed else None,
        stamps=_stamped(row.stamps, "profile", stamp),
    )


def changed(row: Listing, event: RowEvent, stamp: Stamp | None) -> Listing:
    match event:
        case StatsUpdated():
            return replace(
                row,
                server_count=event.server_count,
                command_count=event.command_count,
                counts_ms=event.at_ms,
                stats_window=event.window,
                stamps=_stamped(row.stamps, "counts", stamp),
            )
        case ListingReviewed():
            return replace(
                row,
                review=event.review,
                reason=event.reason,
                reviewed_ms=event.at_ms,
                stamps=_stamped(row.stamps, "profile", stamp),
            )
        case KeySaved():
            return _with_key(row, event.key if stamp is None else replace(event.key, stamp=stamp))
        case KeyDeleted():
            return _without_key(row, event.key_id, stamp)
        case ActualCountSet():
            stamps = _stamped(row.stamps, "actual", stamp)
            return replace(row, actual_server_count=event.server_count, stamps=stamps)
        case LimitsSet():
            stamps = _stamped(row.stamps, "limits", stamp)
            return replace(row, stats_limit=event.stats, voters_limit=event.voters, stamps=stamps)
        case WebhookSaved():
            return replace(row, webhook=event.webhook, stamps=_stamped(row.stamps, "webhook", stamp))
        case WebhookRemoved():
            return replace(row, webhook=None, stamps=_stamped(row.stamps, "webhook", stamp))
        case _:
            assert_never(event)


def with_health(row: Listing, event: EndpointHealthSet) -> Listing:
    """Return the row with the health of its endpoint, which has no stamp because each node has its own."""
    if row.webhook is None:
        return row
    return replace(row, webhook=replace(row.webhook, failed=event.failed, suspension=event.suspension))


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
    stamps: Stamps, part: Literal["profile", "counts", "actual", "limits", "webhook"], stamp: Stamp | None
) -> Stamps:
    return stamps if stamp is None else replace(stamps, **{part: stamp})
