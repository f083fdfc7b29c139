"""A listing in a fleet: the form that nodes share, and how two rows of it join.

Each node writes its own row, and hears of the rows of others late, twice and in any order. All of them must
end with the same row. So every slot of a row has one rule, in the table `SLOTS`:

    Latest   the value with the later stamp. Slots that name one stamp are written together and stay together:
             a profile and the review of it, say.
    Joined   a function of both values. Mostly it is the union of what both nodes know, less what is too old.

A take-over ends what the owner before has written. So rules `of_owner` look at the last take-over first: a
key or a webhook of the owner before does not come back, whatever a node writes that had not heard of it.

A deleted key and a co-ownership that is over are in `revoked`, and no join brings them back.

Invariant: each join is commutative, associative and idempotent.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import astuple, replace

from core import rows
from core.actors import ERASED
from core.audit_log import joined_reports, newest, newest_flags, newest_notes
from core.push_history import joined_histories
from core.rows import Listing, Stamp

REVOCATIONS_KEPT = 1_000  # of one listing
NO_TENURE = (rows.UNSTAMPED, 0)
_encode = msgspec.msgpack.Encoder().encode
T = TypeVar("T")


# -- The form that nodes share -----------------------------------------------------------------------------


def shared(row: Listing, label: str) -> Listing:
    """Return the row of the node of this label as other nodes may have it: what is true at one node only is
    left out, or labelled."""
    if row.window is not None:
        own = rows.NodeWindow(label, row.window.started_ms, row.window.used)
        row = replace(row, window=None, windows=tuple(sorted((own, *row.windows))))
    if row.webhook is not None and (row.webhook.failed or row.webhook.suspension is not None):
        row = replace(row, webhook=without_health(row.webhook))
    if row.message is not None and not row.message.node:
        row = replace(row, message=replace(row.message, node=label))
    if row.own_downloads:
        row = replace(row, downloads=_counted_as(row.downloads, "", label))
    return row


def as_own(row: Listing, label: str) -> Listing:
    """Return a shared row as the node of this label keeps it."""
    if row.message is not None and row.message.node == label:
        row = replace(row, message=replace(row.message, node=""))
    if any(each.node == label for each in row.downloads):
        row = replace(row, downloads=_counted_as(row.downloads, label, ""))
    own = next((window for window in row.windows if window.node == label), None)
    if own is None:
        return row
    others = tuple(window for window in row.windows if window is not own)
    return replace(row, window=rows.StatsWindow(own.started_ms, own.used), windows=others)


def without_health(webhook: rows.Webhook) -> rows.Webhook:
    """Return the settings of the webhook without its health, as before the first attempt."""
    return replace(webhook, failed=0, suspension=None)


def _counted_as(
    downloads: tuple[rows.NodeDownloads, ...], label: str, other: str
) -> tuple[rows.NodeDownloads, ...]:
    """Return the counts with that of one label under the other one."""
    moved = (replace(each, node=other) if each.node == label else each for each in downloads)
    return joined_downloads(moved, ())


# -- The joins of slots ------------------------------------------------------------------------------------


def newest_revocations(revoked: Iterable[rows.Revocation]) -> tuple[rows.Revocation, ...]:
    """Return the deletions that a listing remembers."""
    return tuple(sorted(set(revoked))[-REVOCATIONS_KEPT:])


def in_order(co_owners: Iterable[rows.CoOwner]) -> tuple[rows.CoOwner, ...]:
    return tuple(sorted(co_owners, key=lambda each: (each.invited_ms, each.id)))


def joined_keys(one: Iterable[rows.Key], other: Iterable[rows.Key]) -> tuple[rows.Key, ...]:
    """Return all keys. Of one key the later writing stands, with the later day of use."""
    keys: dict[str, rows.Key] = {}
    for key in (*one, *other):
        known = keys.get(key.id, key)
        used_day = max(known.used_day, key.used_day)
        same_use = (replace(each, used_day=used_day) for each in (known, key))
        keys[key.id] = max(
            same_use, key=lambda each: (each.stamp or rows.UNSTAMPED, ERASED in each.makers, _encode(each))
        )
    return tuple(sorted(keys.values(), key=lambda key: (key.created_ms, key.id)))


def joined_co_owners(one: Iterable[rows.CoOwner], other: Iterable[rows.CoOwner]) -> tuple[rows.CoOwner, ...]:
    return in_order(
        rows.greatest_of_each((*one, *other), lambda each: each.id, lambda each: (each.stamp, _encode(each)))
    )


def joined_windows(
    one: Iterable[rows.NodeWindow], other: Iterable[rows.NodeWindow]
) -> tuple[rows.NodeWindow, ...]:
    return tuple(sorted(rows.greatest_of_each((*one, *other), lambda each: each.node, lambda each: each)))


def joined_downloads(
    one: Iterable[rows.NodeDownloads], other: Iterable[rows.NodeDownloads]
) -> tuple[rows.NodeDownloads, ...]:
    """Return the greater count of each node."""
    return tuple(sorted(rows.greatest_of_each((*one, *other), lambda each: each.node, lambda each: each)))


def joined_messages(
    one: rows.OwnerMessage | None, other: rows.OwnerMessage | None
) -> rows.OwnerMessage | None:
    """Return the message of the later decision. Of two messages of one decision, the one that was taken over
    last stands; of two of one sender, the one with more attempts."""

    def progress(message: rows.OwnerMessage) -> tuple[Stamp, int, int, str, int, bool, bytes]:
        # The bytes decide nothing among rows of one history: they make the rank total.
        sender = (message.taken_ms, message.node)
        done = (message.made, message.next_attempt_ms is None)
        return (message.stamp or rows.UNSTAMPED, message.decided_ms, *sender, *done, _encode(message))

    return _greatest(one, other, progress)


def joined_takeovers(one: rows.Takeover | None, other: rows.Takeover | None) -> rows.Takeover | None:
    """Return the later take-over. Of two records of one take-over, the one with an erased user wins."""
    return _greatest(one, other, lambda each: (each.stamp, each.at_ms, each.lost_by == ERASED, each.lost_by))


def _greatest(one: T | None, other: T | None, rank: Callable[[T], Any]) -> T | None:
    if one is None or other is None:
        return other if one is None else one
    return max(one, other, key=rank)


# -- The table ---------------------------------------------------------------------------------------------


class Latest(NamedTuple):
    """The rule of a slot whose value with the later stamp stands. `stamp` is the field of `Stamps`.

    `SlotsSet` writes the slot, unless it `has_events` of its own.
    """

    stamp: str
    of_owner: bool = False
    has_events: bool = False


class Joined(NamedTuple):
    """The rule of a slot whose values are joined."""

    join: Callable[[Any, Any], Any]
    of_owner: bool = False


SLOTS: Mapping[str, Latest | Joined] = {
    "owner_id": Latest("owner", of_owner=True, has_events=True),
    "hand_over": Latest("owner", of_owner=True, has_events=True),
    "profile": Latest("profile", of_owner=True, has_events=True),
    "updated_ms": Latest("profile", of_owner=True, has_events=True),
    "review": Latest("profile", of_owner=True, has_events=True),
    "change": Latest("profile", of_owner=True, has_events=True),
    "proof": Latest("proof", of_owner=True),
    "webhook": Latest("webhook", of_owner=True),
    "counts": Latest("counts", has_events=True),
    "actual": Latest("actual"),
    "limits": Latest("limits"),
    "claim": Latest("claim"),
    "eligibility": Latest("eligibility"),
    "invite_check": Latest("invite_check"),
    "template": Latest("template"),
    "created_ms": Joined(min),
    "taken": Joined(joined_takeovers),
    "keys": Joined(joined_keys, of_owner=True),
    "co_owners": Joined(joined_co_owners, of_owner=True),
    "revoked": Joined(lambda one, other: newest_revocations((*one, *other))),
    "audit_log": Joined(lambda one, other: newest((*one, *other))),
    "notes": Joined(lambda one, other: newest_notes((*one, *other))),
    "flags": Joined(lambda one, other: newest_flags((*one, *other))),
    "reports": Joined(joined_reports),
    "message": Joined(joined_messages),
    "windows": Joined(joined_windows),
    "pushed": Joined(joined_histories),
    "downloads": Joined(joined_downloads),
}
"""The rule of each slot of a shared row. `ref` and `stamps` are none, and `window` is of one node."""
SET_SLOTS = tuple(name for name, rule in SLOTS.items() if isinstance(rule, Latest) and not rule.has_events)
"""The slots that `SlotsSet` writes."""
WRITTEN_TOGETHER: Mapping[str, tuple[str, ...]] = {
    stamp: tuple(name for name, rule in SLOTS.items() if isinstance(rule, Latest) and rule.stamp == stamp)
    for stamp in rows.Stamps.__struct_fields__
}
"""The slots by their stamps."""
OF_OWNERS = frozenset(rule.stamp for rule in SLOTS.values() if isinstance(rule, Latest) and rule.of_owner)
"""The stamps of slots that owners write."""


def joined(one: Listing, other: Listing) -> Listing:
    """Join two shared rows of one life of a listing."""
    fields: dict[str, Any] = {}
    stamps: dict[str, Stamp] = {}
    for stamp, slots in WRITTEN_TOGETHER.items():
        later = max(one, other, key=lambda row: _rank(row, stamp))
        fields |= {slot: getattr(later, slot) for slot in slots}
        stamps[stamp] = getattr(later.known_stamps, stamp)
    latest = max(tenure(one), tenure(other))
    for slot, rule in SLOTS.items():
        if isinstance(rule, Joined):
            sides = [row for row in (one, other) if not rule.of_owner or tenure(row) == latest]
            fields[slot] = rule.join(getattr(sides[0], slot), getattr(sides[-1], slot))
    known = rows.Stamps(**stamps)
    row: Listing = replace(one, **fields, stamps=known if known != rows.NO_STAMPS else None)
    return without_revoked(row)


def without_revoked(row: Listing) -> Listing:
    """Return the row without keys and co-owners that were deleted."""
    gone = {each.id for each in row.revoked}
    keys = tuple(key for key in row.keys if key.id not in gone)
    return replace(row, keys=keys, co_owners=tuple(each for each in row.co_owners if each.id not in gone))


def tenure(row: Listing) -> tuple[Stamp, int]:
    """Return when the listing was last taken over: stamp and time."""
    return (row.taken.stamp, row.taken.at_ms) if row.taken is not None else NO_TENURE


def _rank(row: Listing, stamp: str) -> tuple[tuple[Stamp, int], Stamp, list[bool], bytes]:
    """Rank a row by slots that are written together. Rows from before there was a fleet have no stamps: then
    something wins over nothing, and of two values the content decides, at all nodes alike."""
    values = [getattr(row, slot) for slot in WRITTEN_TOGETHER[stamp]]
    since = tenure(row) if stamp in OF_OWNERS else NO_TENURE
    return since, getattr(row.known_stamps, stamp), [value is not None for value in values], _encode(values)


def newest_ms(row: Listing) -> int:
    """Return the newest time of a stamp or a deletion in the row."""
    stamps: list[Stamp] = [*astuple(row.known_stamps), *(each.stamp for each in row.co_owners)]
    stamps += [key.stamp for key in row.keys if key.stamp is not None]
    if row.message is not None and row.message.stamp is not None:
        stamps.append(row.message.stamp)
    if row.taken is not None:
        stamps.append(row.taken.stamp)
    if row.reports is not None:
        stamps += [each.stamp for each in row.reports.known]
    times = (*(each.ms for each in row.revoked), *(flag.at_ms for flag in row.flags))
    return max([*(stamp.ms for stamp in stamps), *times])
