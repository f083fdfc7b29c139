"""The tone of a listing: a hue and a pattern by its id, for banners and letters. They never colour text.

Invariant: an id has the same tone at every node and after every start. `static/site.css` has the classes.
"""

from functools import lru_cache
from zlib import crc32

HUES, PATTERNS = 12, 4
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
