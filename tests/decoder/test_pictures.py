"""decoder/pictures.py: pictures are drawn again, and nothing else of a file is left."""

import io
import struct
import zipfile
import zlib
from typing import Any

import pytest
from PIL import Image, PngImagePlugin

from forms.file_fields import Files
from languages.said import Fault
from tests.support.media_files import (
    BANNER,
    EMOJI,
    chunk,
    clean,
    codes,
    drawn,
    fault,
    large_png,
    many_frames,
    opened,
    picture,
)

SECRET = b"somebody's secret"
PAYLOAD = b"<script>alert(1)</script>"
SVG = b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
animated = pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG"])


def exif() -> bytes:
    made = Image.Exif()
    made[0x010E] = SECRET.decode()
    return made.tobytes()


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_an_emoji_has_at_most_128_x_128_pixels(kind: str) -> None:
    content, file = clean(picture(kind, size=(300, 200)), EMOJI)
    assert (file.media_type, file.width, file.height, file.frames) == (f"image/{kind.lower()}", 128, 85, 1)
    assert opened(content).size == (128, 85)
    assert opened(content).convert("RGBA").getpixel((1, 84))[3] == 0  # type: ignore[index]
    _, small = clean(picture(kind, size=(40, 20)), EMOJI)
    assert (small.width, small.height) == (40, 20)


def test_an_emoji_has_at_most_256_kib_after_the_resizing() -> None:
    noise = [Image.effect_noise((128, 128), 200 + number).convert("RGB") for number in range(40)]
    content = io.BytesIO()
    noise[0].save(content, "PNG", save_all=True, append_images=noise[1:])
    assert fault(content.getvalue(), EMOJI) == Fault("file_too_large", {"most": 256})
    large = picture(size=(2_000, 2_000), compress_level=0)
    assert len(large) > 256 << 10
    assert clean(large, EMOJI)[1].size <= 256 << 10


@animated
def test_animated_is_computed_from_the_file(kind: str) -> None:
    content, file = clean(picture(kind, frames=5), EMOJI)
    assert file.is_animated
    assert (file.frames, getattr(opened(content), "n_frames", 1), file.width) == (5, 5, 128)
    assert not clean(picture(kind), EMOJI)[1].is_animated


@animated
def test_10_000_frames_are_refused(kind: str) -> None:
    assert fault(many_frames(kind, 10_000), EMOJI) == Fault("too_many_frames", {"most": 200})


def test_a_field_without_animation_refuses_it() -> None:
    assert fault(picture("WEBP", frames=2), BANNER) == Fault("too_many_frames", {"most": 1})


@pytest.mark.parametrize("size", [(50_000, 50_000), (2**31 - 1, 1), (8_000, 8_000)])
def test_a_bomb_of_pixels_is_refused_before_it_is_decoded(size: tuple[int, int]) -> None:
    assert codes([large_png(*size)], EMOJI) == {"too_many_pixels"}


def test_a_bomb_of_frames_is_refused_before_it_is_decoded() -> None:
    assert codes([picture("GIF", frames=40, size=(1_000, 1_000))], EMOJI) == {"too_many_pixels"}


def test_a_frame_that_is_larger_than_its_picture_is_refused() -> None:
    content = bytearray(picture("GIF", frames=2, size=(60, 60)))
    at = content.rindex(b"\x2c\0\0\0\0")
    content[at + 5 : at + 9] = struct.pack("<HH", 60_000, 60_000)
    assert fault(bytes(content), EMOJI) is not None


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG"])
def test_exif_profiles_and_comments_are_left_out(kind: str) -> None:
    text = PngImagePlugin.PngInfo()
    text.add_text("Comment", SECRET.decode())
    own: dict[str, Any] = (
        {"pnginfo": text} if kind == "PNG" else {"comment": SECRET} if kind == "JPEG" else {}
    )
    given = picture(kind, exif=exif(), icc_profile=b"icc " + SECRET, **own)
    assert given.count(SECRET) >= 2 or kind == "PNG"
    content, _ = clean(given, BANNER)
    assert SECRET not in content
    left = opened(content)
    left.load()
    assert not {"exif", "icc_profile", "Comment", "comment"} & left.info.keys()
    assert not left.getexif()


def test_a_comment_of_a_gif_is_left_out() -> None:
    assert SECRET in picture("GIF", comment=SECRET)
    assert SECRET not in clean(picture("GIF", comment=SECRET), EMOJI)[0]


def test_a_photo_is_turned_as_its_exif_says() -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    assert clean(picture("JPEG", exif=turned.tobytes()), BANNER)[1].height == 300


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP"])
def test_a_polyglot_is_refused_or_cleaned(kind: str) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.html", PAYLOAD)
    for tail in (PAYLOAD, packed.getvalue(), b"<?php"):
        if fault(picture(kind) + tail, EMOJI) is None:
            content, _ = clean(picture(kind) + tail, EMOJI)
            assert tail not in content
            assert not zipfile.is_zipfile(io.BytesIO(content))


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "JPEG"])
def test_a_cut_file_is_refused(kind: str) -> None:
    whole, rules = picture(kind), BANNER if kind == "JPEG" else EMOJI
    for part in (0.3, 0.6, 0.9):
        assert fault(whole[: int(part * len(whole))], rules) is not None, part
    several = picture("GIF", frames=4)
    assert fault(several[:-300], EMOJI) == Fault("file_damaged")
    assert fault(several[: several.rindex(b"\x21\xf9\x04")], EMOJI) == Fault("file_damaged")


@pytest.mark.parametrize(
    "content",
    [b"", b"GIF", SVG, b"\xff\xd8\xff" + PAYLOAD, PAYLOAD, b"BM" + bytes(100), b"PK\x03\x04", bytes(1_000)],
)
def test_another_type_is_refused(content: bytes) -> None:
    assert fault(content, EMOJI) == Fault("not_such_a_file", {"types": "PNG, GIF or WEBP"})


def test_a_type_that_the_field_does_not_take_is_refused() -> None:
    assert fault(picture("JPEG"), EMOJI) == Fault("not_such_a_file", {"types": "PNG, GIF or WEBP"})
    assert fault(picture("GIF"), BANNER) == Fault("not_such_a_file", {"types": "PNG, JPG or WEBP"})


def test_wrong_magic_is_damage() -> None:
    assert fault(b"GIF89a" + picture()[6:], EMOJI) is not None
    assert fault(b"\x89PNG\r\n\x1a\n" + picture("GIF"), EMOJI) is not None


def test_a_compressed_text_cannot_fill_the_memory() -> None:
    bomb = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(200_000_000)))
    whole = picture()
    assert fault(whole[:33] + bomb + whole[33:], EMOJI) == Fault("file_damaged")


def test_the_same_file_is_the_same_twice() -> None:
    for kind in ("PNG", "GIF", "WEBP"):
        first, second = (clean(picture(kind, frames=3), EMOJI) for _ in range(2))
        assert first == second
        assert clean(first[0], EMOJI)[1].width == first[1].width


def test_alike_pictures_look_alike() -> None:
    def look(content: bytes) -> int:
        return int(clean(content, EMOJI)[1].look, 16)

    first = look(picture(size=(300, 200)))
    near = (first ^ look(picture("GIF", size=(120, 80)))).bit_count()
    upside_down = io.BytesIO()
    drawn().transpose(Image.Transpose.ROTATE_180).save(upside_down, "PNG")
    far = (first ^ look(upside_down.getvalue())).bit_count()
    assert near <= 6 < far


def test_deep_colours_are_kept() -> None:
    content = io.BytesIO()
    Image.new("I;16", (20, 20), 40_000).save(content, "PNG")
    read = opened(clean(content.getvalue(), EMOJI)[0]).convert("L")
    assert abs(read.getpixel((5, 5)) - 156) < 2  # type: ignore[operator]


def test_a_field_says_what_it_takes() -> None:
    rules = Files("picture", ("image/png",), 1_000, 10, 10)
    assert rules.other_type.facts == {"types": "PNG"}
