"""Fixtures of the module tests: a ledger in memory, audited when its test ends."""

from collections.abc import Iterable, Iterator

import pytest

from core.events import decode_record
from core.ledger import Ledger
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


@pytest.fixture
def journal() -> MemoryJournal:
    return MemoryJournal()


@pytest.fixture
def ledger(journal: MemoryJournal) -> Iterator[Ledger]:
    """An empty ledger; when its test ends, its records must fold to the state that was live."""
    ledger = Ledger(empty_state(), journal, head=0)
    yield ledger
    assert ledger.head == len(journal.records)
    assert fold(journal.records).digest() == ledger.state.digest()


@pytest.fixture
def state(ledger: Ledger) -> State:
    return ledger.state
