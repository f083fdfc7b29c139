"""core/ledger.py: the one writer."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.events import Event, ListingReviewed, UserErased, VoteCast, decode_record
from core.failures import Unavailable
from core.ledger import Ledger
from tests.support.committed_rows import a_listing
from tests.support.examples import examples
from tests.support.generated_events import events
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.sample_rows import BOT_REF, NOW_MS, USER
from tests.support.slots_set import actual_count_set


def test_a_commit_is_in_the_journal_and_in_the_state(ledger: Ledger, journal: MemoryJournal) -> None:
    a_listing(ledger)
    vote = VoteCast(BOT_REF, USER, 1, NOW_MS)
    ledger.commit([vote])
    assert decode_record(journal.records[-1]) == [vote]
    assert ledger.state.votes.get(BOT_REF, int(USER)) == (1, NOW_MS)


def test_events_that_happen_together_are_one_record(ledger: Ledger, journal: MemoryJournal) -> None:
    a_listing(ledger)
    before = len(journal.records)
    ledger.commit([actual_count_set(BOT_REF, 5), VoteCast(BOT_REF, USER, 1, NOW_MS)])
    assert len(journal.records) == before + 1


def test_positions_count_the_records_from_one(ledger: Ledger) -> None:
    assert ledger.head == 0
    assert [ledger.commit([UserErased(USER, ())]) for _ in range(3)] == [1, 2, 3]
    assert ledger.head == 3


def test_a_ledger_goes_on_where_its_journal_stands() -> None:
    journal = MemoryJournal()
    journal.records = [b"[]", b"[]"]
    ledger = Ledger(fold(journal.records), journal, head=2)
    assert ledger.commit([]) == 2
    assert ledger.commit([UserErased(USER, ())]) == 3


def test_without_events_nothing_is_written(ledger: Ledger, journal: MemoryJournal) -> None:
    ledger.commit([UserErased(USER, ())])
    assert ledger.commit([]) == 1
    assert len(journal.records) == 1


def test_a_reader_sees_each_commit_once_in_order_and_already_applied(ledger: Ledger) -> None:
    a_listing(ledger, review="in_review")
    seen: list[tuple[int, Sequence[Event], str]] = []
    ledger.subscribe(
        lambda position, read: seen.append((position, read, ledger.state.listings[BOT_REF].state))
    )
    first, second = (ListingReviewed(BOT_REF, review, None, NOW_MS) for review in ("denied", "approved"))
    ledger.commit([first])
    ledger.commit([])
    ledger.commit([second])
    assert seen == [(2, [first], "denied"), (3, [second], "approved")]


def test_every_reader_gets_a_record(ledger: Ledger) -> None:
    told: list[str] = []
    ledger.subscribe(lambda _, __: told.append("first"))
    ledger.subscribe(lambda _, __: told.append("second"))
    ledger.commit([UserErased(USER, ())])
    assert told == ["first", "second"]


def test_a_record_that_the_journal_refuses_is_not_applied(ledger: Ledger, journal: MemoryJournal) -> None:
    a_listing(ledger)
    told: list[int] = []
    ledger.subscribe(lambda position, _: told.append(position))
    digest, head = ledger.state.digest(), ledger.head
    journal.full = True
    with pytest.raises(Unavailable):
        ledger.commit([VoteCast(BOT_REF, USER, 1, NOW_MS)])
    assert (ledger.state.digest(), ledger.head, told) == (digest, head, [])


def test_an_event_that_cannot_be_written_does_not_happen(ledger: Ledger, journal: MemoryJournal) -> None:
    a_listing(ledger, review="in_review")
    digest, head = ledger.state.digest(), ledger.head
    with pytest.raises(UnicodeEncodeError):
        ledger.commit([ListingReviewed(BOT_REF, "denied", "half a character: \ud800", NOW_MS)])
    assert (ledger.state.digest(), ledger.head, len(journal.records)) == (digest, head, head)


def test_stamped_events_are_written_applied_and_read(journal: MemoryJournal) -> None:
    def stamp(events: Sequence[Event]) -> Sequence[Event]:
        return [replace(event, stamp_ms=7) if isinstance(event, UserErased) else event for event in events]

    ledger, seen = Ledger(empty_state(), journal, 0, stamp), list[Sequence[Event]]()
    ledger.subscribe(lambda _, events: seen.append(events))
    ledger.commit([UserErased(USER, (), "mark")])
    stamped = UserErased(USER, (), "mark", stamp_ms=7)
    assert seen == [[stamped]]
    assert decode_record(journal.records[0]) == [stamped]
    assert ledger.state.fleet.erased == {"mark": 7}


def test_whether_a_position_is_durable_is_for_the_journal_to_say(
    ledger: Ledger, journal: MemoryJournal
) -> None:
    position = ledger.commit([UserErased(USER, ())])
    assert journal.durable_position == 0
    asyncio.run(ledger.durable(position))
    assert journal.durable_position == position


@examples(100)
@given(st.lists(st.lists(events, max_size=4), max_size=10))
def test_the_journal_folds_to_the_live_state(records: list[list[Event]]) -> None:
    journal = MemoryJournal()
    ledger = Ledger(empty_state(), journal, head=0)
    for record in records:
        ledger.commit(record)
    assert ledger.head == len(journal.records) == sum(bool(record) for record in records)
    assert fold(journal.records).digest() == ledger.state.digest()
