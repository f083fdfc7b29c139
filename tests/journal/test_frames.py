"""The bytes of a journal: what was written is read, and nothing else passes for it."""

from itertools import accumulate
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.frames import (
    FRAME_BYTES,
    HEADER_BYTES,
    SEGMENT_MAGIC,
    BadBytes,
    FrameKind,
    decode_header,
    encode_frame,
    encode_header,
    watermarks_behind,
)
from storage.sealing import Keyring, new_key
from tests.support.examples import examples
from tests.support.folder_bytes import flips
from tests.support.framed_segments import SEAL, frames_of, read, segment_of
from tests.support.journals import KEYS

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
RECORDS = st.lists(st.binary(max_size=40).map(lambda record: record.replace(b"\n", b" ")), max_size=5)


@examples(50)
@given(U64, U32)
def test_a_header_is_read_as_it_was_written(first: int, seed: int) -> None:
    header = encode_header(first, seed, SEAL)
    assert len(header) == HEADER_BYTES
    assert decode_header(header) == (first, seed, SEAL.key_id, SEAL.salt)


def test_no_bit_of_a_header_can_flip_unseen() -> None:
    for _, flipped in flips(encode_header(7, 12_345, SEAL)):
        with pytest.raises(BadBytes) as raised:
            decode_header(flipped)
        assert raised.value.offset == 0


@pytest.mark.parametrize("length", range(HEADER_BYTES))
def test_no_header_is_read_that_was_cut(length: int) -> None:
    with pytest.raises(BadBytes, match="incomplete" if length >= len(SEGMENT_MAGIC) else None) as raised:
        decode_header(encode_header(7, 12_345, SEAL)[:length])
    assert raised.value.offset == 0


@pytest.mark.parametrize(
    ("begins_with", "reason"),
    [
        (b"something else entirely", "this is no journal segment"),
        (b"", "this is no journal segment"),
        (SEGMENT_MAGIC[:-1] + b"\x01", "written by another version of Votegate"),
    ],
)
def test_a_file_that_is_no_segment_of_this_version_is_told_from_a_damaged_one(
    begins_with: bytes, reason: str
) -> None:
    with pytest.raises(BadBytes, match=reason):
        decode_header(begins_with + bytes(HEADER_BYTES))


@examples(50)
@given(st.lists(RECORDS, max_size=5), st.integers(1, 1 << 40), U32)
def test_frames_are_read_as_they_were_written(batches: list[list[bytes]], first: int, seed: int) -> None:
    frames = frames_of(batches, first, seed)

    found, bad = read(segment_of(frames, first, seed), first, seed)

    assert bad is None
    assert [frame.records for frame in found] == batches
    firsts = list(accumulate(map(len, batches), initial=first))
    assert [frame.first for frame in found] == firsts[:-1]
    ends = list(accumulate(map(len, frames), initial=HEADER_BYTES))
    assert [frame.watermark for frame in found] == ends[:-1]
    assert [frame.end for frame in found] == ends[1:]
    assert [frame.kind for frame in found] == [
        FrameKind.RECORDS if batch else FrameKind.IDLE for batch in batches
    ]


@pytest.mark.parametrize("kind", FrameKind)
def test_a_frame_says_what_it_is_for(kind: FrameKind) -> None:
    frame, _ = encode_frame(kind, 1, [], HEADER_BYTES, 0, SEAL)
    found, _ = read(segment_of([frame]))
    assert [frame.kind for frame in found] == [kind]


def test_the_checksum_of_a_frame_seeds_the_next() -> None:
    one, crc = encode_frame(FrameKind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, SEAL)
    two, next_crc = encode_frame(FrameKind.RECORDS, 2, [b"two"], HEADER_BYTES, crc, SEAL)
    found, _ = read(segment_of([one, two]))
    assert [frame.crc for frame in found] == [crc, next_crc]


def test_a_frame_takes_what_it_says_it_takes_beside_its_records() -> None:
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"one", b"two"], HEADER_BYTES, 0, SEAL)
    assert len(frame) == FRAME_BYTES + len(b"one\ntwo\n")


def test_no_record_can_be_read_in_a_frame() -> None:
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"a record"], HEADER_BYTES, 0, SEAL)
    assert b"record" not in frame


@pytest.mark.parametrize("first", [0, 2])
def test_a_frame_at_another_position_was_written_like_this_when_its_checksum_is_right(first: int) -> None:
    frame, _ = encode_frame(FrameKind.RECORDS, first, [b"one"], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert "does not continue" in bad.reason
    assert bad.whole


def test_a_frame_with_more_records_than_it_counts_was_written_like_this() -> None:
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"one\ntwo"], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert bad.whole


def test_a_frame_sealed_with_another_key_was_written_like_this() -> None:
    """Checksums need no key, so they are right; what vouches for the records is not."""
    keys = Keyring([new_key()])
    seal = keys.seal_of(Path("a segment"), keys.newest, SEAL.salt)
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, seal)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert "does not open with its key" in bad.reason
    assert bad.whole


def test_a_frame_of_another_segment_does_not_begin_in_this_one_and_vouches_for_nothing() -> None:
    """A power cut may leave one where a file has grown, from where the disk held it before."""
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"one"], 1 << 20, 0, KEYS.new_seal())
    segment = segment_of([frame])

    _, bad = read(segment)

    assert bad is not None
    assert not bad.whole
    assert list(watermarks_behind(segment, 0)) == []


def test_a_frame_of_a_kind_that_nobody_knows_was_written_like_this() -> None:
    unknown = cast(FrameKind, max(FrameKind) + 1)
    frame, _ = encode_frame(unknown, 1, [], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert bad.whole
