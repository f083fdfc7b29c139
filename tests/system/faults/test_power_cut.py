"""After a power cut at any moment, the folder has everything promised, and no position is missing."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import NamedTuple

import pytest

from journal.journal import JournalPolicy
from journal.segments import TORN_SUFFIX
from tests.support.failing_disk import FailingDisk
from tests.support.ledger_story import ALWAYS, INTERVAL, Record, Step, Story, check_folder
from tests.support.simulated_disk import (
    Create,
    Cut,
    RecordingDisk,
    cuts,
    every_image,
    old_bytes,
    scratch,
    some_image,
    what_matters,
)
from tests.support.small_parts import write_parts
from tests.support.turn_loop import run_in_turns

COMMIT, WAIT, ROTATE, SNAPSHOT, BUSY, IDLE, FULL, ROOM, RESTART, KILL = Step
FIRST, LAST = map(int, os.environ.get("FAULT_SEEDS", "0-25").split("-"))
"""The seeds of the random stories, the last one not included; "7-8" tells story 7 alone."""
LONG_BLOCKS, LONG_BLOCK = 20, 250
CUTS, LONG_CUTS = 4, 12
"""Drawn in one random story: a hundred in `make test`, thousands in `make test-long`."""

SHORT_STORIES = {
    "commits": [COMMIT, WAIT, COMMIT, COMMIT, WAIT, IDLE],
    "a rotation": [COMMIT, WAIT, ROTATE, COMMIT, COMMIT, WAIT],
    "a rotation that is interrupted": [COMMIT, ROTATE, WAIT, ROTATE, COMMIT, KILL, COMMIT, WAIT],
    "snapshots and parts": [COMMIT, SNAPSHOT, COMMIT, WAIT, SNAPSHOT, COMMIT, SNAPSHOT],
    "snapshots that let older files go": [
        COMMIT,
        SNAPSHOT,
        *4 * [COMMIT, SNAPSHOT],
        COMMIT,
        WAIT,
        SNAPSHOT,
        COMMIT,
    ],
    "parts around restarts": [COMMIT, SNAPSHOT, COMMIT, KILL, COMMIT, SNAPSHOT, RESTART, COMMIT, SNAPSHOT],
    "a snapshot while more is committed": [COMMIT, WAIT, BUSY, COMMIT, BUSY],
    "a full disk": [COMMIT, WAIT, FULL, COMMIT, WAIT, ROTATE, ROOM, IDLE, COMMIT, WAIT],
    "a full disk at a rotation": [COMMIT, WAIT, ROTATE, FULL, COMMIT, WAIT, ROOM, IDLE, SNAPSHOT],
    "restarts": [COMMIT, RESTART, COMMIT, WAIT, ROTATE, RESTART, COMMIT, SNAPSHOT, KILL, COMMIT, WAIT],
}
BOTH = pytest.mark.parametrize("policy", [ALWAYS, INTERVAL], ids=lambda policy: policy.fsync)


@pytest.fixture(autouse=True)
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    write_parts(monkeypatch)


class Told(NamedTuple):
    disk: RecordingDisk
    record: Record


def told(steps: Iterable[Step], policy: JournalPolicy, seed: int) -> Told:
    """The trace of a story. Its disk fills up in the middle of a write."""
    with scratch({}) as path:
        recording = RecordingDisk(path)
        disk = FailingDisk(inner=recording)
        story = Story(path, disk, policy, seed, recording.promise, disk.fill)

        async def main() -> None:
            await story.tell(steps)
            disk.fill(False)
            with suppress(OSError):
                await story.stop()

        run_in_turns(main(), seed)
        return Told(recording, story.record)


def check_image(files: dict[str, bytes], record: Record, cut: Cut) -> Told:
    """Starts on what the power cut left; returns the trace of that."""
    with scratch(files) as path:
        recording = RecordingDisk(path)
        again = check_folder(path, record, cut.promised, recording, recording.promise)
        return Told(recording, again)


def distinct_images(disk: RecordingDisk) -> Iterator[tuple[Cut, dict[str, bytes]]]:
    """Every image of every moment; those that a start cannot tell apart only while more is promised."""
    seen: dict[int, int] = {}
    for cut in cuts(disk):
        for files in every_image(cut, old_bytes(disk, cut)):
            key = what_matters(files)
            if cut.promised > seen.get(key, -1):
                seen[key] = cut.promised
                yield cut, files


@BOTH
@pytest.mark.parametrize("name", SHORT_STORIES)
def test_whatever_a_power_cut_leaves_of_a_short_story_is_recovered(name: str, policy: JournalPolicy) -> None:
    disk, record = told(SHORT_STORIES[name], policy, seed=0)
    checked = 0
    for cut, files in distinct_images(disk):
        check_image(files, record, cut)
        checked += 1
    assert checked > len(disk.trace) // 4


@pytest.mark.parametrize("name", ["a rotation", "a full disk at a rotation"])
def test_a_power_cut_during_the_start_after_a_power_cut_leaves_what_can_be_recovered_too(name: str) -> None:
    disk, record = told(SHORT_STORIES[name], ALWAYS, seed=0)
    torn = 0
    for cut, files in distinct_images(disk):
        again = check_image(files, record, cut)
        if not any(isinstance(call, Create) and call.name.endswith(TORN_SUFFIX) for call in again.disk.trace):
            continue
        torn += 1
        for later, left in distinct_images(again.disk):
            later.promised = max(later.promised, cut.promised)
            check_image(left, again.record, later)
    assert torn > 0


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_whatever_a_power_cut_leaves_of_a_random_story_is_recovered(seed: int) -> None:
    check_random_story(seed, CUTS)


@pytest.mark.long
@pytest.mark.parametrize("block", range(LONG_BLOCKS))
def test_whatever_a_power_cut_leaves_of_thousands_of_random_stories_is_recovered(block: int) -> None:
    begin = 1_000_000 + block * LONG_BLOCK
    for seed in range(begin, begin + LONG_BLOCK):
        check_random_story(seed, LONG_CUTS)


def check_random_story(seed: int, drawn: int) -> None:
    """Some images of some moments of a story, and some of the starts after them."""
    random = Random(seed)
    policy = replace(random.choice([ALWAYS, INTERVAL]), segment_bytes=random.choice([500, 1_500, 20_000]))
    steps = [COMMIT, *random.choices(list(Step), k=random.randrange(5, 40))]
    disk, record = told(steps, policy, seed)
    moments = sorted(random.choices(range(len(disk.trace) + 1), k=drawn))
    try:
        for cut in cuts(disk):
            for _ in range(moments.count(cut.steps)):
                again = check_image(some_image(cut, random, old_bytes(disk, cut)), record, cut)
                check_start(again, cut.promised, random)
    except Exception as error:
        error.add_note(f"FAULT_SEEDS={seed}-{seed + 1} tells this story again")
        raise


def check_start(told: Told, promised: int, random: Random) -> None:
    """One image of one moment of a start after a power cut."""
    moment = random.randrange(len(told.disk.trace) + 1)
    for cut in cuts(told.disk):
        if cut.steps == moment:
            cut.promised = max(cut.promised, promised)
            check_image(some_image(cut, random, old_bytes(told.disk, cut)), told.record, cut)
            return
