"""The languages of messages. Law: English is the source text; a catalog that cannot be read stops the start.

Catalogs are texts, `locales/<language>/LC_MESSAGES/votegate.po`. They are compiled in memory, once, when this
module is imported, so no compiled file can be older than its text.
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
    """Turns an English text into its translation; for a language that is not ours it stays English."""
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
