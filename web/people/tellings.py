"""Whether the owner of a listing was told of a vote: what the deliveries of its webhook say. Law: what they
do not say is called unknown.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from core.rows import Delivery, Listing
from core.state import State
from handlers.views import delivery_view

LOOKED_AT = 500
"""The newest deliveries of each sort that are looked at: a vote that was cast just now is among them."""

ToldState = Literal["no webhook", "waiting", "retrying", "told", "failed", "unknown", "no vote"]


class Telling(NamedTuple):
    """What became of the delivery of a vote. `at_ms` is the time of its last attempt, or of the next one
    while it is retried (Unix ms)."""

    state: ToldState
    at_ms: int | None = None
    status: int | None = None
    error: str | None = None


NOT_TOLD = Telling("no vote")


def telling_of(state: State, row: Listing, user: str, cast_ms: int) -> Telling:
    """Return what became of the delivery of the vote that the user cast at that time."""
    found = next(
        (each for each in _newest(state, row.ref) if each.user == user and each.queued_ms == cast_ms), None
    )
    if found is None or found.test:
        return Telling("no webhook" if row.webhook is None else "unknown")
    shown = delivery_view(found, row.webhook)
    if found.state == "pending":
        if not found.attempts:
            return Telling("waiting")
        return Telling("retrying", shown.next_attempt_at, shown.status, shown.error)
    at_ms = found.attempts[-1].at_ms if found.attempts else found.dropped_ms
    return Telling("told" if found.state == "delivered" else "failed", at_ms, shown.status, shown.error)


def _newest(state: State, ref: str) -> Iterator[Delivery]:
    deliveries = state.deliveries
    remote = deliveries.remote.get(ref, {})
    for sort in (deliveries.pending_of(ref).values(), deliveries.finished.get(ref, ()), remote.values()):
        yield from reversed([*sort][-LOOKED_AT:])
