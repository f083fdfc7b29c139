"""Segments of a journal, frame by frame."""

from journal.frames import (
    HEADER_BYTES,
    BadBytes,
    Frame,
    FrameKind,
    decode_frames,
    encode_frame,
    encode_header,
)
from tests.support.journals import KEYS

BATCHES = [[b"one"], [b"two", b"three"], [], [b"four"]]
SEAL = KEYS.new_seal()
FRAME_HEAD = 29
"""Bytes of a frame before its checksums."""


def frames_of(batches: list[list[bytes]], first: int = 1, seed: int = 0) -> list[bytes]:
    """One frame a batch, each seeded by the one before it, and written when all before it was durable."""
    frames, end = [], HEADER_BYTES
    for batch in batches:
        frame, seed = encode_frame(
            FrameKind.RECORDS if batch else FrameKind.IDLE, first, batch, end, seed, SEAL
        )
        frames.append(frame)
        first, end = first + len(batch), end + len(frame)
    return frames


def read(segment: bytes, first: int = 1, seed: int = 0) -> tuple[list[Frame], BadBytes | None]:
    """Read a segment. Return its frames, and the error that ended the reading."""
    found: list[Frame] = []
    try:
        for frame in decode_frames(segment, first, seed, SEAL):
            found.append(frame)  # noqa: PERF402 (frames before the error are kept)
    except BadBytes as bad:
        return found, bad
    return found, None


def segment_of(frames: list[bytes], first: int = 1, seed: int = 0) -> bytes:
    return encode_header(first, seed, SEAL) + b"".join(frames)
