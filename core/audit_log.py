"""The lists that a listing remembers: the audit log, the notes of moderators, and the flags of votes.

The audit log says who did what with the listing, and when. It holds the newest entries, and beside them the
newest of some actions, which no others push out: or an owner could wash a denial away by saving often, and
somebody with a stolen session the notice of a hand-over. Pushes of counts and votes are no entries: there are
too many of them.

Invariant: entries may come in any order, and more than once. So all nodes of a fleet have the same lists,
in whichever order they heard of entries and erasures. Two entries are the same if all but their actors is
equal, so an erasure neither moves an entry nor makes two of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.rows import AuditAction, AuditEntry, Note, VoteFlag

KEPT = 20  # of one listing
APART = 10
"""So many entries of each of these groups of actions are kept, however many others followed."""
GROUPS: Sequence[frozenset[AuditAction]] = (
    frozenset({"submitted", "approved", "denied", "withdrawn", "taken_over"}),
    frozenset({"change_agreed", "change_refused"}),
    frozenset({"votes_struck"}),
    frozenset({"handed_over"}),
    frozenset({"key_issued", "key_rotated", "key_deleted"}),
)
NOTES_KEPT = 10  # of one listing
FLAGS_KEPT = 50  # of one listing
Place = tuple[int | str, ...]
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
