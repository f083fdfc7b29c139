"""Templates. Law: every value is escaped, and a value that is missing is an error.

Jinja2 and the templates are loaded with the first page, in a thread: a gateway whose pages nobody asks for
pays nothing for them. All templates are compiled then, and none is read again.
"""

import asyncio
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from web import formats
from web.links import link
from web.static_files import StaticFiles, read_static_files

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent / "templates"
MACROS = {
    "ui": "macros.html",
    "debug": "debug/parts.html",
    "people": "people/parts.html",
    "manage": "people/manage_tabs.html",
    "fields": "people/listing_fields.html",
}
"""The templates of shared parts, by the name that others use. A block that is drawn alone sees no import."""
BLOCK = "content"
"""The part of a page that is its fragment."""
FRAME = "base.html"
"""The template around all pages. Its blocks are no fragments: they need values that pages do not have."""


class Drawing:
    """The loaded templates and the files that they name."""

    def __init__(self, environment: "Environment", files: StaticFiles) -> None:
        self._environment = environment
        self._frame = {*environment.get_template(FRAME).blocks} - {BLOCK}
        self.files = files

    def whole(self, template: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(template).render(values)

    def fragment(self, template: str, values: Mapping[str, Any], block: str = BLOCK) -> str:
        """Return one block of a page, without the page around it; the content if it has no such block."""
        found = self._environment.get_template(template)
        blocks = found.blocks
        draw = blocks[BLOCK] if block in self._frame else blocks.get(block, blocks[BLOCK])
        return "".join(draw(found.new_context(dict(values))))


class Templates:
    """The drawing, once it was asked for."""

    def __init__(self) -> None:
        self.drawing: Drawing | None = None
        self._loading: asyncio.Future[Drawing] | None = None

    async def load(self) -> Drawing:
        """Return the drawing. The first call loads it; calls meanwhile wait for the same one."""
        if self.drawing is None:
            if self._loading is None:
                self._loading = asyncio.ensure_future(asyncio.to_thread(load_drawing))
            self.drawing = await asyncio.shield(self._loading)
        return self.drawing


@cache
def load_drawing() -> Drawing:
    """Read and compile what the program ships with: once, whatever number of gateways a process has."""
    from jinja2 import DictLoader, Environment, StrictUndefined

    sources = {
        str(path.relative_to(FOLDER)): path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.html"))
    }
    files = read_static_files()
    environment = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["static"] = files.address
    environment.filters |= {
        "url": link,
        "number": formats.number,
        "size": formats.size,
        "span": formats.span,
        "moment": formats.moment,
        "milliseconds": formats.milliseconds,
        "share": formats.share,
    }
    for name, macros in MACROS.items():
        environment.globals[name] = environment.get_template(macros).module
    for name in sources:
        environment.get_template(name)
    return Drawing(environment, files)
