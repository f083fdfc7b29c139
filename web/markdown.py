"""Markdown for pages. Law: a text is rendered once, off the loop, and kept while there is room.

What is kept is found by the digest of its text. It is no fact, so it is never in the journal. Texts are
rendered one after the other, so that a crowd of them takes one thread.
"""

import asyncio
import hashlib
import sys
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

MOST_BYTES = 8 * 1_048_576


class Markdown:
    """The rendered texts of a gateway.

    Args:
        most_bytes: what is kept in memory. The least recently asked for leaves first.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[bytes, Markup] = OrderedDict()
        self.kept_bytes = 0
        self._under_way: dict[bytes, asyncio.Task[Markup]] = {}
        self._turn = asyncio.Lock()

    async def html(self, text: str) -> "Markup":
        """Return the HTML of a text. It may stand in any page as it is; see prose.py.

        Whoever stops waiting stops nobody else.
        """
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(self._render(key, text))
        return await asyncio.shield(self._under_way[key])

    async def _render(self, key: bytes, text: str) -> "Markup":
        try:
            async with self._turn:
                html = await asyncio.to_thread(_markup, text)
            self._keep(key, html)
            return html
        finally:
            del self._under_way[key]

    def _keep(self, key: bytes, html: "Markup") -> None:
        self._kept[key] = html
        self.kept_bytes += _size(key, html)
        while self.kept_bytes > self._most_bytes:
            self.kept_bytes -= _size(*self._kept.popitem(last=False))


def _size(key: bytes, html: "Markup") -> int:
    return sys.getsizeof(key) + sys.getsizeof(html)


def _markup(text: str) -> "Markup":
    """Render a text. The first one loads the libraries."""
    from markupsafe import Markup

    from web.prose import prose

    return Markup(prose(text))  # noqa: S704 (prose lets through what is safe)
