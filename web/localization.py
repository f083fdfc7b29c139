"""A language as pages use it: its texts, and its numbers and times (CLDR, by Babel).

Invariants: a text without a translation is English. A time is UTC, and says so.

People's pages use the visitor's language. The operator's are English, with numbers and times as the log and
the API write them, so that they can be compared (`formats.py`).

A page may have a hundred times and numbers. So patterns are read once, and repeated ones are kept.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import cache, lru_cache
from gettext import NullTranslations
from math import ceil
from typing import Any

from babel import Locale
from babel.dates import (
    DateTimeFormat,
    format_date,
    format_skeleton,
    format_time,
    format_timedelta,
    get_date_format,
    get_datetime_format,
    get_time_format,
    parse_pattern,
)
from babel.numbers import format_decimal
from babel.units import format_unit
from markupsafe import Markup

from core.clock import MS_PER_DAY
from languages.catalogs import read_catalog
from languages.language_names import DEFAULT_LANGUAGE, LANGUAGES, Language
from languages.texts import Text, Words
from web import formats

ROOM, DOMAIN = "web", "web"
"""The place of the catalogs."""
_MOST_KEPT = 1_024
"""The most numbers, times, and texts with a number that are kept."""


class Localization:
    """A language.

    Args:
        filters: the formats of numbers and times, by their names in templates.
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
        """Return a text in this language. Text of users stays as it is."""
        if not isinstance(words, Text):
            return words
        said = self._catalog.gettext(words.english)
        if not words.values:
            return said
        return said.format_map({name: self._value(value) for name, value in words.values.items()})

    def drawn(self, value: Any) -> Any:
        """Return a value as templates write it."""
        return self.say(value) if isinstance(value, Text) else value

    def gettext(self, english: str, /, **values: Any) -> Markup:
        """Return a text of a template, which may hold markup: its values are escaped."""
        said = self._marked.get(english)
        if said is None:
            said = self._marked[english] = Markup(self._catalog.gettext(english))  # noqa: S704 (texts of ours)
        return said % values if values else said

    def ngettext(self, one: str, many: str, number: int, /, **values: Any) -> Markup:
        """Return the form of a template's text for a number, which `%(num)s` in the text shows."""
        if not values:
            return self._counted(one, many, number)
        return self._written_count(one, many, number, **values)

    def _written_count(self, one: str, many: str, number: int, /, **values: Any) -> Markup:
        said = Markup(self._catalog.ngettext(one, many, number))  # noqa: S704 (texts of ours)
        return said % {"num": self.filters["number"](number), **values}

    def _value(self, value: Words | int) -> str:
        return str(self.filters["number"](value)) if isinstance(value, int) else self.say(value)


@cache
def _catalog(language: Language) -> NullTranslations:
    return read_catalog(ROOM, DOMAIN, language)


def localization(language: Language) -> Localization:
    """Read the catalog and the formats of a language."""
    local = LocalFormats(language, _catalog(language)).filters()
    return Localization(language, _catalog(language), {**formats.FILTERS, **local})


def in_every_language(text: Text) -> list[str]:
    """Return a text without values in all languages. Its first call reads all catalogs, in about 0.1 s."""
    return [_catalog(language).gettext(text.english) for language in LANGUAGES]


def for_operators() -> Localization:
    catalog = read_catalog(ROOM, DOMAIN, DEFAULT_LANGUAGE)
    local = LocalFormats(DEFAULT_LANGUAGE, catalog).filters()
    return Localization(DEFAULT_LANGUAGE, catalog, {**local, **formats.FILTERS})


JUST_NOW = Text("just now")
_MINUTE = timedelta(minutes=1)
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


class LocalFormats:
    """The formats of a language."""

    def __init__(self, language: Language, catalog: NullTranslations) -> None:
        self._just_now = catalog.gettext(JUST_NOW.english)
        self._locale = locale = Locale.parse(language, sep="-")
        both = str(get_datetime_format("medium", locale=locale))
        time, date = get_time_format("short", locale).pattern, get_date_format("medium", locale).pattern
        self._pattern = parse_pattern(both.replace("{0}", time).replace("{1}", date))
        self._unit = lru_cache(_MOST_KEPT)(self._written_unit)
        self.number = lru_cache(_MOST_KEPT)(self._written_number)
        self._exactly = lru_cache(_MOST_KEPT)(self._written_moment)

    def filters(self) -> Mapping[str, Callable[..., Any]]:
        """Return the formats by their names in templates."""
        return {
            "number": self.number,
            "span": self.span,
            "playing_time": self.playing_time,
            "ahead": self.ahead,
            "moment": self.moment,
            "clock": self.clock,
            "day": self.day,
            "short_day": self.short_day,
            "long_month": self.long_month,
            "month": self.month,
            "short_month": self.short_month,
            "ago": self.ago,
            "until": self.until,
        }

    def _written_number(self, value: int | None) -> str:
        return format_decimal(value, locale=self._locale) if value is not None else formats.NOTHING

    def span(self, seconds: float | None) -> str:
        """Return a span of time in its two largest units."""
        if seconds is None:
            return formats.NOTHING
        left, parts = max(round(seconds), 0), []
        for unit, length in _UNITS:
            if left >= length:
                parts.append(self._unit(left // length, unit))
                left %= length
        return " ".join(parts[:2]) or self._unit(0, "second")

    def playing_time(self, length_ms: int) -> str:
        """Return the length of a sound, such as "1.1 seconds"."""
        return self._unit(round(length_ms / 1_000, 1), "second")

    def ahead(self, seconds: float) -> str:
        """Return a time to wait, such as "in 3 hours": never one that is too short."""
        length = next((each for _, each in _UNITS if seconds > 2 * each), 1)
        rounded = timedelta(seconds=ceil(seconds / length) * length)
        return format_timedelta(rounded, threshold=2, add_direction=True, locale=self._locale)

    def moment(self, at_ms: int | None) -> str:
        """Return a `<time>` element of a moment in Unix milliseconds."""
        if at_ms is None:
            return formats.NOTHING
        return _element(at_ms, "UTC", self._exactly(at_ms // 1_000))

    def clock(self, at_ms: int, now_ms: int) -> str:
        """Return a `<time>` element of a moment: the time of day alone, if it is within a day of now.

        A script shows it in the reader's time zone.
        """
        exact = f"{self._exactly(at_ms // 1_000)} UTC"
        if abs(at_ms - now_ms) > MS_PER_DAY:
            return _element(at_ms, exact, exact, Markup(' data-clock="medium"'))
        at = datetime.fromtimestamp(at_ms / 1_000, UTC)
        text = format_time(at, "short", locale=self._locale)
        return _element(at_ms, exact, f"{text} UTC", Markup(' data-clock=""'))

    def day(self, iso: str) -> str:
        """Return a day, which the API writes in ISO 8601."""
        return format_date(date.fromisoformat(iso), locale=self._locale)

    def short_day(self, iso: str) -> str:
        """Return a day without its year."""
        return format_skeleton("MMMd", _at_noon(iso), locale=self._locale)

    def month(self, iso: str) -> str:
        """Return a month, such as 2026-01, with its year."""
        return format_skeleton("yMMM", _at_noon(f"{iso}-01"), locale=self._locale)

    def long_month(self, iso: str) -> str:
        return format_skeleton("yMMMM", _at_noon(f"{iso}-01"), locale=self._locale)

    def short_month(self, iso: str) -> str:
        return format_date(date.fromisoformat(f"{iso}-01"), "LLL", locale=self._locale)

    def ago(self, at_ms: int | None, now_ms: int) -> str:
        """Return a `<time>` element that says how long ago a moment was, such as "2 days ago": no seconds."""
        if at_ms is None:
            return formats.NOTHING
        past = timedelta(milliseconds=at_ms - now_ms)
        text = self._just_now
        if past <= -_MINUTE:
            text = format_timedelta(past, add_direction=True, locale=self._locale)
        return _element(at_ms, f"{self._exactly(at_ms // 1_000)} UTC", text)

    def until(self, at_ms: int, now_ms: int) -> str:
        """Return the time up to a moment, in its two largest units: whole minutes, never too few."""
        return self.span(max(ceil((at_ms - now_ms) / 60_000), 1) * 60)

    def _written_unit(self, value: float, unit: str) -> str:
        return format_unit(value, f"duration-{unit}", "long", locale=self._locale)

    def _written_moment(self, at_seconds: int) -> str:
        return self._pattern % DateTimeFormat(datetime.fromtimestamp(at_seconds, UTC), self._locale)


def _element(at_ms: int, title: str, text: str, clock: str = "") -> Markup:
    return Markup('<time datetime="{}" title="{}"{}>{}</time>').format(_iso(at_ms), title, clock, text)


def _at_noon(iso: str) -> datetime:
    return datetime.fromisoformat(f"{iso}T12:00:00+00:00")


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
