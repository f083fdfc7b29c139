"""Templates. Invariant: every value is escaped, and a value that is missing is an error.

Jinja2 and the templates are loaded with the first page, in a thread: a gateway whose pages nobody asks for
pays nothing for them. Then all templates of the operator's pages, or of people's pages, are compiled, once
for all languages, and none is read again. The catalog of a language is read with the first page in it, in a
thread too.
"""

import threading
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

import msgspec
from markupsafe import Markup

from actions.history import message_error
from handlers.late import Late
from kinds.registry import BY_PLURAL
from languages.language_names import Language
from web.other_sites import link
from web.static_files import read_static_files
from web.tones import tone
from web.waveforms import waveform

if TYPE_CHECKING:
    from jinja2 import Environment

    from web.localization import Localization

FOLDER = Path(__file__).parent / "templates"
MACROS = {
    "ui": "macros.html",
    "debug": "debug/parts.html",
    "frame_parts": "people/frame_parts.html",
    "people": "people/parts.html",
    "public": "people/public_parts.html",
    "fields": "people/listing_fields.html",
    "manage": "people/manage_tabs.html",
    "servers_parts": "people/conditions.html",
    "desk": "people/review_parts.html",
}
"""The templates of shared parts, by the name that others use: each sees those before it. A block that is
drawn alone sees no import."""
KEPT: Mapping[str, Sequence[str]] = {
    "ui": ("i", "sign"),
    "frame_parts": ("start", "everything", "footer_links", "choices"),
    "public": ("card", "found", "ranked"),
}
MOST_KEPT = 2_000
"""Macros that always draw the same for the same arguments, and how many results of each are kept."""
BLOCK = "content"
"""The part of a page that is its fragment."""
FRAME = "base.html"
"""The template around all pages. Its blocks are no fragments: they need values that pages do not have."""
OPERATORS = None
"""The English of the operator's pages, in the place of a language."""
FOR_OPERATORS, FOR_PEOPLE = "debug", "people"
"""The folders of the operator's own templates and of people's own. The first page compiles one of them, and a
stop of the gateway waits for that."""
_ONE_AT_A_TIME = threading.Lock()


class Drawing:
    """The templates in one language."""

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._frame = {*environment.get_template(FRAME).blocks} - {BLOCK}

    def whole(self, template: str, values: Mapping[str, Any]) -> str:
        return self._environment.get_template(template).render(values)

    def fragment(self, template: str, values: Mapping[str, Any], block: str = BLOCK) -> str:
        """Return one block of a page, without the page around it; the content if it has no such block."""
        found = self._environment.get_template(template)
        blocks = found.blocks
        draw = blocks[BLOCK] if block in self._frame else blocks.get(block, blocks[BLOCK])
        return "".join(draw(found.new_context(dict(values))))


class Templates:
    """The drawings of all languages, each loaded by its first page."""

    def __init__(self) -> None:
        self._drawings: dict[Language | None, Late[Drawing]] = {}

    def loaded(self, language: Language | None) -> Drawing | None:
        """Return the drawing of a language if it is there."""
        known = self._drawings.get(language)
        return known.value if known is not None else None

    async def load(self, language: Language | None = OPERATORS) -> Drawing:
        """Return a drawing. The first call loads it."""
        if language not in self._drawings:
            self._drawings[language] = Late(partial(load_drawing, language))
        return await self._drawings[language].get()


def load_drawing(language: Language | None) -> Drawing:
    """Return a drawing. It is made once for all gateways of a process."""
    with _ONE_AT_A_TIME:
        return _drawing_in(language)


@cache
def _drawing_in(language: Language | None) -> Drawing:
    from web.localization import for_operators, localization

    if language is OPERATORS:
        return drawing_with(for_operators(), FOR_OPERATORS)
    return drawing_with(localization(language))


def json_in_html(value: Any) -> str:
    """Return JSON for a `<script>` of data: no character of it ends the element (HTML, 4.12.1.3)."""
    text = msgspec.json.encode(value).decode()
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 (nothing in it is markup any more)


def drawing_with(spoken: "Localization", folder: str = FOR_PEOPLE) -> Drawing:
    """Return the drawing for a localization."""
    from jinja2 import BaseLoader, Environment, Template

    codes = compiled(folder)

    class CompiledLoader(BaseLoader):
        def load(
            self,
            environment: Environment,
            name: str,
            globals: MutableMapping[str, Any] | None = None,
        ) -> Template:
            return Template.from_code(environment, codes[name], {} if globals is None else globals)

    environment = _environment(spoken)
    environment.loader = CompiledLoader()
    for name, macros in MACROS.items():
        if macros in codes:
            environment.globals[name] = environment.get_template(macros).module
        for macro in KEPT.get(name, ()) if macros in codes else ():
            module = environment.globals[name]
            setattr(module, macro, lru_cache(MOST_KEPT)(getattr(module, macro)))
    return Drawing(environment)


@cache
def compiled(folder: str) -> Mapping[str, CodeType]:
    """Read and compile the templates of a folder, and those for all pages. They know no language: they ask
    their environment."""
    from web.localization import for_operators

    environment = _environment(for_operators())
    codes = {}
    for path in sorted([*FOLDER.glob("*.html"), *(FOLDER / folder).glob("*.html")]):
        name = str(path.relative_to(FOLDER))
        codes[name] = environment.compile(path.read_text("utf-8"), name)
    return codes


def _environment(spoken: "Localization") -> "Environment":
    from jinja2 import Environment, StrictUndefined
    from jinja2.ext import InternationalizationExtension
    from jinja2.runtime import Context

    class PlainContext(Context):
        """Calls functions as they are. Jinja would look at each call whether its function asks for the
        context; none of ours does, and a page has a hundred calls."""

        def call(self, function: Callable[..., Any], /, *args: Any, **values: Any) -> Any:
            values.pop("_block_vars", None)
            values.pop("_loop_vars", None)
            return function(*args, **values)

    environment = Environment(
        extensions=[InternationalizationExtension],
        autoescape=True,
        undefined=StrictUndefined,
        finalize=spoken.drawn,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.context_class = PlainContext
    environment.policies["ext.i18n.trimmed"] = True
    environment.extend(newstyle_gettext=True)  # values are given to the functions, which escape them
    environment.globals |= {"_": spoken.gettext, "gettext": spoken.gettext, "ngettext": spoken.ngettext}
    environment.globals |= {
        "static": read_static_files().address,
        "language": spoken.language,
        "kinds": BY_PLURAL,
    }
    environment.filters |= {
        "untold": message_error,
        "url": link,
        "said": spoken.say,
        "tone": tone,
        "json_in_html": json_in_html,
        "waveform": waveform,
        **spoken.filters,
    }
    return environment
