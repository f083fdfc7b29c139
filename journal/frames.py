"""The bytes of a journal.

Invariant: a frame is one fsync's worth of records, and vouches for the one before it.

Segment:  header, frame, frame, ...          named "journal-<first position, 20 digits>"
Header:   magic 8s | first position u64 | seed u32 | key id 8s | salt 16s | crc u32 of the fields before it
Frame:    magic 4s | kind u8 | payload length u32 | first position u64 | count u32 | watermark u64
          | head crc u32 of the header's salt and the fields before it | crc u32 | payload
Payload:  sealed (storage/sealing.py), bound to the head: `count` records, a newline behind each

All numbers are little-endian. A frame's second CRC-32 covers its head and its payload and is seeded with that
of the frame before it, so no frame can be lost, doubled or swapped unseen. A segment's first frame is seeded
with the header's `seed`, which continues the segment before. `watermark` is the number of its bytes that
were durable when the frame was written. The head has a checksum of its own, so that a reader can trust the
watermark of a frame behind damaged bytes. That checksum covers the salt: a power cut may leave a frame of
another segment where a file has grown, and it must not vouch for bytes in this one. Checksums need no key.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from storage.sealing import KEY_ID_BYTES, NONCE_BYTES, SALT_BYTES, TAG_BYTES, Seal, Unsealable

SEGMENT_MAGIC = b"VGJRNL\x00\x02"
FRAME_MAGIC = b"\xffVG\xfe"
_HEADER = struct.Struct(f"<8sQI{KEY_ID_BYTES}s{SALT_BYTES}s")
_HEAD = struct.Struct("<4sBIQIQ")
_CRC = struct.Struct("<I")
_CRCS = struct.Struct("<II")
HEADER_BYTES = _HEADER.size + _CRC.size
HEAD_BYTES = _HEAD.size + _CRCS.size
"""The size of a frame before its payload."""
FRAME_BYTES = HEAD_BYTES + NONCE_BYTES + TAG_BYTES
"""The size of a frame without its records."""


class FrameKind(IntEnum):
    RECORDS = 0
    IDLE = 1
    """A frame without records. It vouches for those before it while no other frame follows."""
    CLOSED = 2
    """A frame without records, written at a clean stop."""
    CONTINUED = 3
    """The last frame of its segment: the next segment exists. The chain of checksums leaves it out."""


_KINDS = frozenset(FrameKind)


class SegmentHeader(NamedTuple):
    first: int
    seed: int
    key_id: bytes
    salt: bytes


class Frame(NamedTuple):
    kind: FrameKind
    first: int
    watermark: int
    records: list[bytes]
    crc: int
    end: int
    """Offset in the segment of the byte behind the frame."""


class FrameHead(NamedTuple):
    """A frame without its payload. `crc` is the one that seeds the next frame."""

    kind: FrameKind
    first: int
    records: int
    length: int
    watermark: int
    crc: int


class BadBytes(ValueError):
    """The bytes at `offset` are no valid frame or header.

    `whole` means that their checksum is right. Then they were written like this: no crash leaves such bytes.
    """

    def __init__(self, offset: int, reason: str, *, whole: bool = False) -> None:
        super().__init__(reason)
        self.offset = offset
        self.reason = reason
        self.whole = whole


def encode_header(first: int, seed: int, seal: Seal) -> bytes:
    fields = _HEADER.pack(SEGMENT_MAGIC, first, seed, seal.key_id, seal.salt)
    return fields + _CRC.pack(zlib.crc32(fields))


def decode_header(segment: bytes) -> SegmentHeader:
    """Return the header of a segment. Raises BadBytes."""
    if not segment.startswith(SEGMENT_MAGIC[:-1]):
        raise BadBytes(0, "this is no journal segment")
    if not segment.startswith(SEGMENT_MAGIC):
        raise BadBytes(0, "this journal segment was written by another version of Votegate")
    if len(segment) < HEADER_BYTES:
        raise BadBytes(0, "the segment header is incomplete")
    _, *fields = _HEADER.unpack_from(segment)
    if _CRC.unpack_from(segment, _HEADER.size)[0] != zlib.crc32(segment[: _HEADER.size]):
        raise BadBytes(0, "the segment header fails its checksum")
    return SegmentHeader(*fields)


def encode_frame(
    kind: FrameKind, first: int, records: Sequence[bytes], watermark: int, seed: int, seal: Seal
) -> tuple[bytes, int]:
    """Return the frame and its CRC, which seeds the next frame."""
    plain = b"".join([record + b"\n" for record in records])
    length = NONCE_BYTES + len(plain) + TAG_BYTES
    head = _HEAD.pack(FRAME_MAGIC, kind, length, first, len(records), watermark)
    payload = seal.seal(plain, head)
    crc = _chained(seed, head, payload)
    return head + _CRCS.pack(_head_crc(seal.salt, head), crc) + payload, crc


def decode_frames(segment: bytes, first: int, seed: int, seal: Seal) -> Iterator[Frame]:
    """Yield the frames behind the header. The first must start at position `first`. Raises BadBytes."""
    offset = HEADER_BYTES
    while offset < len(segment):
        frame = _decode_frame(segment, offset, first, seed, seal)
        yield frame
        offset, first, seed = frame.end, first + len(frame.records), frame.crc


def decode_head(head: bytes, offset: int, salt: bytes) -> FrameHead:
    """Return the head of the frame at the offset. Raises BadBytes.

    The payload is not checked: `open_frame` does that.
    """
    if len(head) < HEAD_BYTES:
        raise BadBytes(offset, "the frame is incomplete")
    magic, kind, length, first, count, watermark = _HEAD.unpack_from(head)
    head_crc, crc = _CRCS.unpack_from(head, _HEAD.size)
    if magic != FRAME_MAGIC or _head_crc(salt, head[: _HEAD.size]) != head_crc:
        raise BadBytes(offset, "no frame begins here")
    if kind not in _KINDS:
        raise BadBytes(offset, "the frame was written by another version of Votegate", whole=True)
    return FrameHead(FrameKind(kind), first, count, length, watermark, crc)


def open_frame(frame: bytes, offset: int, seal: Seal) -> list[bytes]:
    """Return the records of a frame, whose key vouches for its head, too. Raises BadBytes."""
    try:
        return seal.unseal(frame[HEAD_BYTES:], frame[: _HEAD.size]).split(b"\n")[:-1]
    except Unsealable:
        raise BadBytes(offset, "the frame does not open with its key", whole=True) from None


def watermarks_behind(segment: bytes, offset: int) -> Iterator[int]:
    """Yield the watermarks of the frames behind `offset` whose heads are whole."""
    while (offset := segment.find(FRAME_MAGIC, offset + 1)) != -1:
        end = offset + _HEAD.size
        head, crc = segment[offset:end], segment[end : end + _CRC.size]
        if crc == _CRC.pack(_head_crc(_salt_of(segment), head)):
            yield _HEAD.unpack(head)[5]


def _head_crc(salt: bytes, head: bytes) -> int:
    return zlib.crc32(head, zlib.crc32(salt))


def _decode_frame(segment: bytes, offset: int, expected: int, seed: int, seal: Seal) -> Frame:
    begin = offset + HEAD_BYTES
    head = decode_head(segment[offset:begin], offset, _salt_of(segment))
    end = begin + head.length
    if end > len(segment):
        raise BadBytes(offset, "the frame is incomplete")
    if _chained(seed, segment[offset : offset + _HEAD.size], segment[begin:end]) != head.crc:
        raise BadBytes(offset, "the frame fails its checksum")
    records = open_frame(segment[offset:end], offset, seal)
    if head.first != expected or len(records) != head.records:
        raise BadBytes(offset, "the frame does not continue the one before it", whole=True)
    return Frame(head.kind, head.first, head.watermark, records, head.crc, end)


def _salt_of(segment: bytes) -> bytes:
    return segment[_HEADER.size - SALT_BYTES : _HEADER.size]


def _chained(seed: int, head: bytes, payload: bytes) -> int:
    return zlib.crc32(payload, zlib.crc32(head, seed))
