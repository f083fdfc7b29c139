"""Markdown for pages: a text is rendered once, off the loop, and kept while there is room.

    text -> bounds -> cmark-gfm (drops raw HTML) -> the walk below -> nh3 (lets through what is listed)

Invariants: a page gets the tags, attributes and addresses that are listed here, and no others. All memory
that C allocated is freed.

Rendered texts are found by the digest of the text. They are no facts, so they are never in the journal.

The walk fits the HTML into a page. Headings are below the page's own and leave out no level. A link that may
not be followed becomes its text. cmark writes each tag in one way and escapes everything else, so the walk
knows a tag by its look. nh3 trusts neither of them: it parses what it gets as a browser does.

An image becomes a link to it, named by its alternative text. Where a page has an address for images
(`ImagePlace`), the first ones are shown from there, in a link to the original; a browser that gets no image
shows the text in that link. No page loads an image from elsewhere.

A text that is too much is shown as it is written. nh3 needs 0.4 seconds for 8,000 nested quotes, and cmark
makes megabytes of a wide table with thousands of short rows.

The package cmarkgfm is the library with Python functions around it. They free neither the tree nor the HTML,
so a text of 8 KiB would cost half a megabyte for ever. This module calls the functions of the library itself.
The library keeps the special characters of its extensions in one table of the process, and takes them out
after each text. So a lock lets in one text at a time.
"""

import asyncio
import ctypes
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Mapping
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from functools import cache, partial
from html import escape, unescape
from typing import TYPE_CHECKING, Any, NamedTuple

from grammars.http_urls import UrlRefused, read_url
from web.made_once import MadeOnce

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_BYTES, MOST_CHARACTERS = 8 * 1_048_576, 8_192


class ImagePlace(NamedTuple):
    """The path below which a page shows the images of a text, and the number of images that it shows."""

    path: str
    most: int


class DrawnText(NamedTuple):
    """The HTML of a text, and the addresses of the images that it shows, by their names in the path."""

    html: "Markup"
    images: Mapping[str, str]


class Markdown:
    """The rendered texts of a gateway.

    Args:
        most_bytes: the most memory for rendered texts. The least recently used leaves first.
        most_characters: the length up to which a text is rendered. A longer one is shown as it is written.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, most_characters: int = MOST_CHARACTERS) -> None:
        self._most_characters = most_characters
        self.rendered = MadeOnce[bytes, DrawnText](most_bytes, _size)

    async def html(self, text: str) -> "Markup":
        """Return the HTML of a text, which is safe in any page. A cancelled call cancels no other."""
        return (await self.drawn(text)).html

    async def drawn(self, text: str, place: ImagePlace | None = None) -> DrawnText:
        """Return the HTML of a text with its images, if the page has a place for them."""
        written = text if place is None else f"{place.path}\0{place.most}\0{text}"
        key = hashlib.sha256(written.encode("utf-8", "surrogatepass")).digest()
        drawing = partial(asyncio.to_thread, _drawn, text, self._most_characters, place)
        return await self.rendered.get(key, drawing)


def _size(key: bytes, drawn: DrawnText) -> int:
    names = sum(sys.getsizeof(name) + sys.getsizeof(url) for name, url in drawn.images.items())
    return sys.getsizeof(key) + sys.getsizeof(drawn.html) + names


def _drawn(text: str, most_characters: int, place: ImagePlace | None) -> DrawnText:
    """Render a text. The first one loads the libraries."""
    from markupsafe import Markup

    if place is None:
        return DrawnText(Markup(prose(text, most_characters)), {})  # noqa: S704 (prose lets through what is safe)
    html, images = prose_with_images(text, place, most_characters)
    return DrawnText(Markup(html), images)  # noqa: S704 (so does this)


_IMAGE = re.compile(r"<img (?P<attributes>[^<>]*)>")


class ImageSize(NamedTuple):
    """The sides of an image, in pixels. Both are 0 for one that cannot be shown."""

    width: int
    height: int


def with_sizes(drawn: DrawnText, size_of: Callable[[str], ImageSize | None]) -> "Markup":
    """Return the HTML with the sizes of the images that are known, so that the page does not jump.

    An image that cannot be shown becomes its text.

    Args:
        size_of: returns the size of the image with an address; None if it is not known.
    """
    from markupsafe import Markup

    def sized(tag: re.Match[str]) -> str:
        attributes = tag["attributes"]
        found, alt = _ADDRESS.search(f" {attributes}"), _ALT.search(f" {attributes}")
        url = drawn.images.get(found["address"].rpartition("/")[2]) if found is not None else None
        size = size_of(url) if url is not None else None
        if size is None:
            return tag[0]
        if not size.width:
            return escape(unescape(alt["text"])) if alt is not None else ""
        return f'<img {attributes} width="{size.width}" height="{size.height}">'

    return Markup(_IMAGE.sub(sized, drawn.html)) if drawn.images else drawn.html  # noqa: S704 (numbers alone)


if TYPE_CHECKING:
    from nh3 import Cleaner

TAGS = frozenset(
    {
        *(
            "p",
            "br",
            "hr",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "em",
            "strong",
            "del",
            "a",
            "code",
            "pre",
            "blockquote",
        ),
        *("ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td"),
    }
)
ATTRIBUTES = {"a": {"href"}, "ol": {"start"}}
ALIGNMENTS = {"align": {"left", "center", "right"}}
LEFT_TO_RIGHT = {"dir": {"ltr"}}
"""In a right-to-left text, code stays left to right."""
SCHEMES = frozenset({"https", "mailto"})
REL = "nofollow ugc noopener"
PAGE_LEVEL, LEAST_LEVEL = 1, 6
"""The level of the page's heading above the text, whose first one is an h2; and the last level of HTML."""

LONGEST_CHARACTER = 8
"""The most HTML for each character of a text. Without bad intent it is at most six: `&quot;`."""
MOST_DEPTH = 24
MOST_CELLS = 8_192
"""The lines of a text, times the columns of its widest line."""

_TAG = re.compile(
    r"<(?P<closing>/?)(?P<name>[a-z]+[1-6]?)(?P<attributes>[^>]*?)(?P<alone> /)?>"
    r"|<!-- raw HTML omitted -->\n?"
)
_ADDRESS = re.compile(r' (?:href|src)="(?P<address>[^"]*)"')
_ALT = re.compile(r' alt="(?P<text>[^"]*)"')
_REACHABLE = re.compile("https://|mailto:", re.IGNORECASE)


class _TooDeep(Exception):
    """The tags of a text are nested too deep for pages."""


def prose(text: str, most_characters: int = MOST_CHARACTERS) -> str:
    """Return the HTML of a text. Blocking."""
    formatted = _formatted(text, most_characters)
    return let_through(f"<pre>{escape(text)}</pre>" if formatted is None else formatted)


def prose_with_images(
    text: str, place: ImagePlace, most_characters: int = MOST_CHARACTERS
) -> tuple[str, Mapping[str, str]]:
    """Return the HTML of a text with its images, and the addresses of those by their names. Blocking."""
    walk = _Walk(place.most)
    formatted = _formatted(text, most_characters, walk)
    if formatted is None or not walk.images:
        return prose(text, most_characters), {}
    return _cleaner_with(place.path, walk.images).clean(formatted), walk.images


def let_through(html: str) -> str:
    """Return the tags, attributes and addresses of some HTML that pages allow, and its text."""
    return _cleaner().clean(html)


def _formatted(text: str, most_characters: int, walk: "_Walk | None" = None) -> str | None:
    """Return the HTML before nh3, or None if the text is too much."""
    if len(text) > most_characters or _cells(text) > MOST_CELLS:
        return None
    html = html_of(text)
    if len(html) > LONGEST_CHARACTER * most_characters:
        return None
    try:
        return (walk or _Walk()).over(html)
    except _TooDeep:
        return None


def _cells(text: str) -> int:
    """Return the most cells that a text may have. A short row gets empty ones."""
    lines = text.replace("\r", "\n").split("\n")
    return len(lines) * max(line.count("|") for line in lines)


_VALUES: Mapping[str, Any] = {
    **dict.fromkeys(("th", "td"), ALIGNMENTS),
    **dict.fromkeys(("code", "pre"), LEFT_TO_RIGHT),
}
_RULES: Mapping[str, Any] = {
    "generic_attribute_prefixes": set(),
    "url_schemes": set(SCHEMES),
    "link_rel": REL,
}


@cache
def _cleaner() -> "Cleaner":
    from nh3 import Cleaner

    return Cleaner(
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        tag_attribute_values=dict(_VALUES),
        url_relative="deny",
        **_RULES,
    )


def _cleaner_with(path: str, images: Mapping[str, str]) -> "Cleaner":
    """Return a cleaner that lets through these images, from our own path alone."""
    from nh3 import Cleaner

    paths = {url: f"{path}/{name}" for name, url in images.items()}
    ours = frozenset(paths.values())

    def from_us(tag: str, attribute: str, value: str) -> str | None:
        return paths.get(value) if (tag, attribute) == ("img", "src") else value

    return Cleaner(
        tags={*TAGS, "img"},
        attributes={**ATTRIBUTES, "img": {"src", "alt"}},
        tag_attribute_values={**_VALUES, "img": {"loading": {"lazy"}}},
        attribute_filter=from_us,
        url_relative=lambda url: url if url in ours else None,
        **_RULES,
    )


def image_name(url: str) -> str:
    """Return the name of an image in its path."""
    return hashlib.sha256(url.encode()).hexdigest()[:32]


class _Walk:
    """One way through the tags of a text. `images` has the addresses of the images to show, by their names.

    Args:
        most_images: the number of images to show; the others become links.
    """

    def __init__(self, most_images: int = 0) -> None:
        self._left = most_images
        self.images: dict[str, str] = {}
        self._open: list[str] = []
        """The closing tag of each open tag; empty if the tag was left out."""
        self._ranks: list[int] = []
        """The ranks of the headings around this place, as the text has them."""
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
            return self._heading(int(name[1]))
        if name == "pre" or (name == "code" and self._open[-1:] != ["</pre>"]):
            return f'<{name} dir="ltr">', f"</{name}>"
        return tag[0], f"</{name}>"

    def _heading(self, rank: int) -> tuple[str, str]:
        """Return the tags of a heading, one level below the nearest one of a higher rank."""
        while self._ranks and self._ranks[-1] >= rank:
            self._ranks.pop()
        self._ranks.append(rank)
        level = min(PAGE_LEVEL + len(self._ranks), LEAST_LEVEL)
        return f"<h{level}>", f"</h{level}>"

    def _image(self, attributes: str) -> str:
        alt = _ALT.search(attributes)
        text = alt["text"] if alt is not None else ""
        opening, closing = ("", "") if self._in_link or not text else _link(attributes)
        address = self._shown(attributes)
        shown = f'<img src="{address}" alt="{text}" loading="lazy">' if address else text
        return f"{opening}{shown}{closing}"

    def _shown(self, attributes: str) -> str:
        """Return the address of an image that is shown; empty for one that becomes a link."""
        found = _ADDRESS.search(attributes)
        url = unescape(found["address"]) if found is not None else ""
        if not self._left or not _may_be_shown(url):
            return ""
        self._left -= 1
        self.images[image_name(url)] = url
        return escape(url)


def _may_be_shown(url: str) -> bool:
    try:
        return read_url(url).scheme == "https"
    except UrlRefused:
        return False


def _link(attributes: str) -> tuple[str, str]:
    """Return the two tags of a link, or nothing if pages do not lead to its address."""
    found = _ADDRESS.search(attributes)
    if found is None or not _REACHABLE.match(found["address"]):
        return "", ""
    return f'<a href="{found["address"]}">', "</a>"


SAFE_OPTIONS = 0
"""The library's default options: raw HTML is left out, and `javascript:` and its like lead nowhere."""
EXTENSIONS = (b"table", b"strikethrough", b"autolink")

_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "cmark_gfm_core_extensions_ensure_registered": (None,),
    "cmark_find_syntax_extension": (c_void_p, c_char_p),
    "cmark_parser_new": (c_void_p, c_int),
    "cmark_parser_attach_syntax_extension": (c_int, c_void_p, c_void_p),
    "cmark_parser_get_syntax_extensions": (c_void_p, c_void_p),
    "cmark_parser_feed": (None, c_void_p, c_char_p, c_size_t),
    "cmark_parser_finish": (c_void_p, c_void_p),
    "cmark_render_html": (c_void_p, c_void_p, c_int, c_void_p),
    "cmark_node_free": (None, c_void_p),
    "cmark_parser_free": (None, c_void_p),
    "free": (None, c_void_p),
}
"""The types of the result and of the arguments of each function."""
_one_at_a_time = threading.Lock()


@cache
def _library() -> ctypes.CDLL:
    from cmarkgfm import _cmark

    library = ctypes.CDLL(_cmark.__file__)
    for name, (gives, *takes) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = gives, takes
    library.cmark_gfm_core_extensions_ensure_registered()
    return library


def html_of(text: str) -> str:
    """Return the HTML of a text. Blocking; other threads run meanwhile."""
    written = text.encode("utf-8", "replace")
    with _one_at_a_time:
        library = _library()
        parser = library.cmark_parser_new(SAFE_OPTIONS)
        try:
            for name in EXTENSIONS:
                found = library.cmark_find_syntax_extension(name)
                library.cmark_parser_attach_syntax_extension(parser, found)
            library.cmark_parser_feed(parser, written, len(written))
            tree = library.cmark_parser_finish(parser)
            html = library.cmark_render_html(
                tree, SAFE_OPTIONS, library.cmark_parser_get_syntax_extensions(parser)
            )
            try:
                return ctypes.string_at(html).decode()
            finally:
                library.free(html)
                library.cmark_node_free(tree)
        finally:
            library.cmark_parser_free(parser)
