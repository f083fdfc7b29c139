"""Numbers and times as a language writes them (CLDR, by Babel). Law: a time is UTC, and says so.

A page may hold a hundred times and numbers. So patterns are read once, and what comes again is kept.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from math import ceil
from typing import Any

from babel import Locale
from babel.dates import (
    DateTimeFormat,
    format_date,
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
from languages.language_names import Language
from web.formats import NOTHING

_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_MOST_KEPT = 1_024
"""The numbers, those with a unit, and the times, that are kept."""


class LocalFormats:
    """The formats of a language."""

    def __init__(self, language: Language) -> None:
        self._locale = locale = Locale.parse(language, sep="-")
        both = str(get_datetime_format("medium", locale=locale))
        time, date = get_time_format("medium", locale).pattern, get_date_format("medium", locale).pattern
        self._pattern = parse_pattern(both.replace("{0}", time).replace("{1}", date))
        self._unit = lru_cache(_MOST_KEPT)(self._written_unit)
        self.number = lru_cache(_MOST_KEPT)(self._written_number)
        self._exactly = lru_cache(_MOST_KEPT)(self._written_moment)

    def filters(self) -> Mapping[str, Callable[..., Any]]:
        """Return the formats by the names that templates use."""
        return {
            "number": self.number,
            "span": self.span,
            "ahead": self.ahead,
            "moment": self.moment,
            "clock": self.clock,
            "day": self.day,
            "ago": self.ago,
            "until": self.until,
        }

    def _written_number(self, value: int | None) -> str:
        return format_decimal(value, locale=self._locale) if value is not None else NOTHING

    def span(self, seconds: float | None) -> str:
        """Return a span of time in its two largest units."""
        if seconds is None:
            return NOTHING
        left, parts = max(round(seconds), 0), []
        for unit, length in _UNITS:
            if left >= length:
                parts.append(self._unit(left // length, unit))
                left %= length
        return " ".join(parts[:2]) or self._unit(0, "second")

    def ahead(self, seconds: float) -> str:
        """Return a time to wait, such as "in 3 hours": never one that is too short."""
        length = next((each for _, each in _UNITS if seconds > 2 * each), 1)
        rounded = timedelta(seconds=ceil(seconds / length) * length)
        return format_timedelta(rounded, threshold=2, add_direction=True, locale=self._locale)

    def moment(self, at_ms: int | None) -> str:
        """Return a `<time>` element of a moment in Unix milliseconds."""
        if at_ms is None:
            return NOTHING
        return _element(at_ms, "UTC", self._exactly(at_ms // 1_000))

    def clock(self, at_ms: int, now_ms: int) -> str:
        """Return a `<time>` element of a moment to come: its time of day, if it comes within a day. A script
        shows that by the clock of its reader."""
        if at_ms - now_ms >= MS_PER_DAY:
            return Markup("{} UTC").format(self.moment(at_ms))
        at = datetime.fromtimestamp(at_ms / 1_000, UTC)
        text = format_time(at, "short", locale=self._locale)
        return Markup('<time datetime="{}" data-clock>{} UTC</time>').format(_iso(at_ms), text)

    def day(self, iso: str) -> str:
        """Return a day that the API names as ISO 8601 does."""
        return format_date(date.fromisoformat(iso), locale=self._locale)

    def ago(self, at_ms: int | None, now_ms: int) -> str:
        """Return a `<time>` element that says how long ago a moment was, such as "2 days ago"."""
        if at_ms is None:
            return NOTHING
        past = timedelta(milliseconds=min(at_ms - now_ms, -1))
        text = format_timedelta(past, add_direction=True, locale=self._locale)
        return _element(at_ms, f"{self._exactly(at_ms // 1_000)} UTC", text)

    def until(self, at_ms: int, now_ms: int) -> str:
        """Return how long a moment is ahead, in its two largest units: a second at least."""
        return self.span(max(at_ms - now_ms, 1_000) / 1_000)

    def _written_unit(self, value: int, unit: str) -> str:
        return format_unit(value, f"duration-{unit}", "long", locale=self._locale)

    def _written_moment(self, at_seconds: int) -> str:
        return self._pattern % DateTimeFormat(datetime.fromtimestamp(at_seconds, UTC), self._locale)


def _element(at_ms: int, title: str, text: str) -> Markup:
    return Markup('<time datetime="{}" title="{}">{}</time>').format(_iso(at_ms), title, text)


def _iso(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
