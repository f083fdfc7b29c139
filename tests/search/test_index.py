"""search/index.py: the index follows the log, and its failure stops nothing."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.events import Event, ListingMerged, ListingRemoved, ListingReviewed, ListingSaved, VoteCast
from core.failures import SearchUnavailable
from core.packing import pack
from core.state import State
from search import index as index_module
from search.index import OF_ONE, WAITING, SearchIndex, SearchResult
from search.search_query import Translated
from search.search_table import SearchTable
from tests.support.coroutines import run, until
from tests.support.examples import examples
from tests.support.indexed_listings import ASKER, BOTS, MONTH, SERVER, changes, named, refs
from tests.support.memory_ledger import empty_state, state_after
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, OWNER, SERVER_REF, USER, listed
from tests.support.slots_set import eligibility_checked

THIRD_REF = f"bots/{10**17}"


@asynccontextmanager
async def following(state: State) -> AsyncIterator[SearchIndex]:
    """An index at work."""
    index = SearchIndex(state, pause_seconds=0)
    running = asyncio.create_task(index.run())
    try:
        yield index
    finally:
        running.cancel()
        await asyncio.wait([running])


def tell(index: SearchIndex, state: State, events: Sequence[Event]) -> None:
    for event in events:
        state.apply(event)
    index.on_record(1, events)


histories = st.lists(changes, max_size=8)


@examples(100)
@given(histories, histories)
def test_the_log_leads_to_what_a_look_at_everything_finds(before: list[Event], after: list[Event]) -> None:
    async def follow() -> None:
        state = state_after(before)
        async with following(state) as index:
            for event in after:
                tell(index, state, [event])
                await asyncio.sleep(0)
            approved = {
                row.ref: row.profile.name for row in state.listings.values() if row.state == "approved"
            }
            for name in ("Music", "Quiz", "音楽"):
                expected = {ref for ref, its_name in approved.items() if its_name == name}
                await until(lambda: index.count == len(approved))
                assert set(await refs(index, name)) == expected

    run(follow())


def test_an_edit_a_denial_and_a_removal_are_followed() -> None:
    async def follow() -> None:
        state = empty_state()
        async with following(state) as index:
            assert await refs(index, "music") == []
            tell(index, state, [*named("Music Bot"), *named("Quiz", SERVER_REF)])
            assert await refs(index, "music") == [BOT_REF]
            tell(index, state, [ListingSaved(SERVER_REF, OWNER, SERVER, "approved", NOW_MS)])
            assert await refs(index, "quiz") == []
            assert await refs(index, "books") == [SERVER_REF]
            tell(index, state, [ListingReviewed(BOT_REF, "denied", "no", NOW_MS)])
            assert await refs(index, "music") == []
            tell(index, state, [ListingRemoved(SERVER_REF, NOW_MS)])
            assert await refs(index, "books") == []
            assert index.count == 0

    run(follow())


def test_a_server_is_found_unless_it_is_hidden() -> None:
    async def follow() -> None:
        state = state_after([ListingSaved(SERVER_REF, OWNER, SERVER, "approved", NOW_MS)])
        async with following(state) as index:
            assert await refs(index, "quiet place") == [SERVER_REF]
            tell(index, state, [eligibility_checked(SERVER_REF, (), NOW_MS, NOW_MS, NOW_MS)])
            assert await refs(index, "quiet place") == []
            tell(index, state, [eligibility_checked(SERVER_REF, (), NOW_MS)])
            assert await refs(index, "quiet place") == [SERVER_REF]

    run(follow())


def test_the_same_name_comes_first_and_among_equal_matches_the_one_with_more_votes() -> None:
    async def follow() -> None:
        state = state_after(
            [*named("Music one"), *named("Music two", OTHER_REF), *named("Music", SERVER_REF)]
        )
        async with following(state) as index:
            for ref, votes in ((BOT_REF, 1), (OTHER_REF, 2)):
                for voter in range(votes):
                    of_day = of_month = voter + 1
                    state.apply(VoteCast(ref, str(10**17 + voter), 1, NOW_MS, "", of_day, of_month))
            assert await refs(index, "music") == [OTHER_REF, BOT_REF, SERVER_REF]
            assert (await index.find("music", BOTS, 1, MONTH, ASKER)).refs == [OTHER_REF]
            tell(index, state, named("Music", THIRD_REF))
            assert await refs(index, "music") == [THIRD_REF, OTHER_REF, BOT_REF, SERVER_REF]

    run(follow())


def test_rows_that_a_start_has_left_packed_are_found() -> None:
    async def follow() -> None:
        row, state = state_after(named("Packed away")).listings[BOT_REF], empty_state()
        state.load_packed([BOT_REF], [pack(row)], 0, [])
        state.loaded()
        async with following(state) as index:
            assert await refs(index, "packed") == [BOT_REF]
        assert not list(state.listings.unpacked()), "the row is unpacked for a look alone"

    run(follow())


def test_what_is_not_searched_costs_no_new_row() -> None:
    async def follow() -> None:
        state = state_after(named("Music"))
        async with following(state) as index:
            assert await refs(index, "music") == [BOT_REF]
            for count in range(3):
                merged = replace(state.listings[BOT_REF], actual=count)
                tell(index, state, [ListingMerged(merged), VoteCast(BOT_REF, USER, 1, NOW_MS)])
                assert await refs(index, "music") == [BOT_REF]
            assert index.dead == 0

    run(follow())


def test_an_index_that_has_missed_changes_or_has_dead_rows_is_built_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(index_module, "NOTED", 2)
    monkeypatch.setattr(index_module, "DEAD_ALLOWED", 2)

    async def follow() -> None:
        state = empty_state()
        async with following(state) as index:
            assert await refs(index, "music") == []
            for number in range(9):
                tell(index, state, named(f"Music {number}", f"bots/{10**17 + number}"))
            await until(lambda: index.count == 9)
            for _ in range(9):
                tell(index, state, named("Quiet"))
                assert await refs(index, "quiet") == [BOT_REF]
                tell(index, state, named("Loud"))
                await until(lambda: not index.queued)
            await until(lambda: index.dead <= 2 + 10)
            assert len(await refs(index, "music")) == 9
            assert await refs(index, "loud") == [BOT_REF]

    run(follow())


def test_a_change_is_found_while_everything_is_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tables: list[SearchTable] = []

    def table(translated: Translated) -> SearchTable:
        tables.append(SearchTable(translated))
        return tables[-1]

    monkeypatch.setattr(index_module, "SearchTable", table)
    monkeypatch.setattr(index_module, "HANDED_OVER", 1)
    monkeypatch.setattr(index_module, "NOTED", 1)

    async def follow() -> None:
        many = [event for number in range(400) for event in named("Music", f"bots/{10**17 + number}")]
        state = state_after([*named("Quiet"), *many])
        async with following(state) as index:
            await refs(index, "quiet")
            tell(index, state, [*named("Loud", OTHER_REF), *named("Quiz", SERVER_REF)])  # more than are noted
            await until(lambda: len(tables) == 2)
            tell(index, state, [ListingRemoved(BOT_REF, NOW_MS)])
            while (await index.find("quiet", BOTS, 10, MONTH, ASKER)).refs:
                pass
            assert tables[1].count < 300, "the new table is not complete"
            await until(lambda: index.count == 402)
            assert await refs(index, "loud") == [OTHER_REF]
            assert await refs(index, "quiet") == []

    run(follow())


def test_without_fts5_search_is_refused_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def has_none(_: object) -> SearchTable:
        raise sqlite3.OperationalError("no such module: fts5")

    async def follow() -> None:
        state = state_after(listed())
        monkeypatch.setattr(index_module, "SearchTable", has_none)
        async with following(state) as index:
            await until(lambda: "no such module: fts5" in caplog.text)
            tell(index, state, named("Music"))
            with pytest.raises(SearchUnavailable):
                await index.find("music", BOTS, 10, MONTH, ASKER)
            monkeypatch.setattr(index_module, "SearchTable", SearchTable)
            assert await refs(index, "music") == [BOT_REF], "it comes back by itself"
            assert caplog.messages == ["search is not available", "search is available again"]

    run(follow())


def test_only_so_many_searches_wait() -> None:
    async def follow() -> None:
        state = state_after(named("Music"))
        async with following(state) as index:
            await refs(index, "music")
            many = [index.find("music", BOTS, 10, MONTH, str(asker)) for asker in range(WAITING + 1)]
            answers = await asyncio.gather(*many, return_exceptions=True)
            assert answers[:-1] == [SearchResult([BOT_REF], 1)] * WAITING
            assert isinstance(answers[-1], SearchUnavailable)

    run(follow())


def test_nobody_keeps_the_others_from_searching() -> None:
    async def follow() -> None:
        async with following(state_after(named("Music"))) as index:
            await refs(index, "music")
            for _ in range(2):
                greedy = [index.find("music", BOTS, 10, MONTH, ASKER) for _ in range(2 * WAITING)]
                answers = await asyncio.gather(
                    *greedy, index.find("music", BOTS, 10, MONTH, "::1"), return_exceptions=True
                )
                assert answers[:OF_ONE] + answers[-1:] == [SearchResult([BOT_REF], 1)] * (OF_ONE + 1)
                assert all(isinstance(each, SearchUnavailable) for each in answers[OF_ONE:-1])

    run(follow())


def test_a_table_is_settled_once_all_listings_are_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settled: list[int] = []

    class Watched(SearchTable):
        def settle(self) -> None:
            settled.append(self.count)
            super().settle()

    monkeypatch.setattr(index_module, "SearchTable", Watched)

    async def follow() -> None:
        many = [event for number in range(100) for event in named("Music", f"bots/{10**17 + number}")]
        async with following(state_after(many)) as index:
            assert len(await refs(index, "music")) == 100
            assert settled == [100]

    run(follow())
