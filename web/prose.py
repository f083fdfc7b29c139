"""The HTML that pages show of somebody's Markdown. Law: it holds what is listed here, and nothing else.

    text -> bounds -> cmark.py (drops raw HTML) -> the walk below -> nh3 (lets through what is listed)

The walk fits the HTML into a page. Headings stand below the page's own and leave out no level. An image
becomes a link to it, named by its alternative text. A link that may not be followed becomes its text. cmark
writes each tag in one way and escapes everything else, so the walk knows a tag by its look. nh3 trusts
neither of them: it parses what it gets as a browser does.

A text that is too much is shown as it is written. nh3 needs 0.4 seconds for 8,000 nested quotes, and cmark
makes megabytes of a wide table with thousands of short rows.
"""

import re
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from web import cmark

if TYPE_CHECKING:
    from nh3 import Cleaner

TAGS = frozenset(
    {
        *("p", "br", "hr", "h3", "h4", "h5", "h6", "em", "strong", "del", "a", "code", "pre", "blockquote"),
        *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
ALIGNMENTS = {"align": {"left", "center", "right"}}
SCHEMES = frozenset({"https", "mailto"})
REL = "nofollow ugc noopener"
PAGE_LEVEL = 2
"""The level of the page's heading that stands above the text."""

MOST_CHARACTERS = 8_192
MOST_HTML = 8 * MOST_CHARACTERS
"""`&quot;`, the longest that one character of an honest text becomes, is six."""
MOST_DEPTH = 24
MOST_CELLS = 8_192
"""Lines, times the most columns that one of them may have."""

_TAG = re.compile(
    r"<(?P<closing>/?)(?P<name>[a-z]+[1-6]?)(?P<attributes>[^>]*?)(?P<alone> /)?>"
    r"|<!-- raw HTML omitted -->\n?"
)
_ADDRESS = re.compile(r' (?:href|src)="(?P<address>[^"]*)"')
_ALT = re.compile(r' alt="(?P<text>[^"]*)"')
_REACHABLE = re.compile("https://|mailto:", re.IGNORECASE)


class _TooDeep(Exception):
    """The tags of a text are nested deeper than pages show."""


def prose(text: str) -> str:
    """Return the HTML of a text. Blocking."""
    formatted = _formatted(text)
    return let_through(f"<pre>{escape(text)}</pre>" if formatted is None else formatted)


def let_through(html: str) -> str:
    """Return the tags, attributes and addresses of some HTML that pages allow, and its text."""
    return _cleaner().clean(html)


def _formatted(text: str) -> str | None:
    """Return the HTML before nh3, or None if the text is too much."""
    if len(text) > MOST_CHARACTERS or _cells(text) > MOST_CELLS:
        return None
    html = cmark.html_of(text)
    if len(html) > MOST_HTML:
        return None
    try:
        return _Walk().over(html)
    except _TooDeep:
        return None


def _cells(text: str) -> int:
    """Return how many cells a text may have at most. A row that is short gets empty ones."""
    lines = text.replace("\r", "\n").split("\n")
    return len(lines) * max(line.count("|") for line in lines)


@cache
def _cleaner() -> "Cleaner":
    from nh3 import Cleaner

    return Cleaner(
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        tag_attribute_values={"th": ALIGNMENTS, "td": ALIGNMENTS},
        generic_attribute_prefixes=set(),
        url_schemes=set(SCHEMES),
        url_relative="deny",
        link_rel=REL,
    )


class _Walk:
    """One way through the tags of a text."""

    def __init__(self) -> None:
        self._open: list[str] = []
        """What closes each open tag; nothing if the tag was left out."""
        self._level = PAGE_LEVEL
        self._in_link = False

    def over(self, html: str) -> str:
        """Return the HTML as it fits into a page. Raises _TooDeep."""
        return _TAG.sub(self._tag, html)

    def _tag(self, tag: re.Match[str]) -> str:
        name = tag["name"]
        if name is None:
            return ""
        if tag["closing"]:
            self._in_link = self._in_link and name != "a"
            return self._open.pop()
        if name == "img":
            return self._image(tag["attributes"])
        if tag["alone"]:
            return tag[0]
        if len(self._open) == MOST_DEPTH:
            raise _TooDeep
        opening, closing = self._opened(name, tag)
        self._open.append(closing)
        return opening

    def _opened(self, name: str, tag: re.Match[str]) -> tuple[str, str]:
        """Return the tag to open and the tag that closes it."""
        if name == "a":
            self._in_link = True
            return _link(tag["attributes"])
        if name[-1].isdigit():
            self._level = min(PAGE_LEVEL + int(name[1]), self._level + 1, 6)
            return f"<h{self._level}>", f"</h{self._level}>"
        return tag[0], f"</{name}>"

    def _image(self, attributes: str) -> str:
        alt = _ALT.search(attributes)
        text = alt["text"] if alt is not None else ""
        if self._in_link or not text:
            return text
        opening, closing = _link(attributes)
        return f"{opening}{text}{closing}"


def _link(attributes: str) -> tuple[str, str]:
    """Return the two tags of a link, or nothing if its address is none that pages lead to."""
    found = _ADDRESS.search(attributes)
    if found is None or not _REACHABLE.match(found["address"]):
        return "", ""
    return f'<a href="{found["address"]}">', "</a>"
