"""The languages of chat messages. Law: a catalog that cannot be read stops the start.

The import of this module compiles the catalogs, so that no message waits for one. They are small.
"""

from collections.abc import Callable
from gettext import NullTranslations

from languages.catalogs import read_catalog
from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES


def translator(language: str) -> Callable[[str], str]:
    """Return a function that translates English texts. For an unknown language it returns them unchanged."""
    return _CATALOGS.get(language, _CATALOGS[DEFAULT_LANGUAGE]).gettext


_CATALOGS: dict[str, NullTranslations] = {
    language: read_catalog("webhook", "votegate", language) for language in LANGUAGES
}
