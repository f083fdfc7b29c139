"""The bytes of a journal. Law: a frame is one fsync's worth of records, and vouches for the one before it.

Segment:  header, frame, frame, ...          named "journal-<first position, 20 digits>"
Header:   magic 8s | first position u64 | seed u32 | crc u32 of the fields before it
Frame:    magic 4s | payload length u32 | crc u32 | first position u64 | count u32 | watermark u64 | payload
Payload:  `count` records, a newline behind each

All numbers are little-endian. A frame's CRC-32 runs over everything in it but the CRC, seeded with the CRC
of the frame before it, so no frame can be lost, doubled or swapped unseen; a segment's first frame is seeded
with the header's `seed`, which continues the segment before. `watermark` is the newest position that was
durable when the frame was written. The frame magic holds bytes that JSON cannot hold.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SEGMENT_MAGIC = b"VGJRNL\x00\x01"
FRAME_MAGIC = b"\xffVG\xfe"
_HEADER = struct.Struct("<8sQI")
_FRAME = struct.Struct("<4sIIQIQ")
_CRC = struct.Struct("<I")
HEADER_BYTES = _HEADER.size + _CRC.size


class Frame(NamedTuple):
    first: int
    watermark: int
    records: list[bytes]
    crc: int
    end: int
    """Offset in the segment of the byte behind the frame."""


class BadBytes(ValueError):
    """The bytes at `offset` are no valid frame or header."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason


def encode_header(first: int, seed: int) -> bytes:
    fields = _HEADER.pack(SEGMENT_MAGIC, first, seed)
    return fields + _CRC.pack(zlib.crc32(fields))


def decode_header(segment: bytes) -> tuple[int, int]:
    """(first position, seed). Raises BadBytes."""
    if len(segment) < HEADER_BYTES:
        raise BadBytes(0, "the segment header is incomplete")
    magic, first, seed = _HEADER.unpack_from(segment)
    if magic != SEGMENT_MAGIC:
        raise BadBytes(0, "not a journal segment of this version")
    if _CRC.unpack_from(segment, _HEADER.size)[0] != zlib.crc32(segment[: _HEADER.size]):
        raise BadBytes(0, "the segment header fails its checksum")
    return first, seed


def encode_frame(first: int, records: Sequence[bytes], watermark: int, seed: int) -> tuple[bytes, int]:
    """(the frame, its CRC, which seeds the next)."""
    payload = b"".join([record + b"\n" for record in records])
    crc = _crc(seed, len(payload), first, len(records), watermark, payload)
    head = _FRAME.pack(FRAME_MAGIC, len(payload), crc, first, len(records), watermark)
    return head + payload, crc


def decode_frames(segment: bytes, first: int, seed: int) -> Iterator[Frame]:
    """The frames behind the header, the first of which must start at position `first`. Raises BadBytes."""
    offset = HEADER_BYTES
    while offset < len(segment):
        frame = _decode_frame(segment, offset, first, seed)
        yield frame
        offset, first, seed = frame.end, first + len(frame.records), frame.crc


def watermarks_behind(segment: bytes, offset: int) -> Iterator[int]:
    """The watermarks of whatever looks like a frame behind the byte at `offset`."""
    while (offset := segment.find(FRAME_MAGIC, offset + 1)) != -1:
        if offset + _FRAME.size <= len(segment):
            yield _FRAME.unpack_from(segment, offset)[5]


def _decode_frame(segment: bytes, offset: int, expected: int, seed: int) -> Frame:
    if offset + _FRAME.size > len(segment):
        raise BadBytes(offset, "the frame is incomplete")
    magic, length, crc, first, count, watermark = _FRAME.unpack_from(segment, offset)
    end = offset + _FRAME.size + length
    if magic != FRAME_MAGIC:
        raise BadBytes(offset, "no frame begins here")
    if end > len(segment):
        raise BadBytes(offset, "the frame is incomplete")
    payload = segment[offset + _FRAME.size : end]
    if _crc(seed, length, first, count, watermark, payload) != crc:
        raise BadBytes(offset, "the frame fails its checksum")
    records = payload.split(b"\n")[:-1]
    if first != expected or len(records) != count:
        raise BadBytes(offset, "the frame does not continue the one before it")
    return Frame(first, watermark, records, crc, end)


def _crc(seed: int, length: int, first: int, count: int, watermark: int, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(_FRAME.pack(FRAME_MAGIC, length, 0, first, count, watermark), seed))
