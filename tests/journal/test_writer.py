"""Writing frames: whichever call fails, what is on disk can be built on, or nothing is."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from journal.frames import HEADER_BYTES, FrameKind
from journal.journal import SegmentWriter, SyncFailed
from journal.segments import EMPTY, JournalReader, list_segments, segment_path, set_torn_aside
from storage.disk import Disk
from tests.support.folder_bytes import bytes_of
from tests.support.journals import frames_in, on, records_of, tail_of

T = TypeVar("T")


class FullOnce(Disk):
    """There is no space at one of the calls, half way through if it is a write."""

    def __init__(self) -> None:
        self.calls_left: int | None = None

    def _is_now(self) -> bool:
        if self.calls_left is not None:
            self.calls_left -= 1
        return self.calls_left == -1

    def _call(self, call: Callable[[], T]) -> T:
        if self._is_now():
            raise OSError(errno.ENOSPC, "No space left on device")
        return call()

    def create(self, path: Path) -> int:
        return self._call(lambda: super(FullOnce, self).create(path))

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        if self._is_now():
            super().write(file, content[: len(content) // 2], offset)
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(file, content, offset)

    def sync(self, file: int) -> None:
        self._call(lambda: super(FullOnce, self).sync(file))

    def rename(self, path: Path, to: Path) -> None:
        self._call(lambda: super(FullOnce, self).rename(path, to))

    def sync_folder(self, folder: Path) -> None:
        self._call(lambda: super(FullOnce, self).sync_folder(folder))


CALLS_OF_A_ROTATION = 9
"""Create, write, sync and rename a segment, sync its name; write and sync the last frame of the one before;
write and sync the first frame."""
SYNCS = {2, 4, 6, 8}


def write(writer: SegmentWriter, *records: bytes) -> None:
    writer.write(FrameKind.RECORDS, records)
    writer.sync()


@pytest.mark.parametrize("failing", range(CALLS_OF_A_ROTATION + 1))
def test_a_rotation_that_fails_anywhere_is_begun_again_or_ends_everything(
    tmp_path: Path, failing: int
) -> None:
    disk = FullOnce()
    writer = SegmentWriter(on(tmp_path, disk=disk), EMPTY, 1 << 20)
    write(writer, b"one")
    writer.rotate()
    disk.calls_left = failing
    if failing in SYNCS:
        with pytest.raises(SyncFailed):
            write(writer, b"two")
    elif failing < CALLS_OF_A_ROTATION:
        with pytest.raises(OSError, match="No space left") as raised:
            write(writer, b"two")
        assert not isinstance(raised.value, SyncFailed)
        assert records_of(tmp_path) == [b"one"]
        write(writer, b"two")
    else:
        write(writer, b"two")
        assert disk.calls_left == 0
    writer.close()

    found = records_of(tmp_path)
    assert found == [b"one", b"two"] or (failing in SYNCS and found == [b"one"])
    assert [path.name for path in tmp_path.glob("*.tmp")] == []


@pytest.mark.parametrize("failing", range(CALLS_OF_A_ROTATION))
def test_a_restart_goes_on_wherever_a_rotation_failed(tmp_path: Path, failing: int) -> None:
    disk = FullOnce()
    writer = SegmentWriter(on(tmp_path, disk=disk), EMPTY, 1 << 20)
    write(writer, b"one")
    writer.rotate()
    disk.calls_left = failing
    with pytest.raises(OSError, match="No space left"):
        write(writer, b"two")
    writer.close()

    found, tail = records_of(tmp_path), tail_of(tmp_path)
    if tail.torn:
        assert tail.segment is not None
        set_torn_aside(on(tmp_path), tail.segment, tail.end)
    again = SegmentWriter(on(tmp_path), tail, 1 << 20)
    write(again, b"three")
    again.close()

    assert records_of(tmp_path) == [*found, b"three"]
    assert not tail_of(tmp_path).torn


def test_a_segment_tells_in_its_last_frame_that_it_is_continued(tmp_path: Path) -> None:
    writer = SegmentWriter(on(tmp_path), EMPTY, HEADER_BYTES + 1)
    write(writer, b"one")
    write(writer, b"two")
    writer.close()
    assert frames_in(segment_path(tmp_path, 1)) == [[b"one"], []]
    assert frames_in(segment_path(tmp_path, 2)) == [[b"two"]]


def test_a_frame_vouches_for_what_was_durable_when_it_was_written(tmp_path: Path) -> None:
    writer = SegmentWriter(on(tmp_path), EMPTY, 1 << 20)
    assert (writer.written_position, writer.synced_position, writer.vouched_position) == (0, 0, 0)
    writer.write(FrameKind.RECORDS, [b"one", b"two"])
    assert (writer.written_position, writer.synced_position, writer.vouched_position) == (2, 0, 0)
    writer.sync()
    assert (writer.written_position, writer.synced_position, writer.vouched_position) == (2, 2, 0)
    writer.write(FrameKind.IDLE, [])
    assert (writer.written_position, writer.synced_position, writer.vouched_position) == (2, 2, 2)
    writer.close()


def test_a_live_journal_is_read_up_to_a_position_while_it_is_written(tmp_path: Path) -> None:
    writer = SegmentWriter(on(tmp_path), EMPTY, 1 << 20)
    write(writer, b"one")
    writer.rotate()
    write(writer, b"two")
    writer.write(FrameKind.RECORDS, [b"three"])
    with segment_path(tmp_path, 2).open("ab") as file:
        file.write(b"half a frame")
    before = bytes_of(tmp_path)
    for until in range(4):
        reader = JournalReader(on(tmp_path))
        assert [position for position, _ in reader.records(0, until)] == list(range(1, until + 1))
    assert bytes_of(tmp_path) == before
    assert len(list_segments(tmp_path)) == 2
    writer.close()


class Asked(Disk):
    """Somebody asks for the next segment while one is being named."""

    def __init__(self) -> None:
        self.at_rename: Callable[[], None] = lambda: None

    def rename(self, path: Path, to: Path) -> None:
        super().rename(path, to)
        self.at_rename()


def test_a_segment_asked_for_while_another_begins_is_begun_too(tmp_path: Path) -> None:
    disk = Asked()
    writer = SegmentWriter(on(tmp_path, disk=disk), EMPTY, 1 << 20)
    write(writer, b"1")
    writer.rotate()
    disk.at_rename = writer.rotate
    write(writer, b"2")
    disk.at_rename = lambda: None
    write(writer, b"3")
    write(writer, b"4")
    writer.close()
    assert [first for first, _ in list_segments(tmp_path)] == [1, 2, 3]


class Hidden(Disk):
    """A sync fails, and so does everything that would tidy up behind it."""

    def __init__(self, fails_at: int) -> None:
        self.syncs_left = fails_at
        self.has_failed = False

    def sync(self, file: int) -> None:
        self.syncs_left -= 1
        if self.syncs_left == 0:
            self.has_failed = True
            raise OSError(errno.EIO, "Input/output error")
        super().sync(file)

    def close(self, file: int) -> None:
        super().close(file)
        if self.has_failed:
            raise OSError(errno.EDQUOT, "Disk quota exceeded")

    def unlink(self, path: Path) -> None:  # noqa: ARG002 (the port's signature)
        raise OSError(errno.EDQUOT, "Disk quota exceeded")


@pytest.mark.parametrize("sync", [1, 2], ids=["of the header", "of the frame that says it is continued"])
def test_no_trouble_with_tidying_up_hides_that_a_sync_has_failed(tmp_path: Path, sync: int) -> None:
    disk = Hidden(0)
    writer = SegmentWriter(on(tmp_path, disk=disk), EMPTY, 1 << 20)
    write(writer, b"1")
    writer.rotate()
    disk.syncs_left = sync
    with pytest.raises(SyncFailed):
        write(writer, b"2")
