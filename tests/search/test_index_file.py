"""search/index_file.py: a start reads the index, finds what a new one finds, and reads nothing doubtful."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import MS_PER_DAY
from core.events import Event, ListingRemoved, ListingReviewed, encode_record
from core.ledger import Ledger
from core.rows import Listing
from core.state import State
from journal.segments import JournalCorrupt, JournalReader, list_segments
from search import index as index_module
from search import index_file, kind_table
from search.catalogue import Catalogue, IndexKey
from search.index import Keeping, SearchIndex, findable_of
from search.index_file import IndexFile
from search.search_table import SearchTable
from snapshot.inspection import found_in, needed_keys, verify_folder
from storage.disk import OS_DISK, Disk
from storage.folder import SEARCH_INDEX, refuse_foreign_files
from storage.sealing import Keyring, new_key
from tests.support.coroutines import happened, run, until
from tests.support.examples import examples
from tests.support.failing_disk import Action, FailingDisk, Fault, Point
from tests.support.fake_clock import FakeClock
from tests.support.folder_bytes import overwrite
from tests.support.indexed_listings import changes, named, refs
from tests.support.journals import KEYS, on, recording
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, SERVER_REF
from tests.support.simulated_disk import RecordingDisk, cuts, every_image, old_bytes, scratch, what_matters

TEXTS = ("music", "quiz", "音楽", "musik", "a bot for the tests")


@pytest.fixture(autouse=True)
def small_indexes_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "KEPT_FROM", 1)


@asynccontextmanager
async def indexing(
    folder: Path, *, keys: Keyring = KEYS, disk: Disk = OS_DISK, clock: FakeClock | None = None
) -> AsyncIterator[tuple[Ledger, SearchIndex]]:
    """A ledger on the folder's journal, and the index of a running gateway."""
    async with recording(folder, clock=clock) as (ledger, journal):
        place = on(folder, keys, disk)
        records = JournalReader(place if keys is KEYS else on(folder)).records
        head, file = lambda: ledger.head, IndexFile(place)
        catalogue = Catalogue(ledger.state)
        keeping = Keeping(file, catalogue, clock or FakeClock(), head, journal.synced, records)
        index = SearchIndex(ledger.state, pause_seconds=0, keeping=keeping)
        ledger.subscribe(catalogue.on_record)
        ledger.subscribe(index.on_record)
        running = asyncio.create_task(index.run())
        try:
            await index.has_looked.wait()
            for _ in catalogue.survey():
                pass
            assert all_of(catalogue) == all_of(surveyed(ledger.state))
            await until(lambda: index.is_complete)
            yield ledger, index
            assert all_of(catalogue) == all_of(surveyed(ledger.state))
        finally:
            running.cancel()
            await asyncio.wait([running])


def surveyed(state: State) -> Catalogue:
    catalogue = Catalogue(state)
    for _ in catalogue.survey():
        pass
    return catalogue


def all_of(catalogue: Catalogue) -> object:
    """Return everything that a catalogue has."""
    keys = {key for entry in catalogue.entries.values() for key in entry.keys}
    return catalogue.entries, {key: [*catalogue.refs_of(key)] for key in keys}, catalogue.is_complete


async def is_kept(index: SearchIndex, ledger: Ledger) -> None:
    """Wait until everything is on the disk."""
    await index.keep(ledger.head)
    file = index._keeping.file  # type: ignore[union-attr]
    await until(lambda: file.kept is not None and file.kept.position == ledger.head)


def test_a_listing_that_is_decided_again_keeps_its_words_and_moves_in_the_catalogue(tmp_path: Path) -> None:
    async def main() -> None:
        async with indexing(tmp_path) as (ledger, index):
            ledger.commit(named("Music"))
            await refs(index, "music")
            await is_kept(index, ledger)
            ledger.commit([ListingReviewed(BOT_REF, "approved", None, NOW_MS + 9)])
            await is_kept(index, ledger)
            assert index.dead == 0
        async with indexing(tmp_path):
            pass

    run(main())


def test_a_listing_that_changes_while_the_index_is_written_is_noted_for_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with indexing(tmp_path) as (ledger, index):
            is_writing, may_go_on, finish = threading.Event(), threading.Event(), IndexFile.finish

            def slow(*arguments: Any) -> None:
                is_writing.set()
                may_go_on.wait()
                finish(*arguments)

            monkeypatch.setattr(IndexFile, "finish", slow)
            ledger.commit(named("Music"))
            await index.keep(ledger.head)
            await happened(is_writing)
            ledger.commit([ListingReviewed(BOT_REF, "approved", None, NOW_MS + 1)])
            may_go_on.set()
            await is_kept(index, ledger)
        async with indexing(tmp_path):
            pass

    run(main())


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The refs of the listings that an index has read."""
    looked: list[str] = []

    def look(row: Listing) -> kind_table.Findable | None:
        looked.append(row.ref)
        return findable_of(row)

    monkeypatch.setattr(index_module, "findable_of", look)
    return looked


def test_a_start_reads_the_index_and_only_the_listings_that_have_changed_since(
    tmp_path: Path, looked_at: list[str]
) -> None:
    async def main() -> None:
        async with indexing(tmp_path) as (ledger, index):
            ledger.commit([*named("Music"), *named("Quiz", OTHER_REF), *named("Chess", SERVER_REF)])
            assert await refs(index, "music") == [BOT_REF]
            await is_kept(index, ledger)
            ledger.commit(named("Radio", OTHER_REF))
            await is_kept(index, ledger)
            ledger.commit([ListingRemoved(SERVER_REF)])
        looked_at.clear()
        async with indexing(tmp_path) as (ledger, index):
            assert looked_at == [OTHER_REF]
            assert [await refs(index, text) for text in ("music", "radio", "quiz", "chess")] == [
                [BOT_REF],
                [OTHER_REF],
                [],
                [],
            ]
            ledger.commit(named("Quiz", BOT_REF))
            assert await refs(index, "quiz") == [BOT_REF]
            assert (await refs(index, "music"), index.count) == ([], 2)

    run(main())


def found(table: SearchTable) -> list[list[set[str]]]:
    """Return the results of searches in a table, without the order of equal matches."""
    return [
        [{*each} for each in table.find(text, kind, 100).sorts]
        for kind in ("bots", "servers")
        for text in TEXTS
    ]


def built_again(state: State) -> SearchTable:
    table = SearchTable()
    table.put([entry for ref in state.listings if (entry := findable_of(state.listings[ref])) is not None])
    table.settle()
    return table


class _Story:
    """A state, the records that led to it, its table, and the file of that."""

    def __init__(self, folder: Path, disk: Disk = OS_DISK) -> None:
        self.state, self.table, self.log = empty_state(), SearchTable(), list[bytes]()
        self.catalogue = surveyed(self.state)
        self.file = IndexFile(on(folder, disk=disk))
        self._changed: list[str] = []

    def records(self, after: int, until: int) -> Iterator[tuple[int, bytes]]:
        return iter([*enumerate(self.log[:until], 1)][after:])

    def commit(self, events: Sequence[Event]) -> None:
        for event in events:
            self.state.apply(event)
            self.log.append(encode_record([event]))
            self._changed += put(self.table, self.state, [event.ref])  # type: ignore[union-attr]
            self.catalogue.on_record(1, [event])

    def write(self) -> None:
        new = self.file.begin(1)
        for rows in self.catalogue.rows():
            self.file.add_rows(new, rows)
        pieces = self.table.pieces()
        while self.file.add_piece(new, pieces):
            pass
        self.file.finish(new, 1, len(self.log), self.table.numbers)
        new.close()
        self._changed.clear()
        self.catalogue.changed.clear()

    def append(self) -> None:
        self.file.append(len(self.log), [*self._changed, *self.catalogue.changed])
        self._changed.clear()
        self.catalogue.changed.clear()

    def read(self, file: IndexFile, table: SearchTable) -> Sequence[str] | None:
        """Read the file of a start as an index does, and check the catalogue. Return what has changed."""
        behind = file.look(self.records, len(self.log))
        if behind is None or file.kept is None:
            return None
        changed, catalogue, keys = (
            sorted(behind.union(file.kept.refs)),
            Catalogue(self.state),
            list[IndexKey](),
        )
        for rows in file.rows():
            catalogue.take(rows, keys)
        for _ in catalogue.taken(changed):
            pass
        assert all_of(catalogue) == all_of(surveyed(self.state))
        file.read(table)
        return changed


def put(table: SearchTable, state: State, some: Sequence[str]) -> Sequence[str]:
    entries = [findable_of(state.listings[ref]) if ref in state.listings else None for ref in some]
    gone = [ref for ref, entry in zip(some, entries, strict=True) if entry is None]
    return table.put([entry for entry in entries if entry is not None], gone)


few = st.lists(changes, max_size=6)


@examples(40)
@given(few, few, few, few)
def test_an_index_that_is_read_equals_one_that_is_built_again(
    before: list[Event], between: list[Event], later: list[Event], behind: list[Event]
) -> None:
    with scratch({}) as folder:
        story = _Story(folder)
        story.commit(before)
        story.table.settle()
        story.write()
        for events in (between, later):
            story.commit(events)
            story.append()
        story.commit(behind)
        table, file = SearchTable(), IndexFile(on(folder))
        changed = story.read(file, table)
        assert changed is not None
        put(table, story.state, changed)
        new = built_again(story.state)
        assert (found(table), table.count) == (found(new), new.count)
        story.table = table
        story.file = file
        story.commit(before)
        new = built_again(story.state)
        assert (found(table), table.count) == (found(new), new.count)


def test_after_a_power_cut_at_any_moment_the_index_is_right_or_built_again() -> None:
    with scratch({}) as folder:
        disk = RecordingDisk(folder)
        story = _Story(folder, disk)
        story.commit(named("Music"))
        story.table.settle()
        story.write()
        disk.promise(1)
        for events in (named("Quiz", OTHER_REF), [ListingRemoved(BOT_REF)], named("音楽", SERVER_REF)):
            story.commit(events)
            story.append()
        story.write()
        story.commit(named("Radio"))
        story.append()
    expected, checked = found(built_again(story.state)), set[int]()
    for cut in cuts(disk):
        for files in every_image(cut, old_bytes(disk, cut)):
            seen = what_matters(files)
            if seen in checked:
                continue
            checked.add(seen)
            with scratch(files) as place:
                table = SearchTable()
                changed = story.read(IndexFile(on(place)), table)
                if changed is None:
                    assert not cut.promised, "an index that was written is there"
                    continue
                put(table, story.state, changed)
                assert found(table) == expected
    assert len(checked) > 10


def test_a_chunk_that_was_cut_off_is_replaced_by_the_next_one(tmp_path: Path) -> None:
    story = _Story(tmp_path)
    story.commit(named("Music"))
    story.table.settle()
    story.write()
    story.commit(named("Quiz", OTHER_REF))
    story.append()
    path = tmp_path / SEARCH_INDEX
    overwrite(path, path.read_bytes()[:-5])
    story.file, story.table = IndexFile(on(tmp_path)), SearchTable()
    changed = story.read(story.file, story.table)
    assert changed == [OTHER_REF], "the journal tells it"
    put(story.table, story.state, changed)
    story.commit(named("Radio", SERVER_REF))
    story.append()
    file = IndexFile(on(tmp_path))
    assert file.look(story.records, len(story.log)) == set()
    assert file.kept is not None
    assert [*file.kept.refs] == [SERVER_REF]


def kept_folder(folder: Path) -> None:
    async def main() -> None:
        async with indexing(folder) as (ledger, index):
            ledger.commit(named("Music"))
            assert await refs(index, "music") == [BOT_REF]
            await is_kept(index, ledger)
            ledger.commit([*named("Quiz"), *named("Radio", OTHER_REF)])

    run(main())


def is_built_again(
    folder: Path, looked_at: list[str], keys: Keyring = KEYS, *, is_lasting: bool = True
) -> None:
    """A start reads all listings, and finds them; the one behind it finds the index again."""

    async def main() -> None:
        for expected in ([BOT_REF, OTHER_REF], [])[: 1 + is_lasting]:
            looked_at.clear()
            async with indexing(folder, keys=keys) as (ledger, index):
                assert sorted(looked_at) == expected
                assert (await refs(index, "quiz"), await refs(index, "music")) == ([BOT_REF], [])
                await is_kept(index, ledger)

    run(main())


@pytest.mark.parametrize("byte", [10, 60, 200, -400])
def test_a_damaged_index_is_built_again(
    byte: int, tmp_path: Path, looked_at: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    kept_folder(tmp_path)
    path = tmp_path / SEARCH_INDEX
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    overwrite(path, bytes(content))
    is_built_again(tmp_path, looked_at)
    assert "the search index is built again" in caplog.text


def test_an_index_of_another_program_is_built_again(
    tmp_path: Path, looked_at: list[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept_folder(tmp_path)
    monkeypatch.setattr(kind_table, "VERSION", "0.0.0")
    is_built_again(tmp_path, looked_at)
    assert "is of another program" in caplog.text


def test_an_index_without_its_key_is_built_again(
    tmp_path: Path, looked_at: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    kept_folder(tmp_path)
    is_built_again(tmp_path, looked_at, Keyring([new_key()]))
    assert "is sealed with key" in caplog.text


def test_an_index_that_is_ahead_of_the_journal_is_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as one that was left behind when older files were copied back."""
    kept_folder(tmp_path)
    for _, path in list_segments(tmp_path):
        path.unlink()

    async def main() -> None:
        async with indexing(tmp_path) as (_, index):
            assert await refs(index, "music") == []

    run(main())
    assert not (tmp_path / SEARCH_INDEX).exists()
    assert "and the journal ends at 0" in caplog.text


def test_without_the_records_behind_it_an_index_is_built_again(
    tmp_path: Path, looked_at: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(_: object, after: int, until: int) -> Iterator[tuple[int, bytes]]:
        raise JournalCorrupt(tmp_path, 0, f"records from position {after + 1} to {until} are missing")

    kept_folder(tmp_path)
    monkeypatch.setattr(index_file, "changed_in", gone)
    is_built_again(tmp_path, looked_at, is_lasting=False)
    assert "records from position 2 to 2 are missing" in caplog.text


def test_with_a_new_key_the_index_is_sealed_again(tmp_path: Path) -> None:
    async def main() -> None:
        keys = Keyring([bytes(range(32))])
        async with indexing(tmp_path, keys=keys) as (ledger, index):
            ledger.commit(named("Music"))
            await refs(index, "music")
            await is_kept(index, ledger)
            keys.become(keys.with_newest(new_key()))
            ledger.commit(named("Quiz"))
            await refs(index, "quiz")
            await is_kept(index, ledger)
        (found,) = (found for found in found_in(tmp_path) if found.kind == "index")
        assert found.key_id == keys.newest.hex()
        assert needed_keys(tmp_path) == {keys.key_ids[1]}, "a start can do without the index"

    run(main())


def test_tables_with_words_of_listings_that_are_gone_are_built_again_after_a_week(tmp_path: Path) -> None:
    async def main() -> None:
        clock = FakeClock()
        async with indexing(tmp_path, clock=clock) as (ledger, index):
            ledger.commit([*named("Music"), *named("Quiz", OTHER_REF)])
            await refs(index, "music")
            ledger.commit([ListingRemoved(BOT_REF)])
            assert await refs(index, "music") == []
            await is_kept(index, ledger)
            assert index.dead == 1
            clock.advance(8 * MS_PER_DAY / 1_000)
            ledger.commit(named("Radio", OTHER_REF))
            await index.keep(ledger.head)
            await until(lambda: index.dead == 0)
            assert await refs(index, "radio") == [OTHER_REF]
            await is_kept(index, ledger)

    run(main())


def test_what_has_changed_most_is_written_with_the_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_file, "MOST_CHANGED", 8)

    async def main() -> None:
        async with indexing(tmp_path) as (ledger, index):
            ledger.commit(named("Music"))
            await refs(index, "music")
            for number in range(30):
                ledger.commit(named(f"Radio {number}"))
                assert await refs(index, "radio") == [BOT_REF]
                await is_kept(index, ledger)
                kept = index._keeping.file.kept  # type: ignore[union-attr]
                assert kept is not None
                assert len(kept.refs) + kept.place.number < 30

    run(main())


@pytest.mark.parametrize(
    "point", [Point.INDEX_CREATE, Point.INDEX_WRITE, Point.INDEX_SYNC, Point.INDEX_RENAME]
)
def test_a_disk_that_fails_stops_no_search_and_the_next_time_the_index_is_written(
    point: Point, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        disk = FailingDisk([Fault(point, Action.ENOSPC)])
        async with indexing(tmp_path, disk=disk) as (ledger, index):
            ledger.commit(named("Music"))
            await until(lambda: "the search index is not written" in caplog.text)
            assert await refs(index, "music") == [BOT_REF]
            ledger.commit(named("Quiz"))
            await is_kept(index, ledger)

    run(main())
    assert not [*tmp_path.glob("*.tmp")]


def test_changes_that_could_not_be_appended_are_written_the_next_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        disk = FailingDisk()
        async with indexing(tmp_path, disk=disk) as (ledger, index):
            ledger.commit(named("Music"))
            await refs(index, "music")
            await is_kept(index, ledger)
            disk.fill(is_full=True)
            ledger.commit(named("Quiz", OTHER_REF))
            assert await refs(index, "quiz") == [OTHER_REF]
            await index.keep(ledger.head)
            await until(lambda: "the search index is not written" in caplog.text)
            disk.fill(is_full=False)
            ledger.commit(named("Radio", SERVER_REF))
            await refs(index, "radio")
            await is_kept(index, ledger)
            head = ledger.head
        file = IndexFile(on(tmp_path))
        assert file.look(lambda *_: iter(()), head) == set()
        assert file.kept is not None
        assert {*file.kept.refs} == {OTHER_REF, SERVER_REF}

    run(main())


def test_the_file_is_one_of_ours_and_is_verified(tmp_path: Path) -> None:
    kept_folder(tmp_path)
    refuse_foreign_files(tmp_path)

    def findings() -> list[tuple[bool, str]]:
        verified = verify_folder(on(tmp_path), empty_state, lambda _: lambda *_: None)
        return [(each.good, each.text) for each in verified.findings if each.what == SEARCH_INDEX]

    ((is_good, text),) = findings()
    assert is_good
    assert text.startswith("whole, ")
    path = tmp_path / SEARCH_INDEX
    overwrite(path, path.read_bytes()[:-1])
    ((is_good, text),) = findings()
    assert not is_good
    assert "damaged or unfinished" in text
