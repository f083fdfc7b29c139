"""handlers/key_uses.py: a request adds to a set, and the end of a minute writes the new uses."""

import asyncio

from core.clock import MS_PER_DAY, day_of
from core.ledger import Ledger
from core.state import State
from handlers.key_uses import MINUTE_MS, SLICE, KeyUses
from tests.support.committed_rows import a_key, a_listing
from tests.support.fake_clock import FakeClock
from tests.support.gateways import WAIT_SECONDS
from tests.support.memory_ledger import MemoryJournal
from tests.support.sample_rows import BOT_REF, NOW_MS

TODAY = day_of(NOW_MS)
MIDNIGHT_MS = (TODAY + 1) * MS_PER_DAY


def days(state: State) -> list[int]:
    return [key.used_day for key in state.listings[BOT_REF].keys]


def test_a_key_costs_one_record_a_day_however_often_it_is_used(
    ledger: Ledger, journal: MemoryJournal, state: State
) -> None:
    a_listing(ledger)
    a_key(ledger)
    uses, before = KeyUses(ledger, FakeClock(NOW_MS)), len(journal.records)
    for _ in range(3):
        uses.note("d1" * 32)
        asyncio.run(uses.step())
    assert (days(state), len(journal.records)) == ([TODAY], before + 1)


def test_a_use_before_midnight_is_of_the_day_that_ends(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_key(ledger)
    clock = FakeClock(MIDNIGHT_MS - MINUTE_MS)
    uses = KeyUses(ledger, clock)
    uses.note("d1" * 32)
    clock.advance_ms(MINUTE_MS)
    asyncio.run(uses.step())
    assert days(state) == [TODAY]
    uses.note("d1" * 32)
    clock.advance_ms(MINUTE_MS)
    asyncio.run(uses.step())
    assert days(state) == [TODAY + 1]


def test_while_the_journal_takes_no_writes_the_uses_wait(
    ledger: Ledger, journal: MemoryJournal, state: State
) -> None:
    a_listing(ledger)
    keys = 2 * SLICE + 1
    for number in range(keys):
        a_key(ledger, f"k{number}", digest=f"d{number}")
    uses = KeyUses(ledger, FakeClock(NOW_MS))
    for number in range(keys):
        uses.note(f"d{number}")
    journal.full = True
    asyncio.run(uses.step())
    assert days(state) == [0] * keys
    journal.full = False
    asyncio.run(uses.step())
    assert days(state) == [TODAY] * keys


def test_the_use_of_a_deleted_key_is_forgotten(ledger: Ledger, journal: MemoryJournal) -> None:
    uses, before = KeyUses(ledger, FakeClock(NOW_MS)), len(journal.records)
    uses.note("d9")
    asyncio.run(uses.step())
    assert len(journal.records) == before


def test_the_end_of_a_minute_writes_its_uses(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    a_key(ledger)
    clock = FakeClock(MIDNIGHT_MS - 1)
    uses = KeyUses(ledger, clock)
    uses.note("d1" * 32)

    async def until_written() -> None:
        written = asyncio.Event()
        ledger.subscribe(lambda *_: written.set())
        running = asyncio.create_task(uses.run())
        await asyncio.sleep(0.01)
        assert not written.is_set()  # by this clock the minute goes on
        clock.advance_ms(1)
        async with asyncio.timeout(WAIT_SECONDS):
            await written.wait()
        running.cancel()

    asyncio.run(until_written())
    assert days(state) == [TODAY]
