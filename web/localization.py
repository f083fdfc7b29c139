"""A language as pages speak it: its texts, its numbers, its times. Law: what is not translated is English.

People's pages speak the visitor's language. The operator's speak English, with numbers and times as the log
and the API write them, so that they can be compared.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from gettext import NullTranslations
from typing import Any

from markupsafe import Markup

from languages.catalogs import read_catalog
from languages.language_names import DEFAULT_LANGUAGE, Language
from languages.texts import Text, Words
from web import formats
from web.local_formats import LocalFormats

ROOM, DOMAIN = "web", "web"
"""Where the catalogs are."""
_MOST_KEPT = 1_024
"""The texts with a number that are kept."""


class Localization:
    """A language.

    Args:
        filters: the formats of numbers and times by the names that templates use.
    """

    def __init__(
        self, language: Language, catalog: NullTranslations, filters: Mapping[str, Callable[..., Any]]
    ) -> None:
        self.language = language
        self.filters = filters
        self._catalog = catalog
        self._marked = dict[str, Markup]()
        self._counted = lru_cache(_MOST_KEPT)(self._written_count)

    def say(self, words: Words) -> str:
        """Return a text in this language; somebody else's words as they are."""
        if not isinstance(words, Text):
            return words
        said = self._catalog.gettext(words.english)
        if not words.values:
            return said
        return said.format_map({name: self._value(value) for name, value in words.values.items()})

    def drawn(self, value: Any) -> Any:
        """Return what a template writes for a value."""
        return self.say(value) if isinstance(value, Text) else value

    def gettext(self, english: str, /, **values: Any) -> Markup:
        """Return a text of a template, which may hold markup: its values are escaped."""
        said = self._marked.get(english)
        if said is None:
            said = self._marked[english] = Markup(self._catalog.gettext(english))  # noqa: S704 (texts of ours)
        return said % values if values else said

    def ngettext(self, one: str, many: str, number: int, /, **values: Any) -> Markup:
        """Return the form of a template's text for a number, which stands in the place of `num`."""
        if not values:
            return self._counted(one, many, number)
        return self._written_count(one, many, number, **values)

    def _written_count(self, one: str, many: str, number: int, /, **values: Any) -> Markup:
        said = Markup(self._catalog.ngettext(one, many, number))  # noqa: S704 (texts of ours)
        return said % {"num": self.filters["number"](number), **values}

    def _value(self, value: Words | int) -> str:
        return str(self.filters["number"](value)) if isinstance(value, int) else self.say(value)


def localization(language: Language) -> Localization:
    """Read the catalog and the formats of a language."""
    local = LocalFormats(language).filters()
    return Localization(language, read_catalog(ROOM, DOMAIN, language), {**formats.FILTERS, **local})


def for_operators() -> Localization:
    local = LocalFormats(DEFAULT_LANGUAGE).filters()
    catalog = read_catalog(ROOM, DOMAIN, DEFAULT_LANGUAGE)
    return Localization(DEFAULT_LANGUAGE, catalog, {**local, **formats.FILTERS})
