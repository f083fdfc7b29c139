"""A text of the documentation as the content of a page. Invariant: each heading has an address of its own.

    Markdown -> cmark, which drops raw HTML -> the changes below

cmark writes each tag in only one way, so regular expressions find them.
"""

import re
from html import escape, unescape
from typing import NamedTuple

from handlers.routes import DOCUMENTS, REFERENCE
from openapi.elements import Html, el

_TITLE = re.compile(r"<h1>(.*?)</h1>\n?")
_HEADING = re.compile(r"<h([23])>(.*?)</h\1>")
_CODE = re.compile(r'<pre><code(?: class="language-([\w-]+)")?>(.*?)</code></pre>', re.DOTALL)
_LINK = re.compile(r'<a href="([^"]*)">(.*?)</a>')
_TAG = re.compile(r"<[^>]+>")
_PLATFORM = re.compile(r"\bVotegate\b(?!/)")
_NAMES = {
    "sh": "Shell",
    "text": "Output",
    "python": "Python",
    "js": "JavaScript",
    "ts": "TypeScript",
    "json": "JSON",
    "http": "HTTP",
}
PAGES = {
    "api.md": REFERENCE,
    "webhooks.md": f"{REFERENCE}#webhook",
    **{each.text: each.path for each in DOCUMENTS if each.text},
}
"""The page that each text of `docs/` has, or that says the same."""


class Guide(NamedTuple):
    """The title, the content, and the headings of the first level with their addresses."""

    title: str
    content: Html
    headings: tuple[tuple[str, str], ...]


def guide_of(html: str, name: str) -> Guide:
    """Return the guide in the HTML that cmark makes from one of our texts.

    Args:
        name: the name of the platform, which replaces that of Votegate.
    """
    html = _PLATFORM.sub(lambda _: escape(name), html)
    title = _TITLE.search(html)
    headings, taken = list[tuple[str, str]](), set[str]()

    def heading(found: re.Match[str]) -> str:
        level, inside = found.groups()
        text = unescape(_TAG.sub("", inside))
        anchor = anchor_of(text, taken)
        taken.add(anchor)
        if level == "2":
            headings.append((f"#{anchor}", text))
        return el(f"h{level}", Html(inside), id=anchor)

    content = _TITLE.sub("", html, count=1)
    content = _HEADING.sub(heading, content)
    content = _CODE.sub(_block, content)
    content = _LINK.sub(_link, content).replace("<th></th>", "<td></td>")  # an empty cell is no heading
    text = unescape(_TAG.sub("", title[1])) if title is not None else ""
    return Guide(text, Html(content), tuple(headings))


def anchor_of(text: str, taken: set[str]) -> str:
    """Return the name of a heading in an address, as GitHub makes it. A repeated one gets a number."""
    name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
    others = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", each) is not None for each in taken)
    return f"{name}-{others}" if others else name


def _block(found: re.Match[str]) -> str:
    language, code = found.groups()
    title = el("header", el("span", _NAMES.get(language or "", language or "Text")))
    return el("div", title, el("pre", el("code", Html(code))), class_="block")


def _link(found: re.Match[str]) -> str:
    """Return a link to a page, or the text of one that leads to a file of the source."""
    address, text = found.groups()
    if re.match(r"https?:|/|#", address):
        return found[0]
    page = PAGES.get(address.partition("#")[0])
    return text if page is None else el("a", Html(text), href=page)
