"""Every cut and every flipped bit of a journal: refused, or harmless; and what is read can be continued."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from journal.frames import FRAME_MAGIC, HEADER_BYTES
from journal.journal import JournalPolicy
from journal.segments import JournalCorrupt
from tests.support.coroutines import run
from tests.support.folder_bytes import SOME_FLIPS, bytes_of, flips, overwrite
from tests.support.journals import (
    INTERVAL,
    POLICY,
    Unsynced,
    append_all,
    journalling,
    records_of,
    tail_of,
    write_segment,
)

BATCHES = [[[b"1"]], [[b"2"], [b"3"]]]
"""By segment and frame."""
RECORDS = [record for segment in BATCHES for batch in segment for record in batch]
NAMES = [f"journal-{first:020d}" for first in (1, 2)]
NEWEST = NAMES[-1]
UNSYNCED = Unsynced()


class Damage(NamedTuple):
    at: int
    """The offset of the cut, or of the byte with the flipped bit."""
    content: bytes


Damages = Callable[[bytes], Iterator[Damage]]


def every_cut(segment: bytes) -> Iterator[Damage]:
    return (Damage(length, segment[:length]) for length in range(len(segment)))


def every_flip(segment: bytes) -> Iterator[Damage]:
    return (Damage(index, flipped) for index, flipped in flips(segment, SOME_FLIPS))


async def write_journal(folder: Path, policy: JournalPolicy, *, crash: bool) -> None:
    async with journalling(folder, policy, disk=UNSYNCED, crash=crash) as journal:
        for batches in BATCHES:
            journal.rotate()
            for batch in batches:
                positions = [journal.append(record) for record in batch]
                await journal.durable(positions[-1])


def journal_of(folder: Path, policy: JournalPolicy = POLICY, *, crash: bool) -> dict[str, bytes]:
    """The files of a journal of ours, which are in the folder as well."""
    run(write_journal(folder, policy, crash=crash))
    files = bytes_of(folder)
    assert sorted(files) == NAMES
    return files


def outcomes(
    folder: Path, files: dict[str, bytes], name: str, damages: Damages
) -> list[tuple[int, list[bytes] | None]]:
    """Return the records read, by damage to one of the files; None for a refused journal."""

    async def main() -> list[tuple[int, list[bytes] | None]]:
        return [(damage.at, await outcome(folder, files, name, damage)) for damage in damages(files[name])]

    return asyncio.run(main())


async def outcome(folder: Path, files: dict[str, bytes], name: str, damage: Damage) -> list[bytes] | None:
    """Return the records read from the continued journal; None for a refused one, which stays as it was."""
    refill(folder, {**files, name: damage.content})
    try:
        found = records_of(folder)
    except JournalCorrupt:
        assert bytes_of(folder) == {**files, name: damage.content}
        return None
    async with journalling(folder, disk=UNSYNCED) as journal:
        await append_all(journal, [b"after"])
    assert records_of(folder) == [*found, b"after"]
    tail = tail_of(folder)
    assert (tail.torn, tail.closed) == (False, True)
    return found


def refill(folder: Path, files: dict[str, bytes]) -> None:
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        path.touch()
        overwrite(path, content)


def frames_of(segment: bytes) -> list[int]:
    """Return the offset of each frame, and the end of the segment."""
    return [at for at in range(len(segment)) if segment.startswith(FRAME_MAGIC, at)] + [len(segment)]


def left_by_cut(segment: bytes, length: int) -> list[bytes] | None:
    """Return the records that a cut of the newest segment leaves: those of the frames before it."""
    if length < HEADER_BYTES:
        return None
    whole = sum(end <= length for end in frames_of(segment)[1:])
    return RECORDS[:1] + [record for batch in BATCHES[-1][:whole] for record in batch]


@pytest.mark.parametrize("name", NAMES)
def test_no_flipped_bit_of_a_journal_closed_cleanly_loses_a_record(tmp_path: Path, name: str) -> None:
    files = journal_of(tmp_path, crash=False)
    *_, last_frame, _ = frames_of(files[name])
    for index, found in outcomes(tmp_path, files, name, every_flip):
        assert found == (RECORDS if name == NEWEST and index >= last_frame else None)


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_of_a_journal_that_was_killed_takes_the_frame_alone_for_which_nothing_vouches(
    tmp_path: Path, name: str
) -> None:
    files = journal_of(tmp_path, crash=True)
    *_, last_frame, _ = frames_of(files[name])
    for index, found in outcomes(tmp_path, files, name, every_flip):
        assert found == (RECORDS[:-1] if name == NEWEST and index >= last_frame else None)


def test_a_flipped_bit_takes_no_more_than_what_was_written_since_the_last_sync(tmp_path: Path) -> None:
    files = journal_of(tmp_path, INTERVAL, crash=True)
    _, second, _ = frames_of(files[NEWEST])
    for index, found in outcomes(tmp_path, files, NEWEST, every_flip):
        if index < HEADER_BYTES:
            assert found is None
        else:
            assert found == RECORDS[: 1 if index < second else 2]


@pytest.mark.parametrize("crash", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("name", NAMES)
def test_a_cut_takes_the_frames_behind_it_of_the_newest_segment_alone(
    tmp_path: Path, name: str, crash: bool
) -> None:
    """Nothing tells them from frames that were never written; a snapshot does, when it is newer."""
    files = journal_of(tmp_path, crash=crash)
    for length, found in outcomes(tmp_path, files, name, every_cut):
        assert found == (left_by_cut(files[name], length) if name == NEWEST else None)


@pytest.mark.parametrize("damages", [every_cut, every_flip])
@pytest.mark.parametrize("name", NAMES)
def test_a_journal_that_was_killed_before_its_new_segment_counted_loses_nothing(
    tmp_path: Path, name: str, damages: Damages
) -> None:
    """The new segment tells what the one before held when it was begun."""
    write_segment(tmp_path, 2, write_segment(tmp_path, 1, 0, BATCHES[0]), [])
    files = bytes_of(tmp_path)
    assert records_of(tmp_path) == RECORDS[:1]
    assert all(found is None for _, found in outcomes(tmp_path, files, name, damages))
