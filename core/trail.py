"""The audit trail of a listing: who did what, and when. Law: acts may come in any order, and more than once.

So the nodes of a fleet have the same trail, whoever heard of an act first, or of the erasure of a user. All
but its actor tells an act from others: striking a user out neither moves an act nor makes two of it. A trail
holds the newest acts. Pushes of counts and votes are no acts: there are too many of them.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from core.actors import ERASED, Actor
from core.rows import Act, Listing

KEPT = 20  # of one listing


def newest(acts: Iterable[Act]) -> tuple[Act, ...]:
    """Return the acts that a listing remembers, in the order of their times."""
    known: dict[tuple[int, str, str, str], Act] = {}
    for act in acts:
        key = (act.at_ms, act.node, act.deed, act.about)
        known[key] = max(act, known.get(key, act), key=lambda each: (each.by == ERASED, each.by))
    return tuple(known[key] for key in sorted(known)[-KEPT:])


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
