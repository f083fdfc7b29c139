"""The picture that other sites show beside a link to a listing (OpenGraph), as PNG.

Invariant: no step of a drawing holds the interpreter's lock for more than some milliseconds, and the event
loop never waits for a drawing.

A thread draws. Pillow's own PNG encoder would hold the lock for the whole compression, about 20 ms; zlib
releases it. The fonts are DejaVu's: Latin, Greek, Cyrillic, Arabic and Hebrew. A name in another script is
drawn with a font of the system that has its letters; if there is none, those letters are left out.
"""

import asyncio
import struct
import zlib
from bisect import bisect_right
from functools import cache, lru_cache, partial
from math import ceil, radians
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from grammars.colours import Oklch, Rgb, on_screen, read_colour
from web.made_once import MadeOnce
from web.tones import tone_of

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

WIDTH, HEIGHT = 1_200, 630
FONTS = Path(__file__).parent / "fonts"
BOLD, REGULAR = "DejaVuSans-Bold.ttf", "DejaVuSans.ttf"
SYSTEM_FONTS = Path("/usr/share/fonts")
OTHER_SCRIPTS = ("NotoSansCJK-Bold.ttc", "NotoSansJP-Bold.otf", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf")
"""Font files for other scripts, by their names in Debian's packages."""
MARGIN, BANNER = 72, 230
ROOM = WIDTH - 2 * MARGIN
LINE = 1.3
"""The height of a line, in sizes of its letters."""
LONGEST = 200
"""The number of characters of a text that are used."""
ICON, CORNER, FRAME = 176, 42, 8
NAME_SIZE, TEXT_SIZE, SMALL_SIZE = 68, 36, 30
LEAST_SIZE = 40
"""The smallest size of the name's letters. A name that is still too long is cut."""
INK, DIM, PAPER = (23, 27, 41), (88, 95, 116), (255, 255, 255)
KEPT = 200
"""The pictures in memory, of about 30 KB each."""
MOST_WAITING = 16
"""The pictures that wait for the thread. One more gets a 503."""
_PNG = b"\x89PNG\r\n\x1a\n"


class LinkPreview(NamedTuple):
    """The texts of a picture. `foot` has the name of the platform and the kind.

    With `colours`, such as those of a theme, the first runs into the last, and the letter is drawn in them.
    """

    listing_id: str
    name: str
    text: str
    foot: str
    colours: tuple[str, ...] = ()


class LinkPreviews:
    """The pictures of a gateway. Invariant: memory keeps the newest `KEPT` ones."""

    def __init__(self) -> None:
        self._drawn = MadeOnce[LinkPreview, bytes](KEPT, lambda *_: 1, MOST_WAITING)

    async def picture(self, shown: LinkPreview) -> bytes:
        """Return a picture. Raises Unavailable if too many wait."""
        return await self._drawn.get(shown, partial(asyncio.to_thread, preview_png, shown))


def preview_png(shown: LinkPreview) -> bytes:
    """Draw a picture. It takes about 20 ms, so call it in a thread."""
    from PIL import Image, ImageDraw

    hue, pattern = tone_of(shown.listing_id)
    picture = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    colours = [read_colour(each) for each in shown.colours]
    ground, ink = (colours[0], colours[-1]) if len(colours) > 1 else (_tone(hue, 0.5), PAPER)
    picture.paste(_gradient(colours[0], colours[-1]) if colours else _banner(hue, pattern), (0, 0))
    top = BANNER - ICON // 2
    picture.paste(PAPER, (MARGIN - FRAME, top - FRAME), _rounded(ICON + 2 * FRAME, CORNER + FRAME))
    picture.paste(ground, (MARGIN, top), _rounded(ICON, CORNER))
    draw = ImageDraw.Draw(picture)
    _letter(draw, shown.name, top, ink)
    name = _Words.of(shown.name, BOLD)
    size = max(min(int(NAME_SIZE * ROOM / max(name.width(NAME_SIZE), 1)), NAME_SIZE), LEAST_SIZE)
    y = name.draw(draw, BANNER + ICON // 2 + 24, size, INK)
    _Words.of(shown.text, REGULAR).draw(draw, y + 12, TEXT_SIZE, DIM, lines=2)
    _Words.of(shown.foot, BOLD).draw(draw, HEIGHT - 60, SMALL_SIZE, DIM)
    return png(WIDTH, HEIGHT, picture.tobytes())


def png(width: int, height: int, pixels: bytes) -> bytes:
    """Return an RGB picture as PNG (RFC 2083), each row without a filter."""
    row = width * 3
    packer = zlib.compressobj(6)
    packed = [packer.compress(b"\0" + pixels[at : at + row]) for at in range(0, height * row, row)]
    content = b"".join((*packed, packer.flush()))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join((_PNG, _chunk(b"IHDR", header), _chunk(b"IDAT", content), _chunk(b"IEND", b"")))


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


@cache
def _banner(hue: int, pattern: int) -> Any:
    """Return a banner: a gradient with stripes or dots over it."""
    from PIL import Image, ImageDraw

    across = Image.new("RGB", (3, 1))
    for at, light in enumerate((0.74, 0.6, 0.47)):
        across.putpixel((at, 0), _tone(hue, light))
    picture = across.resize((WIDTH, BANNER), Image.Resampling.BICUBIC)
    draw, ink = ImageDraw.Draw(picture, "RGBA"), (255, 255, 255, 44)
    if pattern == 0:
        for radius in range(60, WIDTH, 60):
            centre = (WIDTH * 0.85, BANNER * 1.2)
            draw.circle(centre, radius, outline=ink, width=3)
    elif pattern == 1:
        for x in range(-BANNER, WIDTH, 60):
            draw.line((x, BANNER, x + BANNER // 2, 0), fill=ink, width=3)
    elif pattern == 2:
        for x in range(20, WIDTH, 40):
            for y in range(20, BANNER, 40):
                draw.circle((x, y), 4, fill=ink)
    else:
        draw.ellipse((-160, 110, 520, 520), fill=ink)
        draw.ellipse((700, -300, 1_400, 130), fill=ink)
    return picture


def _gradient(first: Rgb, last: Rgb) -> Any:
    """Return a banner in which one colour runs into another."""
    from PIL import Image

    across = Image.new("RGB", (2, 1))
    across.putpixel((0, 0), first)
    across.putpixel((1, 0), last)
    return across.resize((WIDTH, BANNER), Image.Resampling.BILINEAR)


def _letter(draw: "ImageDraw", name: str, top: int, ink: Rgb) -> None:
    words = _Words.of(name, BOLD)
    middle = (MARGIN + ICON / 2, top + ICON / 2)
    draw.text(middle, words.text[:1].upper(), ink, _font(words.file, ICON // 2), anchor="mm")


class _Words(NamedTuple):
    """A text, with the font that has most of its letters. Letters that the font lacks are left out."""

    text: str
    file: Path

    @classmethod
    def of(cls, text: str, own: str) -> "_Words":
        line = " ".join(text[:LONGEST].split())  # a font draws no line break
        letters = {*line}
        file = max(_files(own), key=lambda each: sum(_draws(each, letter) for letter in letters))
        shown = "".join(each for each in line if each == " " or _draws(file, each))
        return cls(" ".join(shown.split()), file)

    def width(self, size: int) -> float:
        width: float = _font(self.file, size).getlength(self.text)
        return width

    def draw(self, draw: "ImageDraw", y: int, size: int, colour: Rgb, lines: int = 1) -> int:
        """Draw the text, cut to the lines. Returns the height at which the next text may stand."""
        font, rest = _font(self.file, size), self.text
        for number in range(1, lines + 1):
            line = _cut(rest, font, is_last=number == lines)
            if line:
                draw.text((MARGIN, y), line, colour, font)
                y += int(size * LINE)
            rest = rest[len(line) :].lstrip()
        return y


def _cut(text: str, font: "FreeTypeFont", *, is_last: bool) -> str:
    """Return the beginning of a text that fits: whole words, with an ellipsis on the last line."""
    if font.getlength(text) <= ROOM:
        return text
    mark = "…" if is_last else ""
    fits = bisect_right(range(len(text)), ROOM, key=lambda end: ceil(font.getlength(text[:end] + mark))) - 1
    at_word = text.rfind(" ", 0, fits + 1)
    end = at_word if at_word > 0 and (not is_last or at_word > fits - 12) else fits
    return text[:end].rstrip() + mark


@cache
def _files(own: str) -> tuple[Path, ...]:
    found = [path for name in OTHER_SCRIPTS for path in SYSTEM_FONTS.rglob(name)]
    return (FONTS / own, *found)


@cache
def _rounded(size: int, corner: int) -> Any:
    """Return the mask of a square with round corners. It is drawn larger first, for smooth edges."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", (size * 4, size * 4))
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, size * 4 - 1, size * 4 - 1), corner * 4, fill=255)
    return mask.resize((size, size), Image.Resampling.LANCZOS)


@lru_cache(4_096)
def _draws(file: Path, letter: str) -> bool:
    """Return true if the font has the letter: it does not draw the sign for a missing letter."""
    mask, lacking = (_font(file, 24).getmask(each) for each in (letter, "\U000fffff"))
    return mask.size != lacking.size or bytes(mask) != bytes(lacking)


@cache
def _font(file: Path, size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.truetype(file, size)


def _tone(hue: int, light: float) -> Rgb:
    """Return a colour of a tone, with the hues of `static/site.css`."""
    return on_screen(Oklch(light, 0.13, radians(HUE_DEGREES[hue])))


HUE_DEGREES = (18, 40, 60, 132, 158, 182, 212, 240, 266, 295, 325, 355)
