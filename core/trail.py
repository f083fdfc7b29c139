"""The audit trail of a listing: who did what, and when. Law: acts may come in any order, and more than once.

So the nodes of a fleet have the same trail, whoever heard of an act first, or of the erasure of a user. All
but its actor tells an act from others: striking a user out neither moves an act nor makes two of it. A trail
holds the newest acts. Pushes of counts and votes are no acts: there are too many of them.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.rows import Act, Listing, Note

KEPT = 20  # of one listing
Place = tuple[int | str, ...]
N = TypeVar("N", Act, Note)


def newest(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return the acts that a listing remembers, in the order of their times."""
    return newest_once(acts, lambda act: (act.at_ms, act.node, act.deed, act.about), KEPT)


def newest_once(found: Iterable[N], place: Callable[[N], Place], kept: int) -> tuple[N, ...]:
    """Return so many of what somebody did, the newest, in order.

    Args:
        place: tells one from all others, whoever did it, and begins with its time.
    """
    known: dict[Place, N] = {}
    for each in found:
        at = place(each)
        known[at] = max(each, known.get(at, each), key=lambda it: (it.by == ERASED, it.by))
    return tuple(known[at] for at in sorted(known)[-kept:])


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
