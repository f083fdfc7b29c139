"""The languages of chat messages. Law: English is the source text; a catalog that cannot be read stops the
start.

The catalogs are `locales/<language>/LC_MESSAGES/votegate.po`. The import of this module compiles them in
memory, so no compiled file can be older than its source.
"""

import gettext
import io
from collections.abc import Callable
from importlib.resources import files
from typing import get_args

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from core.rows import Language

LANGUAGES: tuple[Language, ...] = get_args(Language)
DEFAULT_LANGUAGE: Language = "en"


def translator(language: str) -> Callable[[str], str]:
    """Return a function that translates English texts. For an unknown language it returns them unchanged."""
    return _CATALOGS.get(language, _ENGLISH).gettext


def _catalog(language: str) -> gettext.NullTranslations:
    po = files("webhook") / "locales" / language.replace("-", "_") / "LC_MESSAGES" / "votegate.po"
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(po.read_bytes()), abort_invalid=True))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


_ENGLISH = gettext.NullTranslations()
_CATALOGS: dict[str, gettext.NullTranslations] = {
    language: _catalog(language) for language in LANGUAGES if language != DEFAULT_LANGUAGE
}
