"""Catalogs of translations (GNU gettext, PO files). English has none, because it is the source text.

A room keeps the catalogs of its texts in `locales/<language>/LC_MESSAGES/<domain>.po`.
"""

import gettext
import io
from importlib.resources import files

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from languages.language_names import DEFAULT_LANGUAGE, Language


def read_catalog(room: str, domain: str, language: Language) -> gettext.NullTranslations:
    """Read and compile a catalog. Raises an error of Babel's if it cannot be read."""
    if language == DEFAULT_LANGUAGE:
        return gettext.NullTranslations()
    po = files(room) / "locales" / language.replace("-", "_") / "LC_MESSAGES" / f"{domain}.po"
    compiled = io.BytesIO()
    write_mo(compiled, read_po(io.BytesIO(po.read_bytes()), abort_invalid=True))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
