"""Pictures and sounds of the demo, drawn and played by code. A recipe is a line of words.

waves 3, hills 8, dots 5, blocks 1      a banner in a colour of the wheel
screen chat 3, screen panel 3, ...      a screenshot
face happy, heart 2, die 5, sign yes    an emoji
pixel mushroom                          an emoji of large pixels
spinning coin, hopping slime            an animated one
bell 0.11 C5 E5 G5 C6                   a sound: an instrument, the seconds of a note, and the notes
"""

import ctypes
import math
import os
from array import array
from collections.abc import Callable, Mapping, Sequence
from colorsys import hls_to_rgb
from functools import cache
from io import BytesIO
from operator import add
from random import Random

from PIL import Image, ImageDraw

from decoder.decoder_messages import DecodeOrder
from decoder.process import answer
from decoder.sounds import SoundInfo, library
from forms.file_fields import Decoded, Files

Colour = tuple[int, int, int]
Pen = ImageDraw.ImageDraw
SIDE, BANNER, SCREEN = 256, (900, 300), (960, 540)
HUES = 12
DARK, WHITE, YELLOW = (38, 34, 48), (255, 255, 255), (255, 205, 64)
RATE, WRITE, OGG_VORBIS = 16_000, 0x20, 0x200060
GIF_FRAMES, FRAME_MS = 12, 70


@cache
def made(recipe: str, rules: Files) -> Decoded:
    """Return the file of a recipe, as an upload to a field with these rules keeps it."""
    content = played(recipe) if rules.sort == "sound" else drawn(recipe)
    found = answer(DecodeOrder(content, rules))
    if found.file is None:
        raise ValueError(f"{recipe}: {found.code}")
    return Decoded(found.content, found.file)


# -- Pictures ------------------------------------------------------------------------------------------------


def drawn(recipe: str) -> bytes:
    """Return a picture."""
    name, *words = recipe.split()
    if name in BANNERS or name == "screen":
        size, hue = (SCREEN if name == "screen" else BANNER), int(words[-1])
        picture = Image.new("RGB", size, tone(hue, 0.16))
        draw = SCREENS[words[0]] if name == "screen" else BANNERS[name]
        draw(ImageDraw.Draw(picture), hue)
        return _saved([picture], "JPEG")
    frames = []
    for number in range(GIF_FRAMES if name in MOVING else 1):
        picture = Image.new("RGBA", (SIDE, SIDE), (0, 0, 0, 0))
        pen = ImageDraw.Draw(picture)
        if name in MOVING:
            MOVING[name](pen, number / GIF_FRAMES)
            picture = picture.resize((SIDE // 2, SIDE // 2))
            picture.putalpha(picture.getchannel("A").point(lambda alpha: 255 * (alpha > 127)))
        else:
            EMOJIS[name](pen, words[0])
        frames.append(picture)
    return _saved(frames, "GIF" if len(frames) > 1 else "PNG")


def _saved(frames: Sequence[Image.Image], kind: str) -> bytes:
    content = BytesIO()
    if len(frames) > 1:
        frames[0].save(
            content, kind, save_all=True, append_images=frames[1:], duration=FRAME_MS, loop=0, disposal=2
        )
    else:
        frames[0].save(content, kind, compress_level=1, quality=92)
    return content.getvalue()


def tone(hue: int, lightness: float, saturation: float = 0.6) -> Colour:
    """Return a colour of the wheel."""
    red, green, blue = hls_to_rgb(hue % HUES / HUES, lightness, saturation)
    return round(255 * red), round(255 * green), round(255 * blue)


def waves(pen: Pen, hue: int) -> None:
    width, height = BANNER
    for row in range(6):
        bend = [
            (x, height * (0.25 + 0.14 * row) + 26 * math.sin(x / (90 + 12 * row) + 1.7 * row))
            for x in range(0, width + 10, 10)
        ]
        pen.polygon([*bend, (width, height), (0, height)], tone(hue + row // 3, 0.24 + 0.07 * row))


def hills(pen: Pen, hue: int) -> None:
    width, height = BANNER
    pen.rectangle((0, 0, width, height), tone(hue + 1, 0.78, 0.7))
    pen.ellipse((width - 230, 40, width - 120, 150), (255, 244, 214))
    for row in range(4):
        middle, reach = width * (0.1 + 0.28 * row), 330 - 30 * row
        top = height * (0.42 + 0.12 * row)
        pen.ellipse((middle - reach, top, middle + reach, top + 2 * reach), tone(hue, 0.52 - 0.1 * row))


def dots(pen: Pen, hue: int) -> None:
    dice = Random(hue)
    width, height = BANNER
    for _ in range(60):
        x, y, reach = dice.randrange(width), dice.randrange(height), dice.randrange(6, 46)
        colour = tone(hue + dice.randrange(3), dice.uniform(0.3, 0.72))
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), colour)


def blocks(pen: Pen, hue: int) -> None:
    dice = Random(hue)
    width, height = BANNER
    for column in range(0, width, 30):
        top = height - 30 * dice.randrange(2, 8)
        for y in range(top, height, 30):
            colour = tone(hue + 3, 0.42) if y == top else tone(hue, dice.uniform(0.26, 0.34), 0.4)
            pen.rectangle((column, y, column + 28, y + 28), colour)


def screen_chat(pen: Pen, hue: int) -> None:
    dice = Random(hue)
    _side_bar(pen, hue)
    for row in range(6):
        y = 40 + 82 * row
        pen.ellipse((230, y, 278, y + 48), tone(hue + row * 5, 0.55))
        pen.rounded_rectangle((296, y, 296 + dice.randrange(90, 160), y + 14), 7, tone(hue, 0.75))
        for line in range(1 + row % 2):
            y_line = y + 24 + 22 * line
            pen.rounded_rectangle(
                (296, y_line, 296 + dice.randrange(240, 560), y_line + 14), 7, tone(hue, 0.42, 0.12)
            )


def screen_panel(pen: Pen, hue: int) -> None:
    _side_bar(pen, hue)
    for number in range(6):
        x, y = 230 + 240 * (number % 3), 50 + 230 * (number // 3)
        pen.rounded_rectangle((x, y, x + 216, y + 200), 16, tone(hue, 0.24))
        pen.ellipse((x + 20, y + 20, x + 68, y + 68), tone(hue + 2 * number, 0.6))
        for line in range(3):
            pen.rounded_rectangle(
                (x + 20, y + 90 + 28 * line, x + 190 - 34 * line, y + 104 + 28 * line), 7, tone(hue, 0.5, 0.2)
            )


def screen_bars(pen: Pen, hue: int) -> None:
    dice = Random(hue)
    _side_bar(pen, hue)
    for number in range(18):
        top = 440 - dice.randrange(60, 130) - 12 * number
        pen.rounded_rectangle(
            (240 + 38 * number, top, 264 + 38 * number, 470), 6, tone(hue + number // 9, 0.58)
        )
    pen.line((230, 478, 930, 478), tone(hue, 0.6, 0.2), 3)


def _side_bar(pen: Pen, hue: int) -> None:
    pen.rectangle((0, 0, 200, SCREEN[1]), tone(hue, 0.11))
    for row in range(9):
        shade = 0.5 if row == 2 else 0.28
        pen.rounded_rectangle(
            (24, 40 + 50 * row, 120 + row * 37 % 60, 56 + 50 * row), 8, tone(hue, shade, 0.2)
        )


def face(pen: Pen, mood: str) -> None:
    pen.ellipse((16, 16, 240, 240), (255, 176, 166) if mood == "angry" else YELLOW)
    eyes, mouth = MOODS[mood]
    EYES[eyes](pen, 92, 1)
    EYES["line" if mood == "wink" else eyes](pen, 164, -1)
    MOUTHS[mouth](pen)


EYES: Mapping[str, Callable[[Pen, int, int], None]] = {
    "dot": lambda pen, x, _: pen.ellipse((x - 14, 82, x + 14, 118), DARK),
    "line": lambda pen, x, _: pen.line((x - 20, 102, x + 20, 102), DARK, 11),
    "arch": lambda pen, x, _: pen.arc((x - 22, 86, x + 22, 128), 180, 360, DARK, 11),
    "frown": lambda pen, x, side: pen.line((x - 24 * side, 92, x + 24 * side, 112), DARK, 14),
    "glasses": lambda pen, x, _: pen.rounded_rectangle((x - 36, 78, x + 36, 124), 16, DARK),
    "heart": lambda pen, x, _: _heart(pen, x, 104, 54, (226, 45, 82)),
}
MOUTHS: Mapping[str, Callable[[Pen], None]] = {
    "smile": lambda pen: pen.arc((76, 92, 180, 200), 20, 160, DARK, 12),
    "open": lambda pen: pen.chord((78, 104, 178, 212), 0, 180, DARK),
    "sad": lambda pen: pen.arc((84, 158, 172, 240), 205, 335, DARK, 12),
    "round": lambda pen: pen.ellipse((104, 142, 152, 204), DARK),
    "flat": lambda pen: pen.line((96, 172, 160, 172), DARK, 12),
}
MOODS: Mapping[str, tuple[str, str]] = {
    "happy": ("dot", "smile"),
    "laugh": ("arch", "open"),
    "wink": ("dot", "smile"),
    "wow": ("dot", "round"),
    "sad": ("dot", "sad"),
    "angry": ("frown", "sad"),
    "sleepy": ("line", "flat"),
    "cool": ("glasses", "smile"),
    "love": ("heart", "open"),
}


def _heart(pen: Pen, x: float, y: float, width: float, colour: Colour) -> None:
    turn = [2 * math.pi * step / 60 for step in range(60)]
    points = [
        (
            x + width * 16 * math.sin(at) ** 3 / 32,
            y
            - width
            * (13 * math.cos(at) - 5 * math.cos(2 * at) - 2 * math.cos(3 * at) - math.cos(4 * at))
            / 32,
        )
        for at in turn
    ]
    pen.polygon(points, colour)


def heart(pen: Pen, hue: str) -> None:
    _heart(pen, SIDE / 2, SIDE / 2 - 6, 220, tone(int(hue), 0.58, 0.8))
    pen.ellipse((62, 62, 96, 90), tone(int(hue), 0.82, 0.8))


def die(pen: Pen, count: str) -> None:
    pen.rounded_rectangle((24, 24, 232, 232), 44, (250, 247, 240), (198, 190, 180), 6)
    near, middle, far = 76, 128, 180
    spots = {
        1: [(middle, middle)],
        2: [(near, near), (far, far)],
        3: [(near, near), (middle, middle), (far, far)],
        4: [(x, y) for x in (near, far) for y in (near, far)],
        5: [(middle, middle), *((x, y) for x in (near, far) for y in (near, far))],
        6: [(x, y) for x in (near, far) for y in (near, middle, far)],
    }
    for x, y in spots[int(count)]:
        pen.ellipse((x - 21, y - 21, x + 21, y + 21), (200, 44, 60) if count == "1" else DARK)


def sign(pen: Pen, meaning: str) -> None:
    hue = {"yes": 4, "no": 0, "wait": 1, "stop": 0}[meaning]
    pen.ellipse((16, 16, 240, 240), tone(hue, 0.46, 0.7))
    match meaning:
        case "yes":
            pen.line([(76, 134), (114, 172), (184, 90)], WHITE, 28, joint="curve")
        case "no":
            pen.line((84, 84, 172, 172), WHITE, 28)
            pen.line((172, 84, 84, 172), WHITE, 28)
        case "wait":
            pen.line([(128, 70), (128, 132), (172, 160)], WHITE, 24, joint="curve")
        case "stop":
            pen.rounded_rectangle((66, 112, 190, 144), 10, WHITE)


def pixel(pen: Pen, name: str) -> None:
    rows = PIXELS[name].split()
    size = SIDE // 16
    across, down = (16 - len(rows[0])) // 2, (16 - len(rows)) // 2
    for y, row in enumerate(rows):
        for x, letter in enumerate(row):
            if letter in PAINTS:
                left, top = size * (x + across), size * (y + down)
                pen.rectangle((left, top, left + size - 1, top + size - 1), PAINTS[letter])


PAINTS: Mapping[str, Colour] = {
    **{"k": DARK, "w": WHITE, "r": (224, 60, 66), "d": (160, 34, 52), "t": (240, 214, 178)},
    **{
        "b": (74, 144, 226),
        "c": (150, 214, 255),
        "y": (255, 205, 64),
        "o": (201, 134, 40),
        "g": (150, 158, 172),
    },
}
PIXELS = {
    "mushroom": """
        ....kkkkkk....
        ..kkrrwwrrkk..
        .krrrwwwwrrrk.
        .kwwrrwwrrwwk.
        kwwwwrrrrwwwwk
        krwwrrrrrrwwrk
        krrrrrwwrrrrrk
        kdrrrwwwwrrrdk
        .kkdddwwdddkk.
        ...kkkkkkkk...
        ..ktttttttttk.
        ..kttkttkttk..
        ..kttkttkttk..
        ..kttttttttk..
        ...kkkkkkkk...""",
    "heart": """
        ..kkk...kkk..
        .krrrk.krrrk.
        krwwrrkrrrrrk
        krwrrrrrrrrdk
        krrrrrrrrrrdk
        krrrrrrrrrrdk
        .krrrrrrrrdk.
        ..krrrrrrdk..
        ...krrrrdk...
        ....krrdk....
        .....kdk.....
        ......k......""",
    "sword": """
        ............kkk
        ...........kwck
        ..........kwcgk
        .........kwcgk.
        ........kwcgk..
        .......kwcgk...
        ......kwcgk....
        .kk..kwcgk.....
        .kokkwcgk......
        ..kookgk.......
        ...kook........
        ..kookok.......
        .kok.kook......
        kok...kkk......
        kk.............""",
    "potion": """
        ....kkkkk....
        ....koook....
        .....kck.....
        .....kck.....
        ....kcwck....
        ...kcwccck...
        ..kcwcccbck..
        .kbbbbbbbbbk.
        .kbwbbbbbbbk.
        .kbbbbbcbbbk.
        .kbbbbbbbbbk.
        ..kbbbbbbbk..
        ...kkkkkkk...""",
    "key": """
        ..kkkk.........
        .kyyyyk........
        kyykkyyk.......
        kyk..kykkkkkkkk
        kyk..kyyyyyyyyk
        kyykkyykkkyokyk
        .kyyyyk..kyk.kk
        ..kkkk....k....""",
    "gem": """
        ...kkkkkkkk...
        ..kcwccccbbk..
        .kcwccccccbbk.
        kcwwkcccckbbbk
        kkkkkkkkkkkkkk
        .kcckbccbkbbk.
        ..kcckbbkbbk..
        ...kcckkbbk...
        ....kcbbbk....
        .....kcbk.....
        ......kk......""",
}


def spinning(pen: Pen, at: float) -> None:
    """Draw a coin that turns."""
    half = max(8, abs(100 * math.cos(math.pi * at)))
    pen.ellipse((128 - half, 28, 128 + half, 228), YELLOW, (201, 134, 40), 10)
    if half > 40:
        pen.ellipse((128 - half * 0.62, 66, 128 + half * 0.62, 190), (255, 226, 130), (201, 134, 40), 6)


def hopping(pen: Pen, at: float) -> None:
    """Draw a slime that hops."""
    height = abs(math.sin(math.pi * at))
    squeeze, lift = 22 * (1 - height), 90 * height
    left, top, right, bottom = 48 - squeeze, 110 + squeeze - lift, 208 + squeeze, 236 - lift
    pen.ellipse((60 + 20 * height, 226, 196 - 20 * height, 244), (60, 90, 80))
    pen.rounded_rectangle((left, top, right, bottom), 60, (92, 201, 140), (38, 120, 82), 8)
    for x in (98, 158):
        pen.ellipse((x - 10, top + 42, x + 10, top + 68), DARK)


def turning(pen: Pen, at: float) -> None:
    """Draw dots of which one after the other is bright."""
    for number in range(8):
        turn = 2 * math.pi * number / 8
        x, y = 128 + 88 * math.cos(turn), 128 + 88 * math.sin(turn)
        is_lit = (at - number / 8) % 1
        reach = 12 + 16 * (1 - is_lit)
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), tone(7, 0.45 + 0.35 * is_lit, 0.8))


BANNERS: Mapping[str, Callable[[Pen, int], None]] = {
    "waves": waves,
    "hills": hills,
    "dots": dots,
    "blocks": blocks,
}
SCREENS: Mapping[str, Callable[[Pen, int], None]] = {
    "chat": screen_chat,
    "panel": screen_panel,
    "bars": screen_bars,
}
EMOJIS: Mapping[str, Callable[[Pen, str], None]] = {
    "face": face,
    "heart": heart,
    "die": die,
    "sign": sign,
    "pixel": pixel,
}
MOVING: Mapping[str, Callable[[Pen, float], None]] = {
    "spinning": spinning,
    "hopping": hopping,
    "turning": turning,
}


# -- Sounds --------------------------------------------------------------------------------------------------

TABLE = 2_048
HARMONICS: Mapping[str, Sequence[float]] = {
    "bell": (1, 0.5, 0, 0.28, 0, 0.12),
    "square": (1, 0, 0.33, 0, 0.2, 0, 0.14),
    "horn": (1, 0.7, 0.6, 0.45, 0.3, 0.2),
}
FADES = {"bell": 5.0, "square": 9.0, "horn": 1.2, "knock": 34.0}
"""The speed at which a note of an instrument becomes quiet, by the second."""
RINGS = {"bell": 5, "knock": 1, "square": 1, "horn": 1}
"""The length of a note of an instrument, in those of its place."""
SEMITONES = {"C": 0, "C#": 1, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}


def played(recipe: str) -> bytes:
    """Return a sound as an Ogg file."""
    instrument, seconds, *notes = recipe.split()
    step = round(RATE * float(seconds))
    ring = step * RINGS[instrument]
    mixed = [0.0] * (step * (len(notes) - 1) + ring)
    for place, note in enumerate(notes):
        if note != "-":
            begin, end = place * step, place * step + ring
            mixed[begin:end] = map(add, mixed[begin:end], _note(instrument, note, ring))
    loudest = max(max(mixed), -min(mixed))
    return _ogg(array("h", (round(26_000 * each / loudest) for each in mixed)))


@cache
def _note(instrument: str, note: str, length: int) -> Sequence[float]:
    frequency = 440 * 2 ** ((SEMITONES[note[:-1]] - 9) / 12 + int(note[-1]) - 4)
    table, turn = _cycle(instrument), TABLE * frequency / RATE
    return [table[int(at * turn) % TABLE] * level for at, level in enumerate(_levels(instrument, length))]


@cache
def _levels(instrument: str, length: int) -> Sequence[float]:
    """Return the volume of a note, sample by sample."""
    fade, soft = FADES[instrument] / RATE, RATE // 100
    return [math.exp(-fade * at) * min(1, at / 60, (length - at) / soft) for at in range(length)]


@cache
def _cycle(instrument: str) -> Sequence[float]:
    """Return one turn of the instrument's wave."""
    if instrument == "knock":
        dice = Random(instrument)
        return [dice.uniform(-1, 1) for _ in range(TABLE)]
    parts = [(number, share) for number, share in enumerate(HARMONICS[instrument], 1) if share]
    return [
        sum(share * math.sin(2 * math.pi * number * at / TABLE) for number, share in parts)
        for at in range(TABLE)
    ]


def _ogg(samples: "array[int]") -> bytes:
    lib, fd = library(), os.memfd_create("sound")
    lib.sf_writef_short.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    lib.sf_writef_short.restype = ctypes.c_int64
    try:
        sound = lib.sf_open_fd(fd, WRITE, ctypes.byref(SoundInfo(0, RATE, 1, OGG_VORBIS)), 0)
        lib.sf_writef_short(sound, samples.buffer_info()[0], len(samples))
        lib.sf_close(sound)
        return os.pread(fd, os.fstat(fd).st_size, 0)
    finally:
        os.close(fd)
