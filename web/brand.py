"""The face of the platform, as its owner sets it. Invariant: pages, messages and documents name the platform
by this alone."""

from typing import NamedTuple

from msgspec import Struct

from grammars.accents import colour_of
from grammars.colours import read_colour, written
from languages.language_names import LANGUAGES, Language

PROGRAM = "Votegate"
"""The name of this program, and of a platform that has no name of its own."""
DEFAULT_ACCENT = "#3b5bdb"
"""The accent of `static/site.css`."""


def fill_of(accent: str) -> str:
    """Return the colour of buttons in the light theme, on which white is readable."""
    return written(colour_of("fill", "light", read_colour(accent)))


class FooterLink(NamedTuple):
    """A link of the owner's in the footer."""

    text: str
    url: str


class Brand(Struct, frozen=True):
    """The name of the platform and what stands around its pages. An address is empty if there is none.

    Args:
        fill: the colour of buttons in the light theme, for pictures.
        style: the address of the stylesheet with the owner's accent.
        logo: the address of the owner's logo. Without one, pages draw the mark of the program.
        icon: the address of a picture for the browser's tab, in place of the mark in its usual colour.
        contact: the address of a page, or `mailto:`.
        terms: the address of the terms; they are a page of ours or of another site.
        privacy: the address of the privacy notice.
        languages: the languages of the pages. The first one is for visitors who ask for none of them.
        is_powered_by: true if the pages name the program.
    """

    name: str = PROGRAM
    tagline: str = ""
    fill: str = fill_of(DEFAULT_ACCENT)
    style: str = ""
    logo: str = ""
    icon: str = ""
    contact: str = ""
    links: tuple[FooterLink, ...] = ()
    terms: str = ""
    privacy: str = ""
    languages: tuple[Language, ...] = LANGUAGES
    is_powered_by: bool = False
