"""The bytes of a journal: what was written is read, and nothing else passes for it."""

import zlib
from itertools import accumulate
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.frames import (
    FRAME_BYTES,
    FRAME_MAGIC,
    HEADER_BYTES,
    SEGMENT_MAGIC,
    BadBytes,
    Frame,
    Kind,
    decode_frames,
    decode_header,
    encode_frame,
    encode_header,
    watermarks_behind,
)
from journal.sealing import Keyring, new_key
from tests.unit.generated import examples
from tests.unit_io.disk import KEYS, flips

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
RECORDS = st.lists(st.binary(max_size=40).map(lambda record: record.replace(b"\n", b" ")), max_size=5)
BATCHES = [[b"one"], [b"two", b"three"], [], [b"four"]]
SEAL = KEYS.new_seal()
FRAME_HEAD = 29
"""Bytes of a frame before its checksums."""


def frames_of(batches: list[list[bytes]], first: int = 1, seed: int = 0) -> list[bytes]:
    """One frame a batch, each seeded by the one before it, and written when all before it was durable."""
    frames, end = [], HEADER_BYTES
    for batch in batches:
        frame, seed = encode_frame(Kind.RECORDS if batch else Kind.IDLE, first, batch, end, seed, SEAL)
        frames.append(frame)
        first, end = first + len(batch), end + len(frame)
    return frames


def read(segment: bytes, first: int = 1, seed: int = 0) -> tuple[list[Frame], BadBytes | None]:
    """(the frames that are read, what stopped the reading)."""
    found: list[Frame] = []
    try:
        for frame in decode_frames(segment, first, seed, SEAL):
            found.append(frame)  # noqa: PERF402 (what was read before the error is kept)
    except BadBytes as bad:
        return found, bad
    return found, None


def segment_of(frames: list[bytes], first: int = 1, seed: int = 0) -> bytes:
    return encode_header(first, seed, SEAL) + b"".join(frames)


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
    assert [frame.kind for frame in found] == [Kind.RECORDS if batch else Kind.IDLE for batch in batches]


@pytest.mark.parametrize("kind", Kind)
def test_a_frame_says_what_it_is_for(kind: Kind) -> None:
    frame, _ = encode_frame(kind, 1, [], HEADER_BYTES, 0, SEAL)
    found, _ = read(segment_of([frame]))
    assert [frame.kind for frame in found] == [kind]


def test_the_checksum_of_a_frame_seeds_the_next() -> None:
    one, crc = encode_frame(Kind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, SEAL)
    two, next_crc = encode_frame(Kind.RECORDS, 2, [b"two"], HEADER_BYTES, crc, SEAL)
    found, _ = read(segment_of([one, two]))
    assert [frame.crc for frame in found] == [crc, next_crc]


def test_a_frame_takes_what_it_says_it_takes_beside_its_records() -> None:
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"one", b"two"], HEADER_BYTES, 0, SEAL)
    assert len(frame) == FRAME_BYTES + len(b"one\ntwo\n")


def test_no_record_can_be_read_in_a_frame() -> None:
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"a record"], HEADER_BYTES, 0, SEAL)
    assert b"record" not in frame


@examples(50)
@given(st.integers(0, 3), st.integers(0, 3))
def test_frames_that_were_swapped_are_noticed(one: int, other: int) -> None:
    frames = frames_of(BATCHES)
    frames[one], frames[other] = frames[other], frames[one]

    _, bad = read(segment_of(frames))

    assert (bad is not None) == (one != other)
    if bad is not None:
        assert bad.offset == HEADER_BYTES + sum(map(len, frames[: min(one, other)]))


@pytest.mark.parametrize("dropped", range(3))
def test_a_frame_that_was_dropped_is_noticed(dropped: int) -> None:
    frames = frames_of(BATCHES)
    del frames[dropped]

    _, bad = read(segment_of(frames))

    assert bad is not None
    assert bad.offset == HEADER_BYTES + sum(map(len, frames[:dropped]))


@pytest.mark.parametrize("doubled", range(4))
def test_a_frame_that_was_doubled_is_noticed(doubled: int) -> None:
    frames = frames_of(BATCHES)
    frames.insert(doubled, frames[doubled])

    _, bad = read(segment_of(frames))

    assert bad is not None
    assert bad.offset == HEADER_BYTES + sum(map(len, frames[: doubled + 1]))


@examples(50)
@given(U32)
def test_frames_do_not_continue_another_segment(seed: int) -> None:
    _, bad = read(segment_of(frames_of(BATCHES, seed=seed)), seed=seed ^ 1)
    assert bad is not None
    assert bad.offset == HEADER_BYTES


@pytest.mark.parametrize("first", [0, 2])
def test_a_frame_at_another_position_was_written_like_this_when_its_checksum_is_right(first: int) -> None:
    frame, _ = encode_frame(Kind.RECORDS, first, [b"one"], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert "does not continue" in bad.reason
    assert bad.whole


def test_a_frame_with_more_records_than_it_counts_was_written_like_this() -> None:
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"one\ntwo"], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert bad.whole


def test_a_frame_sealed_with_another_key_was_written_like_this() -> None:
    """Checksums need no key, so they are right; what vouches for the records is not."""
    keys = Keyring([new_key()])
    seal = keys.seal_of(Path("a segment"), keys.newest, SEAL.salt)
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, seal)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert "does not open with its key" in bad.reason
    assert bad.whole


def test_a_frame_of_another_segment_does_not_begin_in_this_one_and_vouches_for_nothing() -> None:
    """A power cut may leave one where a file has grown, from where the disk held it before."""
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"one"], 1 << 20, 0, KEYS.new_seal())
    segment = segment_of([frame])

    _, bad = read(segment)

    assert bad is not None
    assert not bad.whole
    assert list(watermarks_behind(segment, 0)) == []


@pytest.mark.parametrize("field", range(len(FRAME_MAGIC), FRAME_HEAD))
def test_a_head_that_was_forged_with_right_checksums_is_refused(field: int) -> None:
    frame, _ = encode_frame(Kind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, SEAL)
    head, payload = bytearray(frame[:FRAME_HEAD]), frame[FRAME_HEAD + 8 :]
    head[field] ^= 1
    crcs = [zlib.crc32(head, zlib.crc32(SEAL.salt)), zlib.crc32(payload, zlib.crc32(head))]
    forged = bytes(head) + b"".join(crc.to_bytes(4, "little") for crc in crcs) + payload

    found, bad = read(segment_of([forged]))

    assert found == []
    assert bad is not None


def test_a_frame_of_a_kind_that_nobody_knows_was_written_like_this() -> None:
    unknown = cast(Kind, max(Kind) + 1)
    frame, _ = encode_frame(unknown, 1, [], HEADER_BYTES, 0, SEAL)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert bad.whole


def test_every_cut_gives_the_whole_frames_and_tells_where_the_cut_one_begins() -> None:
    frames = frames_of(BATCHES)
    segment = segment_of(frames)
    ends = list(accumulate(map(len, frames), initial=HEADER_BYTES))
    for length in range(HEADER_BYTES, len(segment)):
        whole = sum(end <= length for end in ends) - 1

        found, bad = read(segment[:length])

        assert [frame.records for frame in found] == BATCHES[:whole]
        if length in ends:
            assert bad is None
        else:
            assert bad is not None
            assert (bad.offset, bad.reason) == (ends[whole], "the frame is incomplete")
            assert not bad.whole


def test_no_bit_of_a_frame_can_flip_unseen() -> None:
    frames = frames_of(BATCHES)
    segment = segment_of(frames)
    ends = list(accumulate(map(len, frames), initial=HEADER_BYTES))
    for index, flipped in flips(segment):
        if index < HEADER_BYTES:
            continue
        whole = sum(end <= index for end in ends) - 1

        found, bad = read(flipped)

        assert bad is not None
        assert [frame.records for frame in found] == BATCHES[:whole]
        assert bad.offset == ends[whole]
        assert not bad.whole


def test_the_watermarks_behind_a_place_are_those_of_the_frames_whose_heads_are_whole() -> None:
    frames = frames_of(BATCHES)
    segment = segment_of(frames)
    first, second, third, fourth, _ = accumulate(map(len, frames), initial=HEADER_BYTES)
    assert list(watermarks_behind(segment, 0)) == [first, second, third, fourth]
    assert list(watermarks_behind(segment, first)) == [second, third, fourth]
    assert list(watermarks_behind(segment[: fourth + FRAME_HEAD + 4], third)) == [fourth]
    for length in range(fourth, fourth + FRAME_HEAD + 4):
        assert list(watermarks_behind(segment[:length], third)) == []


def test_no_damaged_head_gives_a_watermark() -> None:
    frame, _ = encode_frame(Kind.IDLE, 1, [], HEADER_BYTES, 0, SEAL)
    for _, flipped in flips(frame[: FRAME_HEAD + 4]):
        segment = segment_of([b"something bad", flipped + frame[FRAME_HEAD + 4 :]])
        assert list(watermarks_behind(segment, 0)) == []
