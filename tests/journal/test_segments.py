"""Reading a journal back: what a crash can leave is read, what it cannot is refused, with its place."""

from pathlib import Path

import pytest

from journal.frames import FRAME_MAGIC, HEADER_BYTES, FrameKind, decode_header, encode_frame
from journal.segments import (
    EMPTY,
    JournalCorrupt,
    JournalReader,
    Tail,
    delete_behind,
    list_segments,
    segment_path,
    set_torn_aside,
)
from storage.sealing import Keyring, new_key
from tests.support.folder_bytes import bytes_of, flips, overwrite
from tests.support.journals import on, records_of, set_aside, tail_of, write_segment
from tests.support.watched_disk import WatchedDisk

# Three segments: positions 1 to 3, 4 to 5, and 6 to 8 with the last frame of a clean stop.
SEGMENTS: list[list[list[bytes]]] = [[[b"1"], [b"2", b"3"]], [[b"4", b"5"]], [[b"6", b"7"], [b"8"], []]]
FIRSTS = [1, 4, 6]
RECORDS = [record for batches in SEGMENTS for batch in batches for record in batch]


def write_journal(folder: Path) -> list[Path]:
    seed, paths = 0, []
    for first, batches in zip(FIRSTS, SEGMENTS, strict=True):
        seed = write_segment(folder, first, seed, batches, continued=first != FIRSTS[-1])
        paths.append(segment_path(folder, first))
    return paths


def refusal(folder: Path, after: int = 0) -> str:
    """Why the journal cannot be read; nothing in the folder may have been touched."""
    before = bytes_of(folder)
    with pytest.raises(JournalCorrupt) as raised:
        records_of(folder, after)
    assert bytes_of(folder) == before
    return str(raised.value)


def test_an_empty_folder_is_an_empty_journal(tmp_path: Path) -> None:
    assert records_of(tmp_path) == []
    assert tail_of(tmp_path) == EMPTY


@pytest.mark.parametrize("after", range(len(RECORDS) + 1))
def test_the_records_behind_any_position_are_read_in_order(tmp_path: Path, after: int) -> None:
    write_journal(tmp_path)
    numbered = list(JournalReader(on(tmp_path)).records(after))
    assert numbered == list(enumerate(RECORDS, 1))[after:]


def test_the_tail_tells_where_the_journal_ends(tmp_path: Path) -> None:
    *_, last = write_journal(tmp_path)
    tail = tail_of(tmp_path)
    assert (tail.head, tail.segment, tail.end) == (8, last, last.stat().st_size)
    assert (tail.torn, tail.closed) == (False, True)


def test_a_journal_without_a_last_frame_was_not_closed(tmp_path: Path) -> None:
    write_segment(tmp_path, 1, 0, SEGMENTS[0])
    tail = tail_of(tmp_path)
    assert (tail.torn, tail.closed) == (False, False)


@pytest.mark.parametrize(
    "name",
    ["journal-1", "journal-00000000000000000009.torn", "journal-" + "٠" * 20, "snapshot-" + "0" * 20, "lock"],
)
def test_other_files_are_no_segments(tmp_path: Path, name: str) -> None:
    paths = write_journal(tmp_path)
    (tmp_path / name).write_bytes(b"something else")
    assert list_segments(tmp_path) == list(zip(FIRSTS, paths, strict=True))
    assert records_of(tmp_path) == RECORDS


def test_segments_that_hold_nothing_newer_are_not_even_opened(tmp_path: Path) -> None:
    first, *_ = write_journal(tmp_path)
    first.write_bytes(b"damaged")
    assert records_of(tmp_path, after=3) == RECORDS[3:]


def test_a_missing_beginning_is_corruption(tmp_path: Path) -> None:
    first, second, _ = write_journal(tmp_path)
    first.unlink()
    assert refusal(tmp_path) == (
        f"{second}: records from position 1 on are missing (at byte 0); restore the data folder from a backup"
    )


def test_a_missing_middle_is_corruption(tmp_path: Path) -> None:
    _, second, third = write_journal(tmp_path)
    second.unlink()
    assert f"{third}: the segment does not continue the one before it (at byte 0)" in refusal(tmp_path)


def test_a_missing_end_is_corruption(tmp_path: Path) -> None:
    *_, third = write_journal(tmp_path)
    assert f"{third}: records up to position 9 are missing" in refusal(tmp_path, after=9)


def test_a_segment_under_another_name_is_corruption(tmp_path: Path) -> None:
    *_, third = write_journal(tmp_path)
    renamed = third.rename(segment_path(tmp_path, 7))
    assert f"{renamed}: the segment does not continue the one before it" in refusal(tmp_path)


def test_a_segment_of_another_journal_is_corruption(tmp_path: Path) -> None:
    _, second, _ = write_journal(tmp_path)
    write_segment(tmp_path, 4, seed=1, batches=SEGMENTS[1], continued=True)
    assert f"{second}: the segment does not continue the one before it" in refusal(tmp_path)


def test_a_newest_segment_that_is_missing_is_corruption(tmp_path: Path) -> None:
    _, second, third = write_journal(tmp_path)
    third.unlink()
    end = second.stat().st_size
    assert f"{second}: the segment behind this one is missing (at byte {end})" in refusal(tmp_path)


def test_bytes_missing_before_the_last_segment_are_corruption_with_the_place_they_are_missing_from(
    tmp_path: Path,
) -> None:
    first, *_ = write_journal(tmp_path)
    content = first.read_bytes()
    ends = [place for place in range(len(content)) if content.startswith(FRAME_MAGIC, place)]
    for length in range(HEADER_BYTES, len(content)):
        overwrite(first, content[:length])
        offset = max(end for end in ends if end <= length)
        assert f"{first}: the end of this segment is missing (at byte {offset})" in refusal(tmp_path)


def test_bytes_behind_the_last_frame_of_a_segment_are_those_of_a_write_that_failed(tmp_path: Path) -> None:
    """They were cut off, but a power cut came before the cut was durable."""
    first, *_ = write_journal(tmp_path)
    with first.open("ab") as file:
        file.write(b"half a frame")
    assert records_of(tmp_path) == RECORDS
    assert not tail_of(tmp_path).torn


def test_a_segment_that_holds_no_frame_counts_once_the_one_before_says_so(tmp_path: Path) -> None:
    seed = write_segment(tmp_path, 1, 0, SEGMENTS[0], continued=True)
    write_segment(tmp_path, 4, seed, [])
    tail = tail_of(tmp_path)
    assert (tail.head, tail.crc, tail.segment) == (3, seed, segment_path(tmp_path, 4))
    assert (tail.end, tail.torn, tail.closed) == (HEADER_BYTES, False, False)


def uncounted(folder: Path) -> tuple[Tail, Path]:
    """(where the journal ended, the segment that was to continue it when the process was cut off)."""
    seed = write_segment(folder, 1, 0, SEGMENTS[0])
    tail = tail_of(folder)
    write_segment(folder, 4, seed, [])
    return tail, segment_path(folder, 4)


@pytest.mark.parametrize("after", range(4))
def test_a_segment_that_does_not_count_yet_goes_and_the_journal_ends_before_it(
    tmp_path: Path, after: int
) -> None:
    """Also for a reader who, as after a snapshot, needs nothing that is there."""
    before, created = uncounted(tmp_path)

    reader = JournalReader(on(tmp_path))

    assert [record for _, record in reader.records(after)] == RECORDS[after:3]
    assert reader.tail == before._replace(torn=True, seal=reader.tail.seal)
    assert before.segment is not None
    set_torn_aside(on(tmp_path), before.segment, before.end)
    assert not created.exists()
    assert set_aside(tmp_path) == []
    assert not tail_of(tmp_path).torn


def test_the_frame_that_was_to_make_a_segment_count_may_be_torn_anywhere(tmp_path: Path) -> None:
    before, _ = uncounted(tmp_path)
    path = segment_path(tmp_path, 1)
    whole = path.read_bytes()
    write_segment(tmp_path, 4, write_segment(tmp_path, 1, 0, SEGMENTS[0], continued=True), [])
    continued = path.read_bytes()
    for length in range(len(whole), len(continued)):
        overwrite(path, continued[:length])
        tail = tail_of(tmp_path)
        assert (tail.head, tail.end, tail.torn) == (3, before.end, True)


def test_a_segment_that_does_not_count_yet_tells_when_the_one_before_has_lost_its_end(tmp_path: Path) -> None:
    """Nothing was begun behind a segment that was not durable."""
    _, created = uncounted(tmp_path)
    path = segment_path(tmp_path, 1)
    content = path.read_bytes()
    for length in range(HEADER_BYTES, len(content)):
        overwrite(path, content[:length])
        assert f"{created}: the segment does not continue the one before it" in refusal(tmp_path)


def test_no_segment_has_half_a_header(tmp_path: Path) -> None:
    """It gets its name when the header is durable."""
    _, created = uncounted(tmp_path)
    header = created.read_bytes()
    for length in range(HEADER_BYTES):
        overwrite(created, header[:length])
        assert str(created) in refusal(tmp_path)


def test_frames_that_a_segment_holds_are_not_passed_over_though_the_one_before_does_not_tell_of_it(
    tmp_path: Path,
) -> None:
    seed = write_segment(tmp_path, 1, 0, SEGMENTS[0])
    write_segment(tmp_path, 4, seed, SEGMENTS[1])
    assert "the end of this segment is missing" in refusal(tmp_path)


def test_bytes_that_a_later_frame_vouches_for_are_not_torn_even_where_no_record_is_lost(
    tmp_path: Path,
) -> None:
    """A frame that vouches is synced before the next is written, so it was durable."""
    write_segment(tmp_path, 1, 0, [[b"1"], [], [b"2"]])
    path = segment_path(tmp_path, 1)
    content = path.read_bytes()
    _, vouching, last = [place for place in range(len(content)) if content.startswith(FRAME_MAGIC, place)]
    for index, flipped in flips(content[:last]):
        if index >= vouching:
            overwrite(path, flipped + content[last:])
            assert f"(at byte {vouching})" in refusal(tmp_path)


def test_bytes_with_a_right_checksum_are_no_torn_write(tmp_path: Path) -> None:
    """Sealed with another key: a crash leaves no such frame, not even as the last."""
    write_segment(tmp_path, 1, 0, [[b"1"]])
    path = segment_path(tmp_path, 1)
    keys = Keyring([new_key()])
    other = keys.seal_of(path, keys.newest, decode_header(path.read_bytes()).salt)
    crc = tail_of(tmp_path).crc
    frame, _ = encode_frame(FrameKind.RECORDS, 2, [b"2"], path.stat().st_size, crc, other)
    with path.open("ab") as file:
        file.write(frame)
    assert "does not open with its key" in refusal(tmp_path)


def test_a_torn_write_is_kept_beside_the_segment_it_is_cut_from(tmp_path: Path) -> None:
    *_, last = write_journal(tmp_path)
    whole = last.read_bytes()
    last.write_bytes(whole + b"half a frame")

    tail = tail_of(tmp_path)
    assert (tail.torn, tail.end) == (True, len(whole))
    set_torn_aside(on(tmp_path), last, tail.end)

    assert set_aside(tmp_path) == [b"half a frame"]
    assert records_of(tmp_path) == RECORDS


def test_a_torn_write_for_which_there_is_no_space_is_not_half_kept(tmp_path: Path, disk: WatchedDisk) -> None:
    *_, last = write_journal(tmp_path)
    end = last.stat().st_size
    with last.open("ab") as file:
        file.write(b"half a frame")
    before = bytes_of(tmp_path)
    disk.fill_up(after_bytes=3)
    with pytest.raises(OSError, match="No space left"):
        set_torn_aside(on(tmp_path), last, end)
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize(
    ("position", "left"), [(0, [1, 4, 6]), (2, [1, 4, 6]), (3, [4, 6]), (4, [4, 6]), (5, [6]), (99, [6])]
)
def test_segments_behind_a_position_are_deleted_but_never_the_newest(
    tmp_path: Path, position: int, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_journal(tmp_path)
    disk = WatchedDisk(monkeypatch)

    delete_behind(on(tmp_path), position)

    assert [first for first, _ in list_segments(tmp_path)] == left
    assert records_of(tmp_path, after=min(position, 8)) == RECORDS[position:]
    assert disk.synced == [tmp_path.name]


def test_no_segment_is_deleted_before_the_one_behind_it_counts(tmp_path: Path) -> None:
    """Its name may not be durable yet, and a snapshot without any journal cannot be told from a loss."""
    _, created = uncounted(tmp_path)
    delete_behind(on(tmp_path), 3)
    assert [path for _, path in list_segments(tmp_path)] == [segment_path(tmp_path, 1), created]
