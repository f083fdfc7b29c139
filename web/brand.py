"""The name, colour, logo and links of the platform, as its owner sets them. Invariant: pages, messages and
documents take the name of the platform only from here."""

from typing import NamedTuple

from msgspec import Struct

from grammars.accents import colour_of
from grammars.colours import read_colour, written
from languages.language_names import LANGUAGES, Language

PROGRAM = "Votegate"
"""The name of this program, and of a platform without its own name."""
DEFAULT_ACCENT = "#3b5bdb"
"""The accent of `static/site.css`."""


def fill_of(accent: str) -> str:
    """Return the colour of buttons in the light theme. White text is readable on it."""
    return written(colour_of("fill", "light", read_colour(accent)))


class FooterLink(NamedTuple):
    """A link of the owner in the footer."""

    text: str
    url: str


class Brand(Struct, frozen=True):
    """The name of the platform, and the parts that all pages share. A missing address is empty.

    Args:
        fill: the colour of buttons in the light theme; pictures use it.
        accent: the owner's accent, as `#rrggbb`; None for that of `site.css`.
        style: the address of the stylesheet with the owner's accent.
        logo: the address of the owner's logo. Without it, pages draw the logo of Votegate.
        icon: the address of a picture for the browser's tab. Without it, the tab shows the logo of Votegate.
        contact: the address of a page, or `mailto:`.
        terms: the address of the terms: a page of ours or of another site.
        privacy: the address of the privacy notice.
        languages: the languages of the pages. The first one is the default.
        is_powered_by: true if the footer says "Powered by Votegate".
    """

    name: str = PROGRAM
    tagline: str = ""
    fill: str = fill_of(DEFAULT_ACCENT)
    accent: str | None = None
    style: str = ""
    logo: str = ""
    icon: str = ""
    contact: str = ""
    links: tuple[FooterLink, ...] = ()
    terms: str = ""
    privacy: str = ""
    languages: tuple[Language, ...] = LANGUAGES
    is_powered_by: bool = False
