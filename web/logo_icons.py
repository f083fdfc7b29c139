"""The icons of a site, drawn from its logo: PNG pictures, and `favicon.ico`.

resvg draws them, and holds the interpreter's lock meanwhile: 11 ms for the largest icon of Votegate's logo,
and longer for a logo with many layers. So an owner's logo is drawn at the start, before the first request
(gateway/branding.py). A logo has passed `grammars/logos.py`, so it loads no file and no font.
"""

import struct
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from grammars.logos import Logo

ICO_SIDES = (16, 32, 48)
TOUCH_SIDE = 180
LARGE_SIDES = (192, 512)
"""The sides of the icons that a web manifest needs, in pixels."""
TOUCH_MARGIN = 0.1
"""The free margin of a touch icon, as a part of its side. Phones cut off its corners."""


class LogoIcons(NamedTuple):
    """The pictures of a logo.

    Args:
        ico: `favicon.ico`.
        touch: the touch icon. Its background is white, because phones show a transparent one as black.
        large: the PNG of each of `LARGE_SIDES`.
    """

    ico: bytes
    touch: bytes
    large: Mapping[int, bytes]


@cache
def logo_icons(logo: Logo) -> LogoIcons:
    """Draw the icons of a logo. A process draws each logo once."""
    return LogoIcons(
        _ico({side: _png(logo, side) for side in ICO_SIDES}),
        _png(logo, TOUCH_SIDE, margin=TOUCH_MARGIN, ground='<rect width="100%" height="100%" fill="#fff"/>'),
        {side: _png(logo, side) for side in LARGE_SIDES},
    )


def _png(logo: Logo, side: int, margin: float = 0, ground: str = "") -> bytes:
    """Draw a logo in the middle of a square."""
    from resvg_py import svg_to_bytes

    at, inner = round(side * margin), side - 2 * round(side * margin)
    picture = f"data:{logo.media_type};base64,{b64encode(logo.content).decode()}"
    return svg_to_bytes(
        svg_string=f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}">{ground}'
        f'<image x="{at}" y="{at}" width="{inner}" height="{inner}" href="{picture}"/></svg>',
        skip_system_fonts=True,
    )


_ICO_HEAD, _ICO_ENTRY = struct.Struct("<HHH"), struct.Struct("<BBBBHHII")
_IS_ICON, _PLANES, _BITS = 1, 1, 32


def _ico(pictures: Mapping[int, bytes]) -> bytes:
    """Return PNG pictures in one ICO file, which all current browsers read."""
    at = _ICO_HEAD.size + _ICO_ENTRY.size * len(pictures)
    parts = [_ICO_HEAD.pack(0, _IS_ICON, len(pictures))]
    for side, picture in pictures.items():
        parts.append(_ICO_ENTRY.pack(side, side, 0, 0, _PLANES, _BITS, len(picture), at))
        at += len(picture)
    return b"".join((*parts, *pictures.values()))
