"""The bytes of a journal: what was written is read, and nothing else passes for it."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.frames import (
    FRAME_MAGIC,
    HEADER_BYTES,
    BadBytes,
    Frame,
    decode_frames,
    decode_header,
    encode_frame,
    encode_header,
    watermarks_behind,
)
from tests.unit.generated import examples
from tests.unit_io.disk import flips

U32 = st.integers(0, (1 << 32) - 1)
U64 = st.integers(0, (1 << 64) - 1)
RECORDS = st.lists(st.binary(max_size=40).map(lambda record: record.replace(b"\n", b" ")), max_size=5)
BATCHES = [[b"one"], [b"two", b"three"], [], [b"four"]]


def frames_of(batches: list[list[bytes]], first: int = 1, seed: int = 0) -> list[bytes]:
    """One frame a batch, each seeded by the one before it."""
    frames = []
    for batch in batches:
        frame, seed = encode_frame(first, batch, first - 1, seed)
        frames.append(frame)
        first += len(batch)
    return frames


def read(segment: bytes, first: int = 1, seed: int = 0) -> tuple[list[Frame], BadBytes | None]:
    """(the frames that are read, what stopped the reading)."""
    found: list[Frame] = []
    try:
        for frame in decode_frames(segment, first, seed):
            found.append(frame)  # noqa: PERF402 (what was read before the error is kept)
    except BadBytes as bad:
        return found, bad
    return found, None


def segment_of(frames: list[bytes], first: int = 1, seed: int = 0) -> bytes:
    return encode_header(first, seed) + b"".join(frames)


@examples(50)
@given(U64, U32)
def test_a_header_is_read_as_it_was_written(first: int, seed: int) -> None:
    assert decode_header(encode_header(first, seed)) == (first, seed)


def test_no_bit_of_a_header_can_flip_unseen() -> None:
    for _, flipped in flips(encode_header(7, 12_345)):
        with pytest.raises(BadBytes) as raised:
            decode_header(flipped)
        assert raised.value.offset == 0


@pytest.mark.parametrize("length", range(HEADER_BYTES))
def test_a_header_that_was_cut_is_incomplete(length: int) -> None:
    with pytest.raises(BadBytes, match="incomplete"):
        decode_header(encode_header(7, 12_345)[:length])


def test_a_file_that_is_no_segment_is_told_from_a_damaged_one() -> None:
    with pytest.raises(BadBytes, match="not a journal segment of this version"):
        decode_header(b"something else entirely, longer than a header")


@examples(50)
@given(st.lists(RECORDS, max_size=5), st.integers(1, 1 << 40), U32)
def test_frames_are_read_as_they_were_written(batches: list[list[bytes]], first: int, seed: int) -> None:
    frames = frames_of(batches, first, seed)

    found, bad = read(segment_of(frames, first, seed), first, seed)

    assert bad is None
    assert [frame.records for frame in found] == batches
    firsts = list(accumulate(map(len, batches), initial=first))
    assert [frame.first for frame in found] == firsts[:-1]
    assert [frame.watermark for frame in found] == [position - 1 for position in firsts[:-1]]
    assert [frame.end for frame in found] == list(accumulate(map(len, frames), initial=HEADER_BYTES))[1:]


def test_the_checksum_of_a_frame_seeds_the_next() -> None:
    _, crc = encode_frame(1, [b"one"], 0, 0)
    found, _ = read(segment_of(frames_of([[b"one"]])))
    assert [frame.crc for frame in found] == [crc]


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
def test_a_frame_at_another_position_is_refused_even_when_its_checksum_is_right(first: int) -> None:
    frame, _ = encode_frame(first, [b"one"], 0, seed=0)

    _, bad = read(segment_of([frame]))

    assert bad is not None
    assert "does not continue" in bad.reason


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


def test_the_watermarks_behind_a_place_are_those_of_whatever_looks_like_a_frame() -> None:
    segment = segment_of(frames_of(BATCHES))
    first, second, *_ = [place for place in range(len(segment)) if segment.startswith(FRAME_MAGIC, place)]
    assert list(watermarks_behind(segment, 0)) == [0, 1, 3, 3]
    assert list(watermarks_behind(segment, first)) == [1, 3, 3]
    assert list(watermarks_behind(segment[: second + 10], first)) == []
