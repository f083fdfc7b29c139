"""Taking snapshots while votes arrive: what is on disk always folds to what is in memory."""

import asyncio
import itertools
import logging
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import row_copy, vote_table
from core.clock import NS_PER_SECOND
from core.events import Event
from core.ledger import Ledger
from gateway.store import snapshot_interval
from journal.segments import list_segments
from snapshot.files import list_snapshots, snapshot_path
from snapshot.recovery import recover
from snapshot.snapshotter import Snapshotter
from tests.support.coroutines import run, until
from tests.support.examples import examples
from tests.support.folder_bytes import copied
from tests.support.generated_events import frequent, histories, sequences
from tests.support.journals import on, recording, recovered_digest, snapshotter_of
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import listed, voted


@pytest.fixture(autouse=True)
def many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small tables are copied in many steps."""
    monkeypatch.setattr(row_copy, "SLICE", 1)
    monkeypatch.setattr(vote_table, "SLICE_BYTES", 1)
    monkeypatch.setattr(vote_table, "SLICE_LISTINGS", 1)


async def take_while(snapshotter: Snapshotter, ledger: Ledger, script: Iterable[Sequence[Event]]) -> int:
    """Takes a snapshot while the script is committed, one record a turn; returns how many were."""
    taking = asyncio.create_task(snapshotter.take())
    committed = 0
    for events in script:
        await asyncio.sleep(0)
        ledger.commit(events)
        committed += 1
        if taking.done():
            break
    await taking
    return committed


def digest_of_the_journal_alone(folder: Path, copy: Path) -> str:
    copy.mkdir()
    for _, path in list_segments(folder):
        shutil.copy(path, copy)
    return recovered_digest(copy)


@examples(40)
@given(before=sequences, during=histories(frequent, 25), after=histories(frequent, 5))
def test_whatever_happens_while_a_snapshot_is_taken_is_neither_lost_nor_doubled(
    before: list[Event],
    during: list[Event],
    after: list[Event],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("data")

    async def main() -> str:
        async with recording(folder) as (ledger, journal):
            for event in before:
                ledger.commit([event])
            script = [[event] for event in during]
            await take_while(snapshotter_of(folder, ledger, journal), ledger, script)
            for event in after:
                ledger.commit([event])
            return ledger.state.digest()

    digest = run(main())
    assert digest_of_the_journal_alone(folder, folder / "copy") == digest


def test_votes_that_arrive_while_a_snapshot_is_taken_are_all_there_after_a_restart(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            for number in range(20):
                ledger.commit(listed(f"bots/{number}"))
                ledger.commit([voted(user, ref=f"bots/{number}") for user in range(1, 20)])
            arriving = (
                [voted(number % 40 + 1, count=2 + number, ref=f"bots/{number % 20}")]
                for number in itertools.count()
            )
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            arrived = await take_while(snapshotter, ledger, arriving)
            assert arrived > 20
            assert snapshotter.position == ledger.head - arrived

    run(main())


def test_a_snapshot_tells_its_position_size_and_time(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            ledger.commit(listed())
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            taken = await snapshotter.take()
            path = snapshot_path(tmp_path, 1)
            assert (taken.position, snapshotter.position, taken.seconds) == (1, 1, 0.0)
            assert list_snapshots(tmp_path) == [(1, path)]
            assert taken.bytes == len(await asyncio.to_thread(path.read_bytes))

    run(main())


def test_two_snapshots_are_kept_and_the_journal_behind_the_older_one(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            ledger.commit(listed())
            kept, first_segments = [], []
            for user in range(1, 5):
                await ledger.durable(ledger.commit([voted(user)]))
                await snapshotter.take()
                kept.append([position for position, _ in list_snapshots(tmp_path)])
                first_segments.append(list_segments(tmp_path)[0][0])
            assert kept == [[2], [2, 3], [3, 4], [4, 5]]
            assert first_segments == [1, 3, 4, 5]

    run(main())
    assert recover(on(tmp_path), empty_state).chain.position == 5
    snapshot_path(tmp_path, 5).unlink()
    assert recover(on(tmp_path), empty_state).chain.position == 4


def test_the_older_snapshot_always_has_the_whole_journal_behind_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    async def main() -> None:
        async with recording(folder) as (ledger, journal):
            snapshotter = snapshotter_of(folder, ledger, journal)
            ledger.commit(listed())
            for round_ in range(1, 4):
                for count in (1, 2, 3):
                    await ledger.durable(ledger.commit([voted(round_, count)]))
                    journal.rotate()
                await snapshotter.take()
                copy = copied(folder, tmp_path / f"copy-{round_}")
                list_snapshots(copy)[-1][1].unlink()
                assert recovered_digest(copy) == ledger.state.digest()

    run(main())


def test_a_damaged_snapshot_is_not_one_of_the_two_that_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def take(*users: int) -> None:
        async with recording(tmp_path) as (ledger, journal):
            for user in users:
                await ledger.durable(ledger.commit([*listed(), voted(user)]))
                await snapshotter_of(tmp_path, ledger, journal).take()

    with caplog.at_level(logging.CRITICAL):
        run(take(1, 2))
        snapshot_path(tmp_path, 2).write_bytes(b"damaged")
        run(take(3))
        digest = recovered_digest(tmp_path)
        snapshot_path(tmp_path, 3).write_bytes(b"damaged too")
        assert recovered_digest(tmp_path) == digest


def test_a_snapshot_taken_again_without_a_change_leaves_the_one_before_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            snapshotter = snapshotter_of(tmp_path, ledger, journal)
            for events in (listed(), [voted(5)]):
                await ledger.durable(ledger.commit(events))
                await snapshotter.take()
            await snapshotter.take()
            assert [position for position, _ in list_snapshots(tmp_path)] == [1, 2]

    run(main())
    digest = recovered_digest(tmp_path)
    snapshot_path(tmp_path, 2).unlink()
    assert recovered_digest(tmp_path) == digest


def test_a_snapshot_of_nothing_keeps_no_folder_from_being_served(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    async def main() -> None:
        async with recording(folder) as (ledger, journal):
            taken = await snapshotter_of(folder, ledger, journal).take()
            assert taken.position == 0
            assert recovered_digest(copied(folder, tmp_path / "copy")) == ledger.state.digest()

    run(main())


def test_nothing_new_makes_no_snapshot(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            await snapshotter_of(tmp_path, ledger, journal).step()
            assert list_snapshots(tmp_path) == []
            position = ledger.commit(listed())
            await snapshotter_of(tmp_path, ledger, journal, position=position).step()
            assert list_snapshots(tmp_path) == []

    run(main())


def test_snapshots_are_taken_again_and_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with recording(tmp_path) as (ledger, journal):
            snapshotter = snapshotter_of(tmp_path, ledger, journal, interval_seconds=0.001)
            running = asyncio.create_task(snapshotter.run())
            for events in (listed(), [voted(5)]):
                position = ledger.commit(events)
                await until(lambda: snapshotter.position == position)  # noqa: B023 (waited for here)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    run(main())


@given(
    st.integers(2, 64),
    st.integers(0, 10**18),
    st.lists(st.integers(0, 2_000 * NS_PER_SECOND), min_size=1, max_size=20),
)
def test_workers_of_one_machine_never_begin_a_snapshot_at_the_same_moment(
    workers: int, now_ns: int, taken_ns: list[int]
) -> None:
    seconds = 300.0
    of_workers = [
        snapshot_interval(seconds, SimpleNamespace(number=number, workers=workers))  # type: ignore[arg-type]
        for number in range(1, workers + 1)
    ]
    moments = set()
    for each in of_workers:
        at_ns = now_ns
        for snapshot_ns in taken_ns:  # each takes its time, and so does the start of the process
            at_ns += snapshot_ns
            waited = each.wait_seconds(at_ns)
            assert 0 < waited <= seconds
            at_ns += round(waited * NS_PER_SECOND)
        moments.add(round(at_ns / NS_PER_SECOND % seconds * workers / seconds) % workers)
    assert len(moments) == workers


def test_a_gateway_without_other_workers_takes_a_snapshot_in_each_interval() -> None:
    interval = snapshot_interval(300, None)
    assert interval.wait_seconds(0) == 300
    assert interval.wait_seconds(100 * NS_PER_SECOND) == 200
