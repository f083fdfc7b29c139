"""MP3 and Ogg without anything but the sound. Runs in the decoder's process.

The stream is taken apart and put together again, without decoding it: so no quality is lost, and the same
file is the same bytes each time. Tags, covers, chapters, and bytes before, between and behind the frames are
left out. A stream that is cut off is refused.

Sources: ISO/IEC 11172-3 and 13818-3 (frames of MP3), id3.org (ID3v2), RFC 3533 (Ogg), RFC 7845 (Opus in Ogg),
the specification of Vorbis I (headers).
"""

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from decoder.decoder_messages import DAMAGED, FileRefused

# -- MP3 ----------------------------------------------------------------------------------------------------

KBITS = {
    3: (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    0: (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
"""Bit rates of layer III by the version's bits: MPEG 1, 2 and 2.5."""
RATES = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
ID3_HEADER = 10
ONE_CHANNEL = 3


def clean_mp3(content: bytes) -> bytes:
    """Return the frames of an MP3, and nothing else. Raises FileRefused."""
    start = at = _behind_id3(content)
    first = _frame(content, at)
    if first is None:
        raise FileRefused(DAMAGED)
    while at < len(content):
        frame = _frame(content, at)
        if frame is None:
            break
        if frame[1:] != first[1:]:  # a change within a sound overflows mpg123 before 1.32.8 (CVE-2024-10573)
            raise FileRefused(DAMAGED)
        at += frame[0]
    if at > len(content):
        raise FileRefused(DAMAGED)  # the last frame is cut off
    return content[start:at]


def is_mp3(content: bytes) -> bool:
    """Return true for bytes that begin with two frames of MP3, perhaps behind ID3v2."""
    at = _behind_id3(content)
    frame = _frame(content, at)
    return frame is not None and (at + frame[0] >= len(content) or _frame(content, at + frame[0]) is not None)


def _behind_id3(content: bytes) -> int:
    at = 0
    while content[at : at + 3] == b"ID3" and len(content) >= at + ID3_HEADER:
        sizes = content[at + 6 : at + ID3_HEADER]
        size = sum((byte & 0x7F) << shift for byte, shift in zip(sizes, (21, 14, 7, 0), strict=True))
        at += ID3_HEADER + size + (ID3_HEADER if content[at + 5] & 0x10 else 0)
    while content[at : at + 1] == b"\0":  # padding
        at += 1
    return at


def _frame(content: bytes, at: int) -> tuple[int, int, int, bool] | None:
    """Return the length of the frame there, and what all frames of a sound have in common: version, rate,
    and whether they have one channel. None if there is no frame."""
    if len(content) < at + 4 or content[at] != 0xFF or content[at + 1] & 0xE6 != 0xE2:
        return None
    version, bits = content[at + 1] >> 3 & 3, content[at + 2]
    rate_at, padding = bits >> 2 & 3, bits >> 1 & 1
    if version == 1 or rate_at == 3 or bits >> 4 in {0, 15}:
        return None
    rate = RATES[version][rate_at]
    per_frame = 144_000 if version == 3 else 72_000
    length = per_frame * KBITS[version][(bits >> 4) - 1] // rate + padding
    return length, version, rate, content[at + 3] >> 6 == ONE_CHANNEL


# -- Ogg ----------------------------------------------------------------------------------------------------

PAGE = struct.Struct("<4sBBqIIIB")
CONTINUED, FIRST, LAST = 1, 2, 4
MOST_PAGES = 4_096
REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
VORBIS, OPUS = b"\x01vorbis", b"OpusHead"
VENDOR = struct.pack("<II", 0, 0)
"""The vendor and the comments, both empty."""


class OggPage(NamedTuple):
    flags: int
    granule: int
    laces: bytes
    body: bytes


def is_ogg(content: bytes) -> bool:
    return content.startswith(b"OggS")


def clean_ogg(content: bytes) -> bytes:
    """Return the one stream of Vorbis or Opus in an Ogg, with an empty comment. Raises FileRefused."""
    pages = list(_pages(content))
    if len(pages) < 2 or not pages[-1].flags & LAST:
        raise FileRefused(DAMAGED)
    first = pages[0].body
    count = 3 if first.startswith(VORBIS) else 2 if first.startswith(OPUS) else 0
    if not count:
        raise FileRefused(DAMAGED)
    headers, sound = _headers(pages, count)
    comment = b"\x03vorbis" + VENDOR + b"\x01" if count == 3 else b"OpusTags" + VENDOR
    clean = [OggPage(FIRST, 0, *laced([headers[0]]))]
    clean += paged([comment, *headers[2:]])
    return b"".join(written(page, number) for number, page in enumerate([*clean, *sound]))


def _pages(content: bytes) -> Iterator[OggPage]:
    """Yield the pages of the first stream up to its end. Raises FileRefused for any that is not whole."""
    at, serial = 0, None
    for number in range(MOST_PAGES):
        if len(content) < at + PAGE.size:
            return
        magic, version, flags, granule, its_serial, sequence, crc, count = PAGE.unpack_from(content, at)
        laces = content[at + PAGE.size : at + PAGE.size + count]
        end = at + PAGE.size + count + sum(laces)
        serial = its_serial if serial is None else serial
        is_next = sequence == number and bool(flags & FIRST) == (number == 0)
        if magic != b"OggS" or version or end > len(content) or its_serial != serial or not is_next:
            raise FileRefused(DAMAGED)
        whole = content[at:end]
        if _crc(whole[:22] + bytes(4) + whole[26:]) != crc:
            raise FileRefused(DAMAGED)
        yield OggPage(flags, granule, laces, content[at + PAGE.size + count : end])
        if flags & LAST:
            return
        at = end
    raise FileRefused(DAMAGED)


def _headers(pages: list[OggPage], count: int) -> tuple[list[bytes], list[OggPage]]:
    """Return the packets of the headers, and the pages behind them."""
    packets, packet = list[bytes](), b""
    for number, page in enumerate(pages):
        at = 0
        for lace in page.laces:
            packet += page.body[at : at + lace]
            at += lace
            if lace < 255:
                packets.append(packet)
                packet = b""
        if len(packets) > count or (len(packets) == count and packet):
            break  # sound must begin on a page of its own
        if len(packets) == count:
            return packets, pages[number + 1 :]
    raise FileRefused(DAMAGED)


def laced(packets: list[bytes]) -> tuple[bytes, bytes]:
    laces = b"".join(b"\xff" * (len(each) // 255) + bytes([len(each) % 255]) for each in packets)
    return laces, b"".join(packets)


def paged(packets: list[bytes]) -> Iterator[OggPage]:
    """Yield the pages of packets. A packet may go on over several."""
    laces, body = laced(packets)
    flags = 0
    while laces:
        part, laces = laces[:255], laces[255:]
        size = sum(part)
        ends = any(lace < 255 for lace in part)
        yield OggPage(flags, 0 if ends else -1, part, body[:size])
        flags, body = CONTINUED if part[-1] == 255 else 0, body[size:]


def written(page: OggPage, number: int) -> bytes:
    head = PAGE.pack(b"OggS", 0, page.flags, page.granule, 1, number, 0, len(page.laces))
    whole = head + page.laces + page.body
    return whole[:22] + struct.pack("<I", _crc(whole)) + whole[26:]


def _crc(page: bytes) -> int:
    """Return the checksum of Ogg: that of zlib with each byte, and the result, in the other order of bits."""
    turned = zlib.crc32(page.translate(REVERSED), 0xFFFFFFFF) ^ 0xFFFFFFFF
    return int(f"{turned:032b}"[::-1], 2)
