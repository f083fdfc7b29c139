"""Pictures, drawn again. Runs in the decoder's process.

Sides and frames are checked before any pixel is decoded. Each frame is drawn into the size of its field and
copied without metadata: EXIF, colour profiles, comments, text chunks, and bytes behind the end are left out.
"""

from collections.abc import Iterator
from importlib import import_module
from io import BytesIO
from typing import Any

from PIL import Image, ImageOps, UnidentifiedImageError

from decoder.decoder_messages import DAMAGED, FileRefused
from forms.file_fields import Files
from languages.said import Fault

MOST_PIXELS = 32_000_000
"""In all frames of a picture together: a second of work."""
TOO_MANY_PIXELS = Fault("too_many_pixels", {"most": MOST_PIXELS // 1_000_000})
FORMATS = {"image/png": "PNG", "image/gif": "GIF", "image/webp": "WEBP", "image/jpeg": "JPEG"}
PNG_END, GIF_END = b"IEND\xaeB`\x82", b";"
SAVED: dict[str, dict[str, Any]] = {
    "PNG": {},
    "GIF": {"disposal": 2},
    "WEBP": {"quality": 90},
    "JPEG": {"quality": 88},
}
SHORTEST_MS, LONGEST_MS, USUAL_MS = 20, 60_000, 100
LOADED = ("GifImagePlugin", "JpegImagePlugin", "MpoImagePlugin", "TiffImagePlugin", "WebPImagePlugin")
"""The modules of Pillow that formats need, and that EXIF and several pictures in a JPEG need."""
HASHED = (9, 8)
NOISE = 3
"""Levels of grey that a copy with lower quality adds to even areas."""
GREY = (128, 128, 128, 255)
Image.MAX_IMAGE_PIXELS = MOST_PIXELS  # a frame can be larger than its picture says


def load_pictures() -> None:
    """Load all that Pillow would load at the first use: the confined process can open nothing."""
    for name in LOADED:
        import_module(f"PIL.{name}")
    for media_type, kept in FORMATS.items():
        made = BytesIO()
        Image.new("RGB", (2, 2)).save(made, kept)
        decode_picture(made.getvalue(), Files("picture", (media_type,), 0, 1, 1))


def decode_picture(content: bytes, rules: Files) -> tuple[bytes, dict[str, Any]]:
    """Return the clean picture, and its facts. Raises FileRefused."""
    try:
        return _decoded(content, rules)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise FileRefused(TOO_MANY_PIXELS) from None
    except MemoryError:
        raise
    except FileRefused:
        raise
    except Exception:  # Pillow raises any error for damaged files: OSError, ValueError, SyntaxError, ...
        raise FileRefused(DAMAGED) from None


def _decoded(content: bytes, rules: Files) -> tuple[bytes, dict[str, Any]]:
    formats = [FORMATS[each] for each in rules.media_types]
    try:
        picture = Image.open(BytesIO(content), formats=formats)
    except UnidentifiedImageError:
        raise FileRefused(rules.other_type) from None
    kept = "JPEG" if picture.format == "MPO" else str(picture.format)
    if not _has_end(kept, content):
        raise FileRefused(DAMAGED)
    _check_pixels(picture, 1)
    count = getattr(picture, "n_frames", 1) if kept != "JPEG" else 1
    if count > rules.most_frames:
        raise FileRefused(Fault("too_many_frames", {"most": rules.most_frames}))
    _check_pixels(picture, count)
    drawn = list(_frames(picture, count, rules))
    durations, frames = [each for each, _ in drawn], [frame for _, frame in drawn]
    saved = BytesIO()
    animated = {"save_all": True, "append_images": frames[1:], "duration": durations, "loop": 0}
    frames[0].save(saved, kept, **SAVED[kept], **(animated if count > 1 else {}))
    clean = saved.getvalue()
    again = Image.open(BytesIO(clean), formats=[kept])
    width, height = again.size
    facts = {
        "media_type": Image.MIME[kept],
        "width": width,
        "height": height,
        "frames": getattr(again, "n_frames", 1),
        "look": _look(frames[0]),
    }
    return clean, facts


def _has_end(kept: str, content: bytes) -> bool:
    """Return false for a file that is cut off, where Pillow would show the part that is there."""
    if kept == "GIF":
        return content.rstrip(b"\0").endswith(GIF_END)
    return kept != "PNG" or PNG_END in content[-1_024:]


def _check_pixels(picture: Image.Image, frames: int) -> None:
    if picture.width * picture.height * frames > MOST_PIXELS:
        raise FileRefused(TOO_MANY_PIXELS)


def _frames(picture: Image.Image, count: int, rules: Files) -> Iterator[tuple[int, Image.Image]]:
    """Yield how long each frame is shown (ms), and the frame in the size of the field."""
    for number in range(count):
        picture.seek(number)
        _check_pixels(picture, count)
        if count == 1:
            picture.draft("RGB", (2 * rules.width, 2 * rules.height))
        picture.load()
        shown_ms = round(picture.info.get("duration", USUAL_MS)) or USUAL_MS
        frame = ImageOps.exif_transpose(picture) if count == 1 else picture
        yield min(max(shown_ms, SHORTEST_MS), LONGEST_MS), _fitted(_plain(frame), rules)


def _plain(frame: Image.Image) -> Image.Image:
    """Return a copy with colours of 8 bits, and nothing but pixels."""
    if frame.mode.startswith("I"):  # 16 bits
        frame = frame.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    is_opaque = frame.mode in {"1", "L", "RGB", "YCbCr", "CMYK", "P"} and "transparency" not in frame.info
    copied = frame.convert("RGB" if is_opaque else "RGBA")
    if copied is frame:
        copied = frame.copy()
    copied.info = {}
    return copied


def _fitted(frame: Image.Image, rules: Files) -> Image.Image:
    scale = min(rules.width / frame.width, rules.height / frame.height)
    if scale >= 1:
        return frame
    size = (max(1, round(frame.width * scale)), max(1, round(frame.height * scale)))
    return frame.resize(size, Image.Resampling.LANCZOS)


def _look(frame: Image.Image) -> str:
    """Return the difference hash: a bit for each of 9 x 8 pixels that is clearly brighter than the next."""
    full = frame.convert("RGBA")
    shown = Image.alpha_composite(Image.new("RGBA", full.size, GREY), full)
    grey = shown.convert("L").resize(HASHED, Image.Resampling.LANCZOS).tobytes()
    width, height = HASHED
    bits = 0
    for y in range(height):
        for x in range(width - 1):
            bits = bits << 1 | (grey[y * width + x] > grey[y * width + x + 1] + NOISE)
    return f"{bits:016x}"
