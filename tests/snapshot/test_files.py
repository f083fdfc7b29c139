"""A snapshot file: all of it is read, or none, and nothing of it without its key."""

import re
import struct
import subprocess
import sys
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.actors import user_actor
from core.rows import Delivery, FleetRow, Listing, OwnerMessage, Reviewed, Suspension, Webhook
from core.vote_table import counted_in
from snapshot.files import (
    HEADER_BYTES,
    MAGIC,
    Chunk,
    CooldownsChunk,
    CountsChunk,
    DeliveriesChunk,
    EndChunk,
    FleetChunk,
    LeavesChunk,
    ListingsChunk,
    PartsChunk,
    RecordsChunk,
    SnapshotCorrupt,
    SnapshotEncoder,
    SnapshotReader,
    list_snapshots,
    packed,
    snapshot_path,
)
from storage.sealing import KeyMissing, Keyring, new_key
from tests.support.examples import examples
from tests.support.folder_bytes import flips, overwrite
from tests.support.gateways import ROOT
from tests.support.generated_rows import DELIVERIES, LISTINGS, MS, REFS
from tests.support.journals import KEYS
from tests.support.sample_rows import BOT_PROFILE

LEAF = st.lists(st.binary(min_size=16, max_size=16), max_size=3).map(b"".join)
USERS = st.integers(0, (1 << 64) - 1)
COUNTS = st.integers(0, 65_535)
LABELS = st.text(max_size=8)
FLEETS = st.builds(
    FleetRow,
    LABELS,
    st.lists(LABELS, unique=True, max_size=3).map(tuple),
    st.dictionaries(LABELS, MS, max_size=3),
    st.dictionaries(REFS, MS),
    st.dictionaries(LABELS, MS, max_size=3),
    MS,
    st.booleans(),
)
ROWS = st.one_of(
    st.lists(LISTINGS, max_size=3).map(ListingsChunk),
    st.lists(DELIVERIES, max_size=3).map(DeliveriesChunk),
    st.lists(st.tuples(REFS, LEAF), max_size=3).map(LeavesChunk),
    st.lists(st.tuples(REFS, st.lists(st.binary(max_size=9), max_size=2)), max_size=3).map(CountsChunk),
    st.lists(st.tuples(REFS, USERS, st.dictionaries(st.integers(0, 70), COUNTS)), max_size=3).map(PartsChunk),
    st.lists(FLEETS, max_size=1).map(FleetChunk),
    st.lists(st.tuples(LABELS, MS), max_size=3).map(CooldownsChunk),
    st.lists(st.binary(max_size=9), max_size=3).map(RecordsChunk),
)
WEBHOOK = Webhook("https://example.test/votes", 5, "a-webhook-token")
VOTER = 123_456_789_012_345_678
SMALL: list[Chunk] = [
    ListingsChunk([Listing("bots/1", "2", BOT_PROFILE, 3, 4, Reviewed("approved", 4), webhook=WEBHOOK)]),
    DeliveriesChunk([Delivery("a", "bots/1", str(VOTER), test=False, queued_ms=5, next_attempt_ms=6)]),
    LeavesChunk([("bots/1", struct.pack("<QQ", VOTER, 7))]),
    EndChunk(3, 5),
]

READ_WITH_LITTLE_MEMORY = """
import resource, sys
from pathlib import Path
from storage.sealing import keyring_of
from snapshot.files import SnapshotReader
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
try:
    list(SnapshotReader(Path(sys.argv[1])).chunks(keyring_of(sys.argv[2])))
except Exception as error:
    print(type(error).__name__)
"""


def pieces_of(chunks: Sequence[Chunk], position: int = 5, created_ms: int = 1) -> list[bytes]:
    """The header, and the bytes of each chunk in the file."""
    encoder = SnapshotEncoder(position, created_ms, KEYS.new_seal())
    return [encoder.header, *(encoder.encode(chunk) for chunk in chunks)]


def content_of(chunks: Sequence[Chunk]) -> bytes:
    return b"".join(pieces_of(chunks))


def written(folder: Path, content: bytes) -> Path:
    path = snapshot_path(folder, 5)
    path.touch()
    overwrite(path, content)
    return path


def chunks_in(path: Path, keys: Keyring = KEYS) -> list[Chunk]:
    return list(SnapshotReader(path).chunks(keys))


def as_read(chunks: Sequence[Chunk]) -> list[Chunk]:
    return [_as_read(chunk) for chunk in chunks]


def _as_read(chunk: Chunk) -> Chunk:
    if isinstance(chunk, ListingsChunk):
        return packed(chunk.rows)
    if isinstance(chunk, LeavesChunk):
        return LeavesChunk(chunk.rows, [counted_in(leaf) for _, leaf in chunk.rows])
    return chunk


def refusal(path: Path) -> str:
    with pytest.raises(SnapshotCorrupt) as raised:
        chunks_in(path)
    assert str(path) in str(raised.value)
    return str(raised.value)


@examples(50)
@given(st.integers(0, 1 << 40), MS, st.lists(ROWS, max_size=4), st.integers(0, 1 << 40))
def test_chunks_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory,
    position: int,
    created_ms: int,
    rows: list[
        ListingsChunk
        | DeliveriesChunk
        | LeavesChunk
        | CountsChunk
        | PartsChunk
        | FleetChunk
        | CooldownsChunk
        | RecordsChunk
    ],
    durable: int,
) -> None:
    chunks: list[Chunk] = [*rows, EndChunk(sum(len(chunk.rows) for chunk in rows), durable)]
    content = b"".join(pieces_of(chunks, position, created_ms))
    path = written(tmp_path_factory.mktemp("snapshot"), content)
    reader = SnapshotReader(path)
    assert (reader.header.position, reader.header.created_ms) == (position, created_ms)
    assert list(reader.chunks(KEYS)) == as_read(chunks)
    assert reader.read_bytes == reader.size == len(content)


def test_no_cut_is_read_over(tmp_path: Path) -> None:
    content = content_of(SMALL)
    for length in range(len(content)):
        refusal(written(tmp_path, content[:length]))


def test_no_flipped_bit_is_read_over(tmp_path: Path) -> None:
    for _, flipped in flips(content_of(SMALL)):
        refusal(written(tmp_path, flipped))


def test_a_file_of_another_kind_is_told_from_one_of_another_version(tmp_path: Path) -> None:
    assert "is not a snapshot" in refusal(written(tmp_path, b"something else entirely"))
    later = MAGIC[:-1] + b"\x7f" + content_of(SMALL)[len(MAGIC) :]
    assert "is a snapshot of another version of Votegate" in refusal(written(tmp_path, later))


def test_bytes_behind_the_end_are_refused(tmp_path: Path) -> None:
    content = content_of(SMALL)
    assert "is cut off or damaged" in refusal(written(tmp_path, content + b"\x00"))
    refusal(written(tmp_path, content + content[HEADER_BYTES:]))


def test_a_chunk_behind_the_end_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, content_of([*SMALL, EndChunk(3, 5)]))
    assert "does not end where it should" in refusal(path)


def test_a_file_put_together_from_two_is_refused(tmp_path: Path) -> None:
    one, other = pieces_of(SMALL), pieces_of(SMALL)
    for index in range(len(one)):
        refusal(written(tmp_path, b"".join([*one[:index], other[index], *one[index + 1 :]])))


@pytest.mark.parametrize("index", range(1, len(SMALL)))
def test_a_chunk_that_was_dropped_doubled_or_swapped_is_noticed(tmp_path: Path, index: int) -> None:
    pieces = pieces_of(SMALL)
    refusal(written(tmp_path, b"".join(pieces[:index] + pieces[index + 1 :])))
    refusal(written(tmp_path, b"".join(pieces[: index + 1] + pieces[index:])))
    pieces[index], pieces[index + 1] = pieces[index + 1], pieces[index]
    refusal(written(tmp_path, b"".join(pieces)))


def test_rows_that_do_not_add_up_are_refused(tmp_path: Path) -> None:
    assert "is incomplete" in refusal(written(tmp_path, content_of([*SMALL[:-1], EndChunk(4, 5)])))
    assert "is incomplete" in refusal(written(tmp_path, content_of(SMALL[:-1])))
    assert "is incomplete" in refusal(written(tmp_path, content_of([])))


def test_a_chunk_of_another_version_is_refused(tmp_path: Path) -> None:
    seal = KEYS.new_seal()
    header = SnapshotEncoder(5, 1, seal).header
    sealed = seal.seal(b"\x81\xa4type\xa6future", header + struct.pack("<Q", 0))
    content = header + struct.pack("<I", len(sealed)) + sealed
    assert "has content that this version does not know" in refusal(written(tmp_path, content))


def test_a_damaged_length_does_not_take_memory_for_what_is_not_there(tmp_path: Path) -> None:
    key = new_key()
    encoder = SnapshotEncoder(5, 1, Keyring([key]).new_seal())
    content = bytearray(encoder.header + b"".join(encoder.encode(chunk) for chunk in SMALL))
    content[HEADER_BYTES + 3] = 0xFF
    path = written(tmp_path, bytes(content))

    command = [sys.executable, "-c", READ_WITH_LITTLE_MEMORY, str(path), urlsafe_b64encode(key).decode()]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert child.stdout.strip() == "SnapshotCorrupt"


def test_a_file_sealed_with_a_key_that_is_not_there_says_which(tmp_path: Path) -> None:
    path = written(tmp_path, content_of(SMALL))
    with pytest.raises(KeyMissing) as raised:
        chunks_in(path, Keyring([new_key()]))
    assert str(path) in str(raised.value)
    assert KEYS.newest.hex() in str(raised.value)


def test_a_file_is_read_with_any_key_of_the_ring(tmp_path: Path) -> None:
    path = written(tmp_path, content_of(SMALL))
    assert chunks_in(path, KEYS.with_newest(new_key())) == as_read(SMALL)


def test_nothing_in_a_file_can_be_read(tmp_path: Path) -> None:
    content = written(tmp_path, content_of(SMALL)).read_bytes()
    numbers = (struct.pack("<Q", VOTER), struct.pack(">Q", VOTER))
    texts = (str(VOTER), BOT_PROFILE.name, WEBHOOK.url, WEBHOOK.token or "", "approved", "bots/1")
    for needle in (*numbers, *(text.encode() for text in texts)):
        assert needle
        assert needle not in content


def test_snapshots_are_listed_by_position_without_unfinished_ones(tmp_path: Path) -> None:
    paths = [snapshot_path(tmp_path, position) for position in (10, 9, 100)]
    names = ["snapshot-1", "snapshot-00000000000000000007.tmp", "snapshot-" + "٠" * 20, "journal-" + "0" * 20]
    for path in [*paths, *(tmp_path / name for name in names)]:
        path.write_bytes(b"")
    assert list_snapshots(tmp_path) == [(9, paths[1]), (10, paths[0]), (100, paths[2])]
    assert all(re.fullmatch(r"snapshot-\d{20}", path.name) for path in paths)


def test_a_start_is_told_which_listings_the_senders_ask_for() -> None:
    bare = Listing("bots/1", "1", BOT_PROFILE, 0, 0, Reviewed("approved", 0))
    suspended = Webhook("http://127.0.0.1/", 0, suspension=Suspension(0, "timeout", 1, 0))
    untold = OwnerMessage(user_actor("1"), "approved", None, 0, 0)
    rows = [
        bare,
        replace(bare, ref="bots/2", webhook=suspended),
        replace(bare, ref="bots/3", message=untold),
        replace(bare, ref="bots/4", message=replace(untold, next_attempt_ms=None)),
    ]
    assert packed(rows).at_once == ["bots/2", "bots/3"]
