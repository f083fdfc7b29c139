"""The disk fails at any step of the protocol: everything acknowledged is kept, and no position is missing."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from journal.frames import FRAME_MAGIC
from journal.journal import JournalPolicy
from journal.segments import list_segments
from tests.support.failing_disk import SYNCS, WRITES, Action, FailingDisk, Fault, Moment, Point
from tests.support.ledger_story import ALWAYS, INTERVAL, Step, Story, check_folder
from tests.support.simulated_disk import Fill, RecordingDisk, cuts, image, scratch
from tests.support.turn_loop import run_in_turns

COMMIT, WAIT, ROTATE, SNAPSHOT, BUSY, IDLE, *_ = Step
BEFORE = [COMMIT, WAIT, COMMIT, WAIT]
"""Then the process is cut off in the middle of a write."""
STORY = [
    *[COMMIT, WAIT, ROTATE, COMMIT, WAIT, SNAPSHOT, COMMIT, WAIT, BUSY, COMMIT, WAIT, SNAPSHOT],
    *[COMMIT, ROTATE, WAIT, SNAPSHOT, IDLE, COMMIT, WAIT, IDLE, COMMIT, WAIT, IDLE, WAIT],
]
PROVOKING = {
    Point.SEGMENT_DISCARD: Fault(Point.SEGMENT_HEADER_WRITE, Action.ENOSPC, nth=2),
    Point.SNAPSHOT_DISCARD: Fault(Point.SNAPSHOT_WRITE, Action.ENOSPC, nth=3),
    Point.TORN_DELETE: Fault(Point.TORN_WRITE, Action.SHORT_ENOSPC),
    Point.TRUNCATE: Fault(Point.JOURNAL_WRITE, Action.SHORT_ENOSPC, nth=4),
}
"""Steps that another failure leads to."""
FAILURES = [
    (point, moment, action)
    for point in Point
    if not point.startswith("index_")  # tests/search/test_index_file.py fails those
    for moment in Moment
    for action in (Action.EIO, Action.ENOSPC, Action.SHORT, Action.SHORT_EIO, Action.SHORT_ENOSPC)
    if action in {Action.EIO, Action.ENOSPC} or (point in WRITES and moment is Moment.BEFORE)
]


class Told(NamedTuple):
    story: Story
    disk: FailingDisk
    recording: RecordingDisk
    started: bool
    died: bool
    """The journal has failed for good, before it was closed."""


@contextlib.contextmanager
def told(plan: list[Fault], policy: JournalPolicy) -> Iterator[tuple[Path, Told]]:
    """The story on a disk with faults, after a start on a torn journal."""
    with scratch({}) as path:
        before = torn_journal(path)
        recording = RecordingDisk(path)
        disk = FailingDisk(plan, recording)
        story = Story(path, disk, policy, 1, recording.promise)
        story.acknowledged, story.record = before.acknowledged, before.record

        async def main() -> tuple[bool, bool]:
            try:
                await story.tell(STORY)
            except OSError:
                return False, False
            died = story.running.done()
            with contextlib.suppress(OSError):
                await story.stop()
            return True, died

        started, died = run_in_turns(main())
        yield path, Told(story, disk, recording, started, died)


def torn_journal(path: Path) -> Story:
    story = Story(path)

    async def main() -> None:
        await story.tell(BEFORE)
        story.running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await story.running

    run_in_turns(main())
    with list_segments(path)[-1][1].open("ab") as segment:
        segment.write(FRAME_MAGIC + b"torn")
    return story


@cache
def reached(policy: JournalPolicy, provoking: Fault | None) -> Counter[tuple[Point, Moment]]:
    """Return the number of times that each step comes in the story."""
    with told([provoking] if provoking else [], policy) as (_, done):
        return done.disk.reached


def check_failure(fault: Fault, policy: JournalPolicy) -> None:
    provoking = PROVOKING.get(fault.point)
    with told([fault, *([provoking] if provoking else [])], policy) as (path, done):
        story = done.story
        assert fault in done.disk.fired
        if done.started and not done.died:
            assert story.acknowledged == story.ledger.head == len(story.record.committed)
        if fault.action not in {Action.EIO, Action.SHORT_EIO} and fault.point not in SYNCS:
            assert not done.died
        check_folder(path, story.record, story.acknowledged)
        check_after_power_cut(done)


def check_after_power_cut(done: Told) -> None:
    """With nothing kept that was not synced."""
    *_, last = cuts(done.recording)
    with scratch(image(last, [False] * len(last.unsynced), Fill.NOTHING)) as path:
        check_folder(path, done.story.record, last.promised)


@pytest.mark.parametrize(("point", "moment", "action"), FAILURES)
def test_a_disk_that_fails_once_takes_nothing_that_was_acknowledged(
    point: Point, moment: Moment, action: Action
) -> None:
    times = reached(ALWAYS, PROVOKING.get(point))[point, moment]
    assert times > 0
    for nth in sorted({1, (times + 1) // 2, times}):
        check_failure(Fault(point, action, moment, nth), ALWAYS)


@pytest.mark.long
@pytest.mark.parametrize("policy", [ALWAYS, INTERVAL], ids=lambda policy: policy.fsync)
@pytest.mark.parametrize(("point", "moment", "action"), FAILURES)
def test_a_disk_that_fails_at_any_time_takes_nothing_that_was_acknowledged(
    point: Point, moment: Moment, action: Action, policy: JournalPolicy
) -> None:
    for nth in range(1, reached(policy, PROVOKING.get(point))[point, moment] + 1):
        check_failure(Fault(point, action, moment, nth), policy)


@pytest.mark.parametrize("point", [Point.JOURNAL_SYNC, Point.CONTINUED_SYNC, Point.SEGMENT_HEADER_SYNC])
@pytest.mark.parametrize("policy", [ALWAYS, INTERVAL], ids=lambda policy: policy.fsync)
def test_after_a_failed_sync_nothing_is_acknowledged_or_written_even_if_the_next_one_claims_success(
    point: Point, policy: JournalPolicy
) -> None:
    died = 0
    for nth in range(1, reached(policy, None)[point, Moment.BEFORE] + 1):
        with told([Fault(point, Action.SYNC_LOST, nth=nth)], policy) as (path, done):
            check_after_power_cut(done)
            check_folder(path, done.story.record, done.story.acknowledged)
            if not done.died:  # the start has failed, or a snapshot
                continue
            died += 1
            for write in (Point.JOURNAL_WRITE, Point.CONTINUED_WRITE):
                of = (write, Moment.BEFORE)
                assert done.disk.reached[of] == done.disk.reached_when_fired[of]
    assert died > 0


def test_a_full_disk_is_waited_for_and_everything_is_acknowledged_when_there_is_space() -> None:
    for nth in range(1, reached(ALWAYS, None)[Point.JOURNAL_WRITE, Moment.BEFORE] + 1):
        fault = Fault(Point.JOURNAL_WRITE, Action.SHORT_ENOSPC, nth=nth, times=5)
        with told([fault], ALWAYS) as (path, done):
            if done.started:
                assert len(done.disk.fired) > 0
                assert done.story.acknowledged == done.story.ledger.head
            check_folder(path, done.story.record, done.story.acknowledged)
            check_after_power_cut(done)
