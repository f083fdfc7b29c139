"""The badge of a listing: an SVG picture for pages of other sites.

Invariant: it is well-formed XML for every name, and it loads and runs nothing.

The widths of the reader's font are unknown. So they are estimated, and `textLength` makes the text fit.
"""

import unicodedata
from html import escape

MOST_CHARACTERS = 24
"""A longer name is cut."""
HEIGHT, PADDING = 20, 7
NARROW, USUAL, WIDE = 4.0, 6.6, 11.5
"""The widths of characters at 11 pixels."""
_NARROW = frozenset("iljtfrI1.,:;'|!()[] ")
_JOINERS = frozenset("\u200d\ufe0f\ufe0e")
_CATEGORIES_WITHOUT_WIDTH = frozenset({"Mn", "Me", "Cf"})


def vote_badge(name: str, votes: int, colour: str) -> bytes:
    """Return the picture with the number of a listing's votes, white on a colour."""
    said = f"{votes:,} vote" if votes == 1 else f"{votes:,} votes"
    shown, title = shortened(in_xml(name)), escape(f"{in_xml(name)}: {said}")
    left, right = _width(shown) + 2 * PADDING, _width(said) + 2 * PADDING
    width = left + right
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
        f'<clipPath id="r"><rect width="{width}" height="{HEIGHT}" rx="4"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="{HEIGHT}" fill="#2b3240"/>'
        f'<rect x="{left}" width="{right}" height="{HEIGHT}" fill="{colour}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{_text(shown, left / 2, left - 2 * PADDING)}{_text(said, left + right / 2, right - 2 * PADDING)}"
        "</g></svg>"
    ).encode()


def in_xml(text: str) -> str:
    """Return a text without the characters that XML 1.0 cannot write."""
    return "".join(each for each in text if _is_in_xml(ord(each)))


def shortened(name: str) -> str:
    """Return a name that fits, with an ellipsis if it was longer. No character loses its marks."""
    if len(name) <= MOST_CHARACTERS:
        return name
    end = MOST_CHARACTERS - 1
    while end > 1 and (_belongs_to_last(name[end]) or name[end - 1] in _JOINERS):
        end -= 1
    return f"{name[:end].rstrip()}…"


def _belongs_to_last(character: str) -> bool:
    is_tone = "\U0001f3fb" <= character <= "\U0001f3ff"
    return character in _JOINERS or is_tone or unicodedata.category(character) in {"Mn", "Me", "Mc"}


def _is_in_xml(number: int) -> bool:
    """XML 1.0, production 2 (Char)."""
    return (
        number in {0x9, 0xA, 0xD}
        or 0x20 <= number <= 0xD7FF
        or 0xE000 <= number <= 0xFFFD
        or 0x10000 <= number <= 0x10FFFF
    )


def _width(text: str) -> int:
    return max(round(sum(map(_character_width, text))), 8)


def _character_width(character: str) -> float:
    if unicodedata.category(character) in _CATEGORIES_WITHOUT_WIDTH:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return WIDE
    return NARROW if character in _NARROW else USUAL


def _text(text: str, middle: float, length: int) -> str:
    # The anchor is the middle, so the direction moves nothing; it only orders the words of the name.
    direction = ' direction="rtl"' if _is_rtl(text) else ""
    return (
        f'<text x="{middle:g}" y="14" textLength="{length}" lengthAdjust="spacingAndGlyphs"{direction}>'
        f"{escape(text)}</text>"
    )


def _is_rtl(text: str) -> bool:
    """Return true if the first character with a strong direction goes from right to left."""
    strong = (unicodedata.bidirectional(each) for each in text)
    return next((each != "L" for each in strong if each in {"L", "R", "AL"}), False)
