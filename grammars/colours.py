"""Colours: as `#rrggbb`, in sRGB and in OKLCH, and their contrast.

A browser computes in OKLCH (CSS Color 4), clips each channel to what sRGB can show, and rounds it to 8 bits.
So do we.
"""

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

Rgb = tuple[int, int, int]
"""Red, green and blue, from 0 to 255."""


class Oklch(NamedTuple):
    """A colour by lightness (0 to 1), chroma and hue (radians)."""

    lightness: float
    chroma: float
    hue: float


COLOUR = "^#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3})$"
_HEX = re.compile(COLOUR)
_TO_LMS = (
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
)
_TO_LAB = (
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
)
_FROM_LAB = (
    (1.0, 0.3963377774, 0.2158037573),
    (1.0, -0.1055613458, -0.0638541728),
    (1.0, -0.0894841775, -1.2914855480),
)
_FROM_LMS = (
    (4.0767416621, -3.3077115913, 0.2309699292),
    (-1.2684380046, 2.6097574011, -0.3413193965),
    (-0.0041960863, -0.7034186147, 1.7076147010),
)
"""The matrices of OKLab (https://bottosson.github.io/posts/oklab/)."""
_CLOSE = 0.0001
_Vector = tuple[float, float, float]


def read_colour(text: str) -> Rgb:
    """Return the colour of `#rrggbb` or `#rgb`. Raises ValueError."""
    if _HEX.fullmatch(text) is None:
        raise ValueError("must be a colour such as #3b5bdb")
    digits = text[1:] if len(text) == len("#rrggbb") else "".join(2 * digit for digit in text[1:])
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:], 16)


def written(colour: Rgb) -> str:
    """Return a colour as `#rrggbb`."""
    return "#" + bytes(colour).hex()


def spelled_colour(text: str) -> str:
    """Return the one spelling of a colour that matches `COLOUR`."""
    return written(read_colour(text))


def oklch_of(colour: Rgb) -> Oklch:
    lms = _times(_TO_LMS, _vector(_linear(channel / 255) for channel in colour))
    lightness, a, b = _times(_TO_LAB, _vector(math.cbrt(each) for each in lms))
    return Oklch(lightness, math.hypot(a, b), math.atan2(b, a))


def on_screen(colour: Oklch) -> Rgb:
    """Return the colour that a screen shows: each channel clipped to sRGB."""
    red, green, blue = (round(255 * min(max(_gamma(each), 0.0), 1.0)) for each in _linear_of(colour))
    return red, green, blue


def is_in_srgb(colour: Oklch) -> bool:
    """Return true if sRGB has the colour: nothing is clipped."""
    return all(-_CLOSE <= channel <= 1 + _CLOSE for channel in _linear_of(colour))


def contrast(one: Rgb, other: Rgb) -> float:
    """Return the contrast of two colours (WCAG 2.2), from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Rgb) -> float:
    red, green, blue = (_linear(channel / 255) for channel in colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear_of(colour: Oklch) -> _Vector:
    a, b = colour.chroma * math.cos(colour.hue), colour.chroma * math.sin(colour.hue)
    lms = _times(_FROM_LAB, (colour.lightness, a, b))
    return _times(_FROM_LMS, _vector(each**3 for each in lms))


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _gamma(channel: float) -> float:
    return 12.92 * channel if channel <= 0.0031308 else 1.055 * channel ** (1 / 2.4) - 0.055


def _times(matrix: tuple[_Vector, ...], vector: _Vector) -> _Vector:
    return _vector(sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix)


def _vector(numbers: Iterable[float]) -> _Vector:
    one, two, three = numbers
    return one, two, three
