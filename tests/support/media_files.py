"""Pictures and sounds as people upload them, whole and broken ones."""

import ctypes
import io
import math
import os
import random
import struct
import zipfile
import zlib
from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

from PIL import Image, ImageDraw

from decoder.decoder_messages import DecodeAnswer, DecodeOrder
from decoder.process import answer
from decoder.sound_streams import OggPage, laced, paged, written
from decoder.sounds import SoundInfo, library
from forms.file_fields import FileRef, Files
from languages.said import Fault

PICTURES = ("image/png", "image/gif", "image/webp")
EMOJI = Files("picture", PICTURES, 256 << 10, 128, 128, most_frames=200)
BANNER = Files("picture", ("image/png", "image/jpeg", "image/webp"), 1 << 20, 1_200, 400)
SOUND = Files("sound", ("audio/mpeg", "audio/ogg"), 512 << 10, most_ms=5_200)
WRITE = 0x20
FORMATS = {"mp3": 0x230082, "vorbis": 0x200060, "opus": 0x200064}


def drawn(width: int = 300, height: int = 200, shift: int = 0, mode: str = "RGBA") -> Image.Image:
    """Return a picture of a few shapes, with a transparent ground where the mode has one."""
    picture = Image.new("RGBA", (width, height), (0, 0, 0, 0))
    pen = ImageDraw.Draw(picture)
    pen.rectangle((shift, 0, width // 2 + shift, height // 2), (200, 40, 60, 255))
    pen.ellipse((width // 3, height // 3, width - 1, height - 1), (20, 90, 200, 255))
    return picture.convert(mode)


def picture(kind: str = "PNG", frames: int = 1, size: tuple[int, int] = (300, 200), **saved: Any) -> bytes:
    """Return a file with a picture."""
    mode = "RGB" if kind == "JPEG" else "RGBA"
    several = [drawn(*size, shift=number, mode=mode) for number in range(frames)]
    if frames > 1:
        saved = {"save_all": True, "append_images": several[1:], "duration": 40, "loop": 0, **saved}
    content = io.BytesIO()
    several[0].save(content, kind, **saved)
    return content.getvalue()


def noise(width: int, height: int, frames: int = 1) -> bytes:
    """Return a picture that no coding makes smaller: a PNG, or a GIF of several frames."""
    chance, content = random.Random(0), io.BytesIO()
    first, *others = (
        Image.frombytes("RGB", (width, height), chance.randbytes(width * height * 3)) for _ in range(frames)
    )
    further: dict[str, Any] = {"save_all": True, "append_images": others, "duration": 40} if others else {}
    first.save(content, "GIF" if others else "PNG", **further)
    return content.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG."""
    return struct.pack("!I", len(content)) + kind + content + struct.pack("!I", zlib.crc32(kind + content))


def large_png(width: int, height: int) -> bytes:
    """Return a small PNG that says it is so large."""
    head = struct.pack("!IIBBBBB", width, height, 8, 6, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(bytes(100_000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pixels + chunk(b"IEND", b"")


@cache
def many_frames(kind: str, count: int) -> bytes:
    """Return a picture of one pixel that changes so often."""
    dots = [Image.new("RGB", (1, 1), (255 * (number % 2), 0, 0)) for number in range(2)]
    content = io.BytesIO()
    dots[0].save(content, kind, save_all=True, append_images=[dots[at % 2] for at in range(1, count)])
    return content.getvalue()


def zip_bomb() -> bytes:
    """Return 100 KB that become 100 MB."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.png", bytes(100_000_000))
    return packed.getvalue()


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def sound(kind: str = "mp3", seconds: float = 1.0, rate: int = 48_000, channels: int = 1) -> bytes:
    """Return a file with a tone that grows louder."""
    lib, fd = library(), os.memfd_create("made")
    info = SoundInfo(0, rate, channels, FORMATS[kind], 0, 0)
    count = round(seconds * rate)
    tone = (0.9 * at / count * math.sin(at * 2_764 / rate) for at in range(count))
    samples = array("f", [each for each in tone for _ in range(channels)])
    try:
        made = lib.sf_open_fd(fd, WRITE, ctypes.byref(info), 0)
        assert made, kind
        lib.sf_writef_float.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        lib.sf_writef_float.restype = ctypes.c_int64
        address, _ = samples.buffer_info()
        assert lib.sf_writef_float(made, address, count) == count
        lib.sf_close(made)
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)


def long_mp3(size: int) -> bytes:
    """Return silence at the lowest bit rate: 8 kbit/s."""
    frame = bytes([0xFF, 0xE3, 0x18, 0xC4]).ljust(72, b"\0")
    return frame * (size // len(frame))


def long_ogg(size: int) -> bytes:
    """Return hours of silence: packets of Opus that last 120 ms and have three bytes."""
    head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
    tags = b"OpusTags" + struct.pack("<II", 0, 0)
    pages = [OggPage(2, 0, *laced([head])), *paged([tags])]
    granule, packet = 0, bytes([0xFB, 6])  # six frames of 20 ms, each without a byte
    for _ in range(size // (255 * 3)):
        granule += 255 * 5_760
        pages.append(OggPage(0, granule, *laced([packet] * 255)))
    pages[-1] = pages[-1]._replace(flags=4)
    return b"".join(written(page, number) for number, page in enumerate(pages))


def padded_ogg(size: int) -> bytes:
    """Return 180 ms of silence in a file of exactly this size: Opus has padding (RFC 6716, 3.2.5)."""

    def packet(padding: int) -> bytes:
        return bytes([0xFB, 0x41]) + b"\xff" * (padding // 254) + bytes([padding % 254]) + bytes(padding)

    def made(paddings: Sequence[int]) -> bytes:
        head = b"OpusHead" + struct.pack("<BBHIhB", 1, 1, 0, 48_000, 0, 0)
        pages = [OggPage(2, 0, *laced([head])), *paged([b"OpusTags" + struct.pack("<II", 0, 0)])]
        pages += [OggPage(0, 960 * at, *laced([packet(each)])) for at, each in enumerate(paddings, 1)]
        pages[-1] = pages[-1]._replace(flags=4)
        return b"".join(written(page, number) for number, page in enumerate(pages))

    each = size // 9 - 450
    rest = size - len(made([each] * 9))
    several = ([each] * 7 + [each + more, each + rest - less] for less in range(30) for more in range(9))
    return next(found for paddings in several if len(found := made(paddings)) == size)


def read(content: bytes, rules: Files) -> DecodeAnswer:
    """Read a file as the process does, in this one."""
    return answer(DecodeOrder(content, rules))


def clean(content: bytes, rules: Files) -> tuple[bytes, FileRef]:
    """Return the clean file, with its facts, of a file that must be right."""
    found = read(content, rules)
    assert found.file is not None, found
    return found.content, found.file


def fault(content: bytes, rules: Files) -> Fault | None:
    """Return the rule that a file breaks."""
    found = read(content, rules)
    return Fault(found.code, found.facts) if found.code is not None else None


def codes(contents: Sequence[bytes], rules: Files) -> set[str | None]:
    return {read(content, rules).code for content in contents}
