"""Reading a journal back: what a crash can leave is read, what it cannot is refused, with its place."""

import re
from pathlib import Path

import pytest

from journal.frames import FRAME_MAGIC, HEADER_BYTES
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
from tests.unit_io.disk import Disk, bytes_of, flips, overwrite, records_of, set_aside, tail_of, write_segment

# Three segments: positions 1 to 3, 4 to 5, and 6 to 8 with a last frame that vouches for the others.
SEGMENTS: list[list[list[bytes]]] = [[[b"1"], [b"2", b"3"]], [[b"4", b"5"]], [[b"6", b"7"], [b"8"], []]]
FIRSTS = [1, 4, 6]
RECORDS = [record for batches in SEGMENTS for batch in batches for record in batch]


def write_journal(folder: Path) -> list[Path]:
    seed, paths = 0, []
    for first, batches in zip(FIRSTS, SEGMENTS, strict=True):
        seed = write_segment(folder, first, seed, batches)
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
    numbered = list(JournalReader(tmp_path).records(after))
    assert numbered == list(enumerate(RECORDS, 1))[after:]


def test_the_tail_tells_where_the_journal_ends(tmp_path: Path) -> None:
    *_, last = write_journal(tmp_path)
    tail = tail_of(tmp_path)
    assert (tail.head, tail.segment, tail.end, tail.torn) == (8, last, last.stat().st_size, False)


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
    write_segment(tmp_path, 4, seed=1, batches=SEGMENTS[1])
    assert f"{second}: the segment does not continue the one before it" in refusal(tmp_path)


def test_bytes_missing_before_the_last_segment_are_corruption_though_no_frame_follows(tmp_path: Path) -> None:
    first, *_ = write_journal(tmp_path)
    content = first.read_bytes()
    first.write_bytes(content[:-1])
    offset = int(re.findall(r"incomplete \(at byte (\d+)\)", refusal(tmp_path))[0])
    assert content[offset : offset + 4] == FRAME_MAGIC


def test_no_flipped_bit_of_a_journal_closed_cleanly_loses_a_record(tmp_path: Path) -> None:
    *_, last = write_journal(tmp_path)
    content = last.read_bytes()
    last_frame = content.rindex(FRAME_MAGIC)
    for index, flipped in flips(content):
        overwrite(last, flipped)
        if index < last_frame:
            assert str(last) in refusal(tmp_path)
        else:
            assert records_of(tmp_path) == RECORDS
            assert tail_of(tmp_path).torn


@pytest.mark.parametrize("segment", [0, 1])
def test_no_flipped_bit_before_the_last_segment_is_read_over(tmp_path: Path, segment: int) -> None:
    path = write_journal(tmp_path)[segment]
    for _, flipped in flips(path.read_bytes()):
        overwrite(path, flipped)
        assert refusal(tmp_path)


@pytest.mark.parametrize("length", range(HEADER_BYTES))
def test_a_segment_that_was_being_created_is_torn_and_the_journal_ends_before_it(
    tmp_path: Path, length: int
) -> None:
    write_segment(tmp_path, 1, 0, SEGMENTS[0])
    before = tail_of(tmp_path)
    created = segment_path(tmp_path, 4)
    created.write_bytes(b"\x00" * length)

    tail = tail_of(tmp_path)
    assert tail == before._replace(torn=True)

    set_torn_aside(tmp_path, tail)
    assert not created.exists()
    assert set_aside(tmp_path) == [b"\x00" * length]
    assert tail_of(tmp_path) == before


def test_the_first_segment_of_all_may_have_been_being_created(tmp_path: Path) -> None:
    path = segment_path(tmp_path, 1)
    path.write_bytes(b"VGJ")

    tail = tail_of(tmp_path)
    assert tail == Tail(head=0, crc=0, segment=None, end=0, torn=True)

    set_torn_aside(tmp_path, tail)
    assert list_segments(tmp_path) == []


def test_the_tail_continues_the_journal_also_for_a_reader_who_skips_all_of_it(tmp_path: Path) -> None:
    """As after a snapshot, when the segment behind its position was being created."""
    write_segment(tmp_path, 1, 0, SEGMENTS[0])
    expected = tail_of(tmp_path)
    segment_path(tmp_path, 4).write_bytes(b"VGJ")

    reader = JournalReader(tmp_path)

    assert list(reader.records(after=3)) == []
    assert (reader.tail.head, reader.tail.crc) == (3, expected.crc)


def test_a_torn_write_is_kept_beside_the_segment_it_is_cut_from(tmp_path: Path) -> None:
    *_, last = write_journal(tmp_path)
    whole = last.read_bytes()
    last.write_bytes(whole + b"half a frame")

    set_torn_aside(tmp_path, tail_of(tmp_path))

    assert last.read_bytes() == whole
    assert set_aside(tmp_path) == [b"half a frame"]
    assert not tail_of(tmp_path).torn


@pytest.mark.parametrize(
    ("position", "left"), [(0, [1, 4, 6]), (2, [1, 4, 6]), (3, [4, 6]), (4, [4, 6]), (5, [6]), (99, [6])]
)
def test_segments_behind_a_position_are_deleted_but_never_the_newest(
    tmp_path: Path, position: int, left: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_journal(tmp_path)
    disk = Disk(monkeypatch)

    delete_behind(tmp_path, position)

    assert [first for first, _ in list_segments(tmp_path)] == left
    assert records_of(tmp_path, after=min(position, 8)) == RECORDS[position:]
    assert disk.synced == [tmp_path.name]
