"""The lists that a listing remembers: the audit log, notes of moderators, flags of votes, and reports.

The audit log says who did what with the listing, and when. It has the newest entries of all actions, and the
newest of some groups of actions. Without these groups, an owner could push a denial out of the log by saving
often, and the thief of a session could push out a hand-over. Pushes of counts and votes are no entries: there
are too many. An entry stays when the name of its actor is erased.

Invariant: entries may come in any order, and more than once. So all nodes of a fleet have the same lists,
in whichever order they heard of entries and erasures. Two entries are the same if all but their actors is
equal, so an erasure neither moves an entry nor makes two of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.rows import (
    AuditAction,
    AuditEntry,
    CoOwner,
    Key,
    Listing,
    Note,
    Report,
    Reports,
    SettledReport,
    VoteFlag,
    greatest_of_each,
)

KEPT = 20  # of one listing
APART = 10
"""The entries that are kept of each group of actions, however many others followed."""
GROUPS: Sequence[frozenset[AuditAction]] = (
    frozenset({"submitted", "approved", "denied", "withdrawn", "taken_over"}),
    frozenset({"change_agreed", "change_refused"}),
    frozenset({"votes_struck", "rating_removed"}),
    frozenset({"handed_over"}),
    frozenset({"key_issued", "key_rotated", "key_deleted"}),
)
NOTES_KEPT = 10  # of one listing
FLAGS_KEPT = 50  # of one listing
REPORTS_KEPT = 100  # of one listing
Place = tuple[int | str, ...]
_encode = msgspec.msgpack.Encoder().encode
E = TypeVar("E", AuditEntry, Note, VoteFlag)


def newest(entries: Iterable[AuditEntry]) -> tuple[AuditEntry, ...]:
    """Return the entries that a listing remembers, in the order of their times."""
    known = _in_order_once(entries, lambda entry: (entry.at_ms, entry.node, entry.action, entry.about))
    older, kept = known[:-KEPT], known[-KEPT:]
    if not older:
        return kept
    # Each part is the newest of a group, whatever else there is. So two logs may be joined in any order.
    apart = {each for group in GROUPS for each in [each for each in known if each.action in group][-APART:]}
    return (*(each for each in older if each in apart), *kept)


def newest_notes(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return the notes that a listing keeps, in the order of their times."""
    return _in_order_once(notes, lambda note: (note.at_ms, note.node, note.text))[-NOTES_KEPT:]


def newest_flags(flags: Iterable[VoteFlag]) -> tuple[VoteFlag, ...]:
    """Return the flags that a listing keeps, in the order of their times."""
    return _in_order_once(flags, lambda flag: (flag.at_ms, flag.node, flag.id))[-FLAGS_KEPT:]


def joined_reports(one: Reports | None, other: Reports | None) -> Reports | None:
    """Return the reports that two nodes know: of each user the last one about each thing, open or
    settled."""
    if one is None or other is None:
        return other if one is None else one
    return reports_of((*one.open, *other.open), (*one.closed, *other.closed))


def reports_of(reports: Iterable[Report], closed: Iterable[SettledReport]) -> Reports | None:
    """Return the reports that a listing keeps; None if there is nothing to remember.

    Open and settled ones count as one list. So its newest are the same, in whichever order they come.
    """
    known: list[Report | SettledReport] = [*reports, *closed]
    last = greatest_of_each(
        known,
        lambda each: f"{each.by} {each.rating}",
        lambda each: (each.stamp, isinstance(each, SettledReport), _encode(each)),
    )
    kept = sorted(last, key=lambda each: (each.stamp, each.by, each.rating))[-REPORTS_KEPT:]
    still_open = tuple(each for each in kept if isinstance(each, Report))
    settled = tuple(each for each in kept if isinstance(each, SettledReport))
    return Reports(still_open, settled) if kept else None


def without_name(entries: tuple[E, ...], actor: Actor, until_ms: int | None) -> tuple[E, ...]:
    """Return the entries without the actor's name, up to and with a time; None means all times."""
    if not any(each.by == actor for each in entries):
        return entries
    return tuple(
        replace(each, by=ERASED)
        if each.by == actor and (until_ms is None or each.at_ms <= until_ms)
        else each
        for each in entries
    )


def _in_order_once(found: Iterable[E], place: Callable[[E], Place]) -> tuple[E, ...]:
    """Return entries in order, each once.

    Args:
        place: returns the identity of an entry, without its actor. It begins with the time.
    """
    known: dict[Place, E] = {}
    for each in found:
        at = place(each)
        known[at] = max(each, known.get(at, each), key=lambda it: (it.by == ERASED, it.by))
    return tuple(known[at] for at in sorted(known))


def actors_of(row: Listing) -> set[Actor]:
    """Return everybody whom the row names."""
    named = {each.by for each in (row.claim, row.proof, row.change) if each is not None}
    named.update(each.by for entries in (row.audit_log, row.notes, row.flags) for each in entries)
    if row.reports is not None:
        named.update(actor for each in row.reports.known for actor in (each.by, each.rating) if actor)
    named.update(maker for key in row.keys for maker in key.makers)
    named.update(each.user for each in row.co_owners)
    if row.message is not None:
        named.add(row.message.to)
    if row.taken is not None:
        named.add(row.taken.lost_by)
    if row.hand_over is not None:
        named.add(row.hand_over.successor)
    return named


def without_actor(row: Listing, actor: Actor, until_ms: int | None) -> Listing:
    """Return the row without the actor's name in what happened up to and with a time; None means all times.

    A claim or a proof of the actor goes, because it is nothing without a name. So does a message to the
    actor, an invitation, a co-ownership, a hand-over that is offered to the actor, a report in the actor's
    own words, and one of a review by the actor.
    """
    if actor not in actors_of(row):
        return row

    def is_meant(named: Actor, at_ms: int) -> bool:
        return named == actor and (until_ms is None or at_ms <= until_ms)

    stamps, claim, proof, message = row.known_stamps, row.claim, row.proof, row.message
    if claim is not None and is_meant(claim.by, stamps.claim.ms or claim.at_ms):
        claim = None
    if proof is not None and is_meant(proof.by, stamps.proof.ms or proof.at_ms):
        proof = None
    if message is not None:
        decided_ms = message.stamp.ms if message.stamp is not None else message.decided_ms
        message = None if is_meant(message.to, decided_ms) else message
    hand_over, change, taken, reports = row.hand_over, row.change, row.taken, row.reports
    if reports is not None:
        reports = _reports_without(reports, is_meant)
    if hand_over is not None and is_meant(hand_over.successor, stamps.owner.ms or hand_over.at_ms):
        hand_over = None
    if change is not None and is_meant(change.by, change.sent_ms):
        change = replace(change, by=ERASED)
    if taken is not None and is_meant(taken.lost_by, taken.stamp.ms or taken.at_ms):
        taken = replace(taken, lost_by=ERASED)
    return replace(
        row,
        audit_log=without_name(row.audit_log, actor, until_ms),
        notes=without_name(row.notes, actor, until_ms),
        flags=without_name(row.flags, actor, until_ms),
        reports=reports,
        claim=claim,
        proof=proof,
        message=message,
        taken=taken,
        keys=tuple(_without_maker(key, actor) if is_meant(actor, _made_ms(key)) else key for key in row.keys),
        co_owners=tuple(each for each in row.co_owners if not is_meant(each.user, _written_ms(each))),
        hand_over=hand_over,
        change=change,
    )


def _reports_without(reports: Reports, is_meant: Callable[[Actor, int], bool]) -> Reports | None:
    """Return the reports that are neither by an actor who is meant nor of a review by one."""

    def stays(each: Report | SettledReport) -> bool:
        return not is_meant(each.by, each.at_ms) and not is_meant(each.rating, each.at_ms)

    return reports_of(filter(stays, reports.open), filter(stays, reports.closed))


def _made_ms(key: Key) -> int:
    return key.stamp.ms if key.stamp is not None else key.rotated_ms or key.created_ms


def _without_maker(key: Key, actor: Actor) -> Key:
    if actor not in key.makers:
        return key
    return replace(key, makers=tuple(ERASED if maker == actor else maker for maker in key.makers))


def _written_ms(co_owner: CoOwner) -> int:
    return co_owner.stamp.ms or co_owner.joined_ms or co_owner.invited_ms
