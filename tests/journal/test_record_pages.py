"""Pages of the journal behind a position, beside a list of its records."""

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.events import Event, KeyUsed, VoteCast, encode_record
from core.failures import PlaceLost
from core.ledger import FoundPage
from journal import record_pages
from journal.journal import Journal
from journal.record_pages import JournalPages
from journal.segments import delete_behind, list_segments, segment_path
from tests.support.coroutines import run
from tests.support.journals import Unsynced, journalling, on

BOT = "bots/111111111111111111"
VOTES = ("vote_cast.1",)
OTHER = KeyUsed(BOT, "of no interest", 1)
Place = tuple[int, int]


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def running(*args: Any, **options: Any) -> None:
        run(test(*args, **options))

    return running


def vote(number: int) -> VoteCast:
    return VoteCast(BOT, str(5 * 10**17 + number), 1, number)


@asynccontextmanager
async def read_on(folder: Path) -> AsyncIterator[tuple[Journal, JournalPages]]:
    async with journalling(folder, disk=Unsynced()) as journal:
        with JournalPages(on(folder), journal, VOTES) as pages:
            yield journal, pages


async def append(journal: Journal, *batches: Sequence[Event]) -> None:
    """One frame a batch, one record an event."""
    for batch in batches:
        last = [journal.append(encode_record([event])) for event in batch]
        await journal.durable(last[-1])


def events_of(page: FoundPage) -> list[Event]:
    return [event for record in page.records for event in record.events]


async def rest(pages: JournalPages, place: Place, most: int = 1_000) -> tuple[list[Event], Place]:
    found: list[Event] = []
    while True:
        page = await pages.behind(*place, most)
        assert len(page.records) <= most
        found += events_of(page)
        place = (page.position, page.proof)
        if page.is_last:
            return found, place


@in_a_loop
async def test_only_the_records_that_are_looked_for_are_found_in_order(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        begin = pages.end
        await append(journal, [vote(1), OTHER, vote(2)], [OTHER], [vote(3)])
        found, place = await rest(pages, begin)
        assert found == [vote(1), vote(2), vote(3)]
        assert place == pages.end
        assert await rest(pages, place) == ([], place)


@in_a_loop
async def test_a_place_moves_on_over_records_of_no_interest(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        begin = pages.end
        await append(journal, *[[OTHER]] * 5)
        assert await rest(pages, begin) == ([], pages.end)


@in_a_loop
async def test_the_record_at_the_place_comes_again_where_it_is_asked_for(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        await append(journal, [vote(1), vote(2)], [vote(3)])
        first = (await pages.behind(0, 0, 1)).records[0]
        again = await pages.behind(first.position, first.proof, 2, again=True)
        assert events_of(again) == [vote(1), vote(2)]
        last = again.records[1]
        assert events_of(await pages.behind(last.position, last.proof, 9, again=True)) == [vote(2), vote(3)]


@in_a_loop
async def test_records_that_are_not_durable_are_not_read(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        await append(journal, [vote(1)])
        journal.append(encode_record([vote(2)]))
        assert events_of(await pages.behind(0, 0, 9)) == [vote(1)]


@pytest.mark.parametrize("rotates", [True, False])
@in_a_loop
async def test_a_place_with_another_proof_is_lost(tmp_path: Path, *, rotates: bool) -> None:
    async with read_on(tmp_path) as (journal, pages):
        await append(journal, [vote(1), vote(2)], [vote(3)])
        if rotates:
            journal.rotate()
        await append(journal, [vote(4)])
        for position in range(5):
            with pytest.raises(PlaceLost):
                await pages.behind(position, 12_345, 9)
            with pytest.raises(PlaceLost):
                await pages.behind(position, 12_345, 9, again=True)
        with pytest.raises(PlaceLost):
            await pages.behind(5, pages.end[1], 9)


@in_a_loop
async def test_a_place_that_the_journal_no_longer_reaches_back_to_is_lost(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        begin = pages.end
        places = []
        for number in range(4):
            await append(journal, [vote(number)])
            places.append(pages.end)
            journal.rotate()
        delete_behind(on(tmp_path), 2)
        assert [first for first, _ in list_segments(tmp_path)] == [3, 4]
        for place in (begin, places[0]):
            with pytest.raises(PlaceLost):
                await rest(pages, place)
        for known in (pages, JournalPages(on(tmp_path), journal, VOTES)):  # one met the segment that is gone
            with known:
                assert (await rest(known, places[1]))[0] == [vote(2), vote(3)]
                with pytest.raises(PlaceLost):
                    await known.behind(*places[1], 9, again=True)


@in_a_loop
async def test_a_damaged_segment_loses_the_places_before_it_and_no_other(tmp_path: Path) -> None:
    async with read_on(tmp_path) as (journal, pages):
        await append(journal, [vote(1)])
        place = pages.end
        await append(journal, [vote(2)])
        path = segment_path(tmp_path, 1)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[-1] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(PlaceLost):
            await rest(pages, place)
        assert await rest(pages, pages.end) == ([], pages.end)
        path.write_bytes(whole)  # for the end of the journal


@in_a_loop
async def test_a_long_way_is_walked_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_pages, "WALK_BYTES", 2_000)
    monkeypatch.setattr(record_pages, "BLOCK_BYTES", 500)
    async with read_on(tmp_path) as (journal, pages):
        for number in range(100):
            await append(journal, [vote(number)])
        place = pages.end
        await append(journal, [vote(100)])
        with JournalPages(on(tmp_path), journal, VOTES) as fresh:
            assert (await rest(fresh, place))[0] == [vote(100)]


@in_a_loop
async def test_a_page_ends_when_it_has_read_enough_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pages, "PAGE_BYTES", 1_000)
    async with read_on(tmp_path) as (journal, pages):
        for number in range(50):
            await append(journal, [vote(number)])
        page = await pages.behind(0, 0, 1_000)
        assert 0 < len(page.records) < 20
        assert not page.is_last
        assert (await rest(pages, (0, 0)))[0] == [vote(number) for number in range(50)]


@in_a_loop
async def test_pages_of_a_forgotten_place_are_found_from_the_beginning_of_its_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_pages, "MOST_FRAMES", 2)
    async with read_on(tmp_path) as (journal, pages):
        votes = [vote(number) for number in range(50)]
        await append(journal, *([each] for each in votes))
        places = [(0, 0)]
        while places[-1] != pages.end:
            page = await pages.behind(*places[-1], 7)
            places.append((page.position, page.proof))
        assert len(pages._frames._frames) == 2
        for number, place in enumerate(places):
            assert (await rest(pages, place, 7))[0] == votes[7 * number :]


Batches = st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=8)
"""Frames: for each record, whether it is a vote."""


@given(
    runs=st.lists(st.tuples(Batches, st.booleans()), min_size=1, max_size=4),
    mosts=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    fresh=st.lists(st.booleans(), min_size=1, max_size=5),
)
def test_pages_of_any_sizes_are_the_list_of_all_votes_over_restarts_and_segments(
    runs: list[tuple[list[list[bool]], bool]], mosts: list[int], fresh: list[bool]
) -> None:
    async def story(folder: Path) -> None:
        model: list[Event] = []
        found: list[Event] = []
        place, turn = (0, 0), 0
        for batches, rotates in runs:
            async with read_on(folder) as (journal, known):
                for batch in batches:
                    events = [vote(len(model) + at) if is_vote else OTHER for at, is_vote in enumerate(batch)]
                    model += [event for event in events if event is not OTHER]
                    await append(journal, events)
                    turn += 1
                    if fresh[turn % len(fresh)]:
                        with JournalPages(on(folder), journal, VOTES) as pages:
                            page = await pages.behind(*place, mosts[turn % len(mosts)])
                    else:
                        page = await known.behind(*place, mosts[turn % len(mosts)])
                    found += events_of(page)
                    place = (page.position, page.proof)
                    assert found == model[: len(found)]
                if rotates:
                    journal.rotate()
        async with read_on(folder) as (_, pages):
            more, place = await rest(pages, place, mosts[0])
            assert found + more == model
            assert place == pages.end or pages.end[0] == place[0]

    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        run(story(Path(name)))


def test_nothing_was_ever_written(tmp_path: Path) -> None:
    async def story() -> None:
        async with read_on(tmp_path) as (_, pages):
            assert pages.end == (0, 0)
            assert await rest(pages, (0, 0)) == ([], (0, 0))

    run(story())
