"""A journal in memory, and the states that its records fold to."""

from collections.abc import Iterable

from core.events import Event, decode_record
from core.failures import Unavailable
from core.state import State

DELIVERIES_KEPT = 2


class MemoryJournal:
    """A journal in memory.

    If it is full, it takes no records. A record is durable as soon as somebody waits for it.
    """

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.full = False
        self.durable_position = 0

    def append(self, record: bytes) -> int:
        if self.full:
            raise Unavailable("no space left on the disk")
        self.records.append(record)
        return len(self.records)

    async def durable(self, position: int) -> None:
        self.durable_position = max(self.durable_position, position)


def empty_state(deliveries_kept: int = DELIVERIES_KEPT) -> State:
    """Return a state that keeps so few finished deliveries a listing that a test soon has one too many."""
    return State(deliveries_kept)


def fold(records: Iterable[bytes], deliveries_kept: int = DELIVERIES_KEPT) -> State:
    """Return the state that a start from these records would recover."""
    state = empty_state(deliveries_kept)
    for record in records:
        for event in decode_record(record):
            state.apply(event)
    return state


def state_after(events: Iterable[Event]) -> State:
    """Return the state that these events lead to."""
    state = empty_state()
    for event in events:
        state.apply(event)
    return state
