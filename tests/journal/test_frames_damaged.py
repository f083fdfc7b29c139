"""No damage to the frames of a journal goes unseen, and where it begins is told."""

import zlib
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.frames import FRAME_MAGIC, HEADER_BYTES, FrameKind, encode_frame, watermarks_behind
from tests.support.examples import examples
from tests.support.folder_bytes import flips
from tests.support.framed_segments import BATCHES, FRAME_HEAD, SEAL, frames_of, read, segment_of

U32 = st.integers(0, (1 << 32) - 1)


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


@pytest.mark.parametrize("field", range(len(FRAME_MAGIC), FRAME_HEAD))
def test_a_head_that_was_forged_with_right_checksums_is_refused(field: int) -> None:
    frame, _ = encode_frame(FrameKind.RECORDS, 1, [b"one"], HEADER_BYTES, 0, SEAL)
    head, payload = bytearray(frame[:FRAME_HEAD]), frame[FRAME_HEAD + 8 :]
    head[field] ^= 1
    crcs = [zlib.crc32(head, zlib.crc32(SEAL.salt)), zlib.crc32(payload, zlib.crc32(head))]
    forged = bytes(head) + b"".join(crc.to_bytes(4, "little") for crc in crcs) + payload

    found, bad = read(segment_of([forged]))

    assert found == []
    assert bad is not None


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
    frame, _ = encode_frame(FrameKind.IDLE, 1, [], HEADER_BYTES, 0, SEAL)
    for _, flipped in flips(frame[: FRAME_HEAD + 4]):
        segment = segment_of([b"something bad", flipped + frame[FRAME_HEAD + 4 :]])
        assert list(watermarks_behind(segment, 0)) == []
