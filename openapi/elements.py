"""Elements of HTML as text. Invariant: text is never markup. `el` escapes everything that is not `Html`."""

import re
from collections.abc import Iterable
from html import escape

_ALONE = frozenset({"meta", "link", "img", "input"})
"""Elements without content, and so without a closing tag."""


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def el(name: str, /, *children: str, **attributes: str) -> Html:
    """Return an element.

    Args:
        attributes: by name; a `_` at the end is dropped, and any other becomes a `-`. An empty text is an
            attribute without a value.
    """
    given = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + (f'="{escape(value)}"' if value else "")
        for key, value in attributes.items()
    )
    if name in _ALONE:
        return Html(f"<{name}{given}>")
    inside = "".join(child if isinstance(child, Html) else escape(child) for child in children)
    return Html(f"<{name}{given}>{inside}</{name}>")


def section(anchor: str, title: str, *content: Html) -> Html:
    return el("section", el("h2", title, id=anchor), *content)


def prose(text: str) -> list[Html]:
    """Return paragraphs with `code` and **bold**, the Markdown of the document."""
    return [el("p", *inline(" ".join(part.split()))) for part in text.split("\n\n")]


def inline(text: str) -> Iterable[str]:
    for piece in re.split(r"(`[^`]+`|\*\*[^*]+\*\*)", text):
        if piece.startswith("`"):
            yield el("code", piece[1:-1])
        elif piece.startswith("**"):
            yield el("strong", piece[2:-2])
        else:
            yield piece


def icon(icons: str, name: str, class_: str = "i") -> Html:
    """Return an icon of the site. Without the address of the icons, there is none."""
    if not icons:
        return Html("")
    return Html(f'<svg class="{class_}" aria-hidden="true"><use href="{escape(icons)}#{name}"/></svg>')
