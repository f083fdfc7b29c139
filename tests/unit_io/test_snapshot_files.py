"""A snapshot file: all of it is read, or none."""

import io
import re
import struct
import subprocess
import sys
import zlib
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.rows import Delivery, Listing
from snapshot.files import (
    MAGIC,
    Chunk,
    Deliveries,
    End,
    Header,
    Listings,
    SnapshotCorrupt,
    SnapshotFile,
    VoteColumns,
    list_snapshots,
    read_chunks,
    snapshot_path,
)
from tests.gateway import ROOT
from tests.unit.generated import examples
from tests.unit_io.disk import flips, overwrite
from tests.unit_io.rows import DELIVERIES, LISTINGS, MS, PROFILE, REFS

COLUMN = st.lists(st.binary(min_size=8, max_size=8), max_size=3).map(b"".join)
ROWS = st.one_of(
    st.lists(LISTINGS, max_size=3).map(Listings),
    st.lists(DELIVERIES, max_size=3).map(Deliveries),
    st.lists(st.tuples(REFS, COLUMN, COLUMN), max_size=3).map(VoteColumns),
)
SMALL: list[Chunk] = [
    Header(5, 1),
    Listings([Listing("bots/1", "2", PROFILE, "approved", 3, 4)]),
    Deliveries([Delivery("a", "bots/1", "3", test=False, queued_ms=5, next_attempt_ms=6)]),
    VoteColumns([("bots/1", bytes(8), bytes(8))]),
    End(3),
]

READ_WITH_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from snapshot.files import read_chunks
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    list(read_chunks(Path(sys.argv[1])))
except Exception as error:
    print(type(error).__name__)
"""


def content_of(chunks: list[Chunk]) -> bytes:
    buffer = io.BytesIO()
    file = SnapshotFile(buffer)
    for chunk in chunks:
        file.write(chunk)
    return buffer.getvalue()


def written(folder: Path, content: bytes) -> Path:
    path = snapshot_path(folder, 5)
    path.touch()
    overwrite(path, content)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SnapshotCorrupt) as raised:
        list(read_chunks(path))
    assert str(path) in str(raised.value)
    return str(raised.value)


@examples(50)
@given(st.integers(0, 1 << 40), MS, st.lists(ROWS, max_size=4))
def test_chunks_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    position: int,
    created_ms: int,
    rows: list[Listings | Deliveries | VoteColumns],
) -> None:
    chunks: list[Chunk] = [Header(position, created_ms), *rows, End(sum(len(chunk.rows) for chunk in rows))]
    path = written(tmp_path_factory.mktemp("snapshot"), content_of(chunks))
    assert list(read_chunks(path)) == chunks


def test_no_cut_is_read_over(tmp_path: Path) -> None:
    content = content_of(SMALL)
    for length in range(len(content)):
        refusal(written(tmp_path, content[:length]))


def test_no_flipped_bit_is_read_over(tmp_path: Path) -> None:
    for _, flipped in flips(content_of(SMALL)):
        refusal(written(tmp_path, flipped))


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert "is not a snapshot of this version" in refusal(written(tmp_path, b"something else entirely"))


def test_bytes_behind_the_end_are_refused(tmp_path: Path) -> None:
    content = content_of(SMALL)
    assert "does not end where it should" in refusal(written(tmp_path, content + b"\x00"))
    assert "does not end where it should" in refusal(written(tmp_path, content + content[len(MAGIC) :]))


def test_a_file_put_together_from_two_is_refused(tmp_path: Path) -> None:
    one = content_of(SMALL)
    other = content_of([Header(6, 1), *SMALL[1:]])
    assert len(one) == len(other)
    for cut in range(len(MAGIC) + 10, len(one) - 1):
        if one[cut:] != other[cut:]:
            refusal(written(tmp_path, one[:cut] + other[cut:]))


def chunk_bytes() -> list[bytes]:
    """The chunks of SMALL as they stand in the file."""
    ends = [len(content_of(SMALL[:count])) for count in range(len(SMALL) + 1)]
    return [content_of(SMALL)[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize("index", range(len(SMALL) - 1))
def test_a_chunk_that_was_dropped_or_doubled_is_noticed(tmp_path: Path, index: int) -> None:
    chunks = chunk_bytes()
    refusal(written(tmp_path, MAGIC + b"".join(chunks[:index] + chunks[index + 1 :])))
    refusal(written(tmp_path, MAGIC + b"".join(chunks[: index + 1] + chunks[index:])))


def test_rows_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    assert "is incomplete" in refusal(written(tmp_path, content_of([*SMALL[:-1], End(4)])))
    assert "is incomplete" in refusal(written(tmp_path, content_of(SMALL[:-1])))
    assert "is incomplete" in refusal(written(tmp_path, MAGIC))


def test_a_chunk_of_another_version_is_refused(tmp_path: Path) -> None:
    payload = b"\x81\xa4type\xa6future"
    content = MAGIC + struct.pack("<II", len(payload), zlib.crc32(payload)) + payload
    assert "holds what this version does not know" in refusal(written(tmp_path, content))


def test_a_damaged_length_does_not_take_memory_for_what_is_not_there(tmp_path: Path) -> None:
    content = bytearray(content_of(SMALL))
    content[len(MAGIC) + 3] = 0xFF
    path = written(tmp_path, bytes(content))

    command = [sys.executable, "-c", READ_WITH_LITTLE_MEMORY, str(path)]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert child.stdout.strip() == "SnapshotCorrupt"


def test_snapshots_are_listed_by_position_without_unfinished_ones(tmp_path: Path) -> None:
    paths = [snapshot_path(tmp_path, position) for position in (10, 9, 100)]
    names = ["snapshot-1", "snapshot-00000000000000000007.tmp", "snapshot-" + "٠" * 20, "journal-" + "0" * 20]
    for path in [*paths, *(tmp_path / name for name in names)]:
        path.write_bytes(b"")
    assert list_snapshots(tmp_path) == [(9, paths[1]), (10, paths[0]), (100, paths[2])]
    assert all(re.fullmatch(r"snapshot-\d{20}", path.name) for path in paths)
