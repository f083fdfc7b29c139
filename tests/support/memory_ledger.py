"""A journal in memory, and the states that its records fold to."""

from collections.abc import Iterable

from core.events import decode_record
from core.refusals import Unavailable
from core.state import State
from votes.table import VoteTable

DELIVERIES_KEPT = 2


class MemoryJournal:
    """The journal's twin in memory. A full one takes no records."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.full = False
        self.waited_for: list[int] = []

    def append(self, record: bytes) -> int:
        if self.full:
            raise Unavailable("no space left")
        self.records.append(record)
        return len(self.records)

    async def durable(self, position: int) -> None:
        self.waited_for.append(position)


def empty_state() -> State:
    return State(VoteTable(), DELIVERIES_KEPT)


def fold(records: Iterable[bytes]) -> State:
    """The state that a start from these records would recover."""
    state = empty_state()
    for record in records:
        for event in decode_record(record):
            state.apply(event)
    return state
