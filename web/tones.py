"""The tone of a listing: a hue and a pattern by its id, for banners and letters. They never colour text.

Invariant: an id has the same tone at every node and after every start. `static/site.css` has the classes.
"""

import math
from functools import lru_cache
from zlib import crc32

from grammars.colours import oklch_of

HUES, PATTERNS = 12, 4
_DEGREES = (18, 40, 60, 132, 158, 182, 212, 240, 266, 295, 325, 355)
"""The hues of the tones, in order."""
_LEAST_CHROMA = 0.03
_MOST_KEPT = 4_096


@lru_cache(_MOST_KEPT)
def tone(listing_id: str) -> str:
    """Return the classes of the tone."""
    hue, pattern = tone_of(listing_id)
    return f"tone-{hue} pat-{pattern}"


def tone_of(listing_id: str) -> tuple[int, int]:
    """Return the numbers of the hue and of the pattern."""
    # The low 22 bits of a snowflake count within a millisecond: many ids have the same.
    mixed = int(listing_id) >> 22 if listing_id.isdecimal() else crc32(listing_id.encode())
    return mixed % HUES, (mixed >> 4) % PATTERNS


def nearest_tone(colour: int) -> str:
    """Return the class of the tone with the nearest hue to a colour (0xRRGGBB); empty for a grey one."""
    found = oklch_of((colour >> 16, colour >> 8 & 0xFF, colour & 0xFF))
    if found.chroma < _LEAST_CHROMA:
        return ""
    degrees = math.degrees(found.hue) % 360
    apart = [abs((each - degrees + 180) % 360 - 180) for each in _DEGREES]
    return f"tone-{apart.index(min(apart))}"
