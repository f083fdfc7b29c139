"""The audit trail of a listing: who did what, and when. Law: acts may come in any order, and more than once.

So the nodes of a fleet have the same trail, whoever heard of an act first, or of the erasure of a user. All
but its actor tells an act from others: striking a user out neither moves an act nor makes two of it. A trail
holds the newest acts, and beside them the newest of some deeds, which no others push out: or an owner could
wash a denial away by saving often, and somebody with a stolen session the notice of a hand-over. Pushes of
counts and votes are no acts: there are too many of them.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.rows import Act, Deed, Listing, Note, VoteFlag

KEPT = 20  # of one listing
APART = 10
"""So many acts of each of these groups of deeds are kept, however many others followed."""
GROUPS: Sequence[frozenset[Deed]] = (
    frozenset({"submitted", "approved", "denied", "withdrawn", "taken_over"}),
    frozenset({"change_agreed", "change_refused"}),
    frozenset({"votes_struck"}),
    frozenset({"handed_over"}),
    frozenset({"key_issued", "key_rotated", "key_deleted"}),
)
Place = tuple[int | str, ...]
N = TypeVar("N", Act, Note, VoteFlag)


def newest(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return the acts that a listing remembers, in the order of their times."""
    known = in_order_once(acts, lambda act: (act.at_ms, act.node, act.deed, act.about))
    older, kept = known[:-KEPT], known[-KEPT:]
    if not older:
        return kept
    # Each part is the newest of a group, whatever else there is. So trails may be joined in any order.
    apart = {act for group in GROUPS for act in [act for act in known if act.deed in group][-APART:]}
    return (*(act for act in older if act in apart), *kept)


def in_order_once(found: Iterable[N], place: Callable[[N], Place]) -> tuple[N, ...]:
    """Return what somebody did, each once, in order.

    Args:
        place: tells one from all others, whoever did it, and begins with its time.
    """
    known: dict[Place, N] = {}
    for each in found:
        at = place(each)
        known[at] = max(each, known.get(at, each), key=lambda it: (it.by == ERASED, it.by))
    return tuple(known[at] for at in sorted(known))


def with_act(row: Listing, act: Act) -> Listing:
    return replace(row, trail=newest((*row.trail, act)))


def struck_out(trail: tuple[Act, ...], actor: Actor, until_ms: int | None) -> tuple[Act, ...]:
    """Return the trail without the actor's name, up to and with a time; None means all times."""
    if not any(act.by == actor for act in trail):
        return trail
    return tuple(
        replace(act, by=ERASED) if act.by == actor and (until_ms is None or act.at_ms <= until_ms) else act
        for act in trail
    )
