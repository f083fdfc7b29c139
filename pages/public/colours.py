"""The two colours of a listing: their picture at an address of its own, and their contrast."""

import re
from typing import NamedTuple

from core.rows import Listing
from grammars.colours import contrast, read_colour
from handlers.reply import Reply
from kinds.kind import Profile
from kinds.registry import kind_of
from languages.refusals import Refusal
from pages.page import Page, PageCall
from web.colour_pictures import colour_room
from web.pages import NO_VARY, tagged

HEADERS = {
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": "default-src 'none'; sandbox",
    **NO_VARY,
}
READABLE, READABLE_IF_LARGE = 4.5, 3.0
"""The contrasts of WCAG 2.2 (1.4.3) for text, and for large text."""
_PAIR = re.compile("([0-9a-f]{6})-([0-9a-f]{6})")


class ShownColours(NamedTuple):
    """The colours of a listing as a page shows them, with the address of their picture."""

    primary: str
    secondary: str
    picture: str
    contrast: float

    @property
    def is_readable(self) -> bool:
        return self.contrast >= READABLE

    @property
    def is_readable_if_large(self) -> bool:
        return self.contrast >= READABLE_IF_LARGE


def colours_of(row: Listing, profile: Profile | None = None) -> ShownColours | None:
    """Return the colours of a profile, by default the public one; None if its kind has no two colours."""
    kind = kind_of(row.ref)
    if kind.colours is None:
        return None
    one, other = (str(getattr(profile or row.profile, name)) for name in kind.colours)
    picture = f"/{kind}/colours/{one[1:]}-{other[1:]}"
    return ShownColours(one, other, picture, contrast(read_colour(one), read_colour(other)))


def picture(page: PageCall) -> Reply:
    """Return the picture of the two colours in the path. Raises Refusal."""
    found = _PAIR.fullmatch(page.call.ids[0])
    if found is None:
        raise Refusal("no_such_path")
    drawn = colour_room(f"#{found[1]}", f"#{found[2]}")
    return tagged(page.visit.request, drawn, HEADERS, "image/svg+xml")


COLOURS = Page[None](
    path="/{kind}/colours/{pair}", of="colours", visitors="anyone", show=picture, has_json=False
)
