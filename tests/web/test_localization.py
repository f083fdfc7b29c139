"""web/localization.py: texts, numbers and times as each language writes them."""

import re
from gettext import NullTranslations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.language_names import LANGUAGES, Language
from languages.texts import Text
from tests.support.examples import examples
from web.localization import LocalFormats, Localization, for_operators, localization


class Shouting(NullTranslations):
    """A language whose texts are in capitals, but for the names in them."""

    def gettext(self, message: str) -> str:
        return {"{count} keys of {owner}": "{owner}: {count} KEYS", "nobody": "NOBODY"}[message]


SHOUTED = Localization("de", Shouting(), LocalFormats("de", NullTranslations()).filters())


def test_a_text_is_translated_with_its_values_in_their_places() -> None:
    said = SHOUTED.say(Text("{count} keys of {owner}", count=1_234, owner=Text("nobody")))
    assert said == "NOBODY: 1.234 KEYS"


def test_the_words_of_somebody_stay_as_they_are() -> None:
    assert SHOUTED.say("nobody") == "nobody"
    assert SHOUTED.say(Text("{count} keys of {owner}", count=1, owner="{count}")) == "{count}: 1 KEYS"


def test_a_text_of_a_template_may_hold_markup_and_its_values_may_not() -> None:
    said = localization("en").gettext("<b>%(name)s</b>", name="<i>")
    assert (said, localization("en").gettext("<b>")) == ("<b>&lt;i&gt;</b>", "<b>")


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["1 new notice", "2 new notices", "5 new notices", "1,234 new notices"]),
        ("ru", ["1 новое", "2 новых уведомления", "5 новых уведомлений", "1 234 новых уведомления"]),
        ("ja", [f"新しいお知らせが{number}件" for number in ("1", "2", "5", "1,234")]),
    ],
)
def test_a_number_has_the_form_and_the_look_of_its_language(language: Language, said: list[str]) -> None:
    spoken = localization(language)
    for number, expected in zip((1, 2, 5, 1_234), said, strict=True):
        found = spoken.ngettext("%(num)s new notice", "%(num)s new notices", number)
        assert " ".join(found.split()).startswith(expected)


def test_a_template_writes_a_text_and_leaves_any_other_value() -> None:
    value = object()
    assert SHOUTED.drawn(Text("nobody")) == "NOBODY"
    assert SHOUTED.drawn(value) is value


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_no_catalog_has_is_english(language: Language) -> None:
    assert (
        localization(language).say(Text("a text of tests with {name}", name="x")) == "a text of tests with x"
    )


def test_operators_read_numbers_and_times_as_the_log_writes_them() -> None:
    filters = for_operators().filters
    assert filters["number"](1_234_567.5) == "1,234,567.5"
    assert "2026-11-22 17:00" in filters["moment"](1_795_366_800_000)
    assert filters["ahead"](3_600) == "in 60 minutes"


NOW_MS = 1_795_366_800_000
FORMATS = {language: LocalFormats(language, NullTranslations()) for language in LANGUAGES}
DAY_MS = 86_400_000


def plain(text: str) -> str:
    """The text without markup, and with ordinary spaces."""
    return " ".join(re.sub(r"<[^>]+>", "", text).split())


@pytest.mark.parametrize(
    ("language", "number", "moment", "ago"),
    [
        ("en", "1,234,567", "Nov 22, 2026, 5:00 PM", "2 days ago"),
        ("tr", "1.234.567", "22 Kas 2026 17:00", "2 gün önce"),
        ("de", "1.234.567", "22.11.2026, 17:00", "vor 2 Tagen"),
        ("fr", "1 234 567", "22 nov. 2026, 17:00", "il y a 2 jours"),
        ("es", "1.234.567", "22 nov 2026, 17:00", "hace 2 días"),
        ("pt-BR", "1.234.567", "22 de nov. de 2026 17:00", "há 2 dias"),
        ("ru", "1 234 567", "22 нояб. 2026 г., 17:00", "2 дня назад"),
        ("ja", "1,234,567", "2026/11/22 17:00", "2 日前"),
    ],
)
def test_a_language_writes_numbers_and_times_in_its_way(
    language: Language, number: str, moment: str, ago: str
) -> None:
    formats = FORMATS[language]
    assert plain(formats.number(1_234_567)) == number
    assert plain(formats.moment(NOW_MS)) == moment
    assert plain(formats.ago(NOW_MS - 2 * DAY_MS, NOW_MS)) == ago


def test_a_moment_is_an_element_that_names_its_zone() -> None:
    start = '<time datetime="2026-11-22T17:00:00Z" title="UTC">'
    assert FORMATS["de"].moment(NOW_MS) == f"{start}22.11.2026, 17:00</time>"
    relative = FORMATS["de"].ago(NOW_MS, NOW_MS + DAY_MS)
    assert relative == start.replace("UTC", "22.11.2026, 17:00 UTC") + "vor 1 Tag</time>"


def test_a_day_is_written_as_the_rest() -> None:
    assert [FORMATS[each].day("2026-11-22") for each in ("en", "de", "ja")] == [
        *("Nov 22, 2026", "22.11.2026", "2026/11/22")
    ]


def test_what_there_is_not_is_a_dash() -> None:
    formats = FORMATS["fr"]
    assert [formats.number(None), formats.span(None), formats.moment(None), formats.ago(None, 0)] == ["–"] * 4


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0.2, "0 seconds"),
        (-3, "0 seconds"),
        (1, "1 second"),
        (90, "1 minute 30 seconds"),
        (90_061, "1 day 1 hour"),
    ],
)
def test_a_span_shows_its_two_largest_units(seconds: float, shown: str) -> None:
    assert FORMATS["en"].span(seconds) == shown


def test_a_moment_ahead_is_a_minute_away_at_least_and_never_nearer_than_it_is() -> None:
    formats = FORMATS["en"]
    assert formats.until(NOW_MS + 11_520_000, NOW_MS) == "3 hours 12 minutes"
    assert formats.until(NOW_MS + 11_519_001, NOW_MS) == "3 hours 12 minutes"
    assert [formats.until(NOW_MS + each, NOW_MS) for each in (60_000, 1, 0, -5)] == ["1 minute"] * 4


def test_less_than_a_minute_ago_and_what_another_clock_dates_ahead_is_just_now() -> None:
    shown = [plain(FORMATS["en"].ago(NOW_MS, NOW_MS + each)) for each in (-5, 0, 59_999, 60_000)]
    assert shown == [*["just now"] * 3, "1 minute ago"]


def test_a_clock_shows_the_date_too_if_the_moment_is_not_within_a_day() -> None:
    formats, zone = FORMATS["de"], 'title="22.11.2026, 17:00 UTC"'
    near = f'<time datetime="2026-11-22T17:00:00Z" {zone} data-clock="">17:00 UTC</time>'
    assert [formats.clock(NOW_MS, NOW_MS + each) for each in (-DAY_MS, 0, DAY_MS)] == [near] * 3
    far = f'<time datetime="2026-11-22T17:00:00Z" {zone} data-clock="medium">22.11.2026, 17:00 UTC</time>'
    assert formats.clock(NOW_MS, NOW_MS - DAY_MS - 1) == far


def test_the_form_of_a_unit_is_that_of_its_number() -> None:
    assert [FORMATS["ru"].span(n * 86_400) for n in (1, 3, 5)] == ["1 день", "3 дня", "5 дней"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "in 0 seconds"), (7.2, "in 8 seconds"), (61, "in 61 seconds"), (7_201, "in 3 hours")],
)
def test_a_wait_is_never_too_short(seconds: float, shown: str) -> None:
    assert FORMATS["en"].ahead(seconds) == shown


@examples(200)
@given(st.sampled_from(LANGUAGES), st.floats(0, 10**8))
def test_every_wait_and_span_has_words(language: Language, seconds: float) -> None:
    formats = FORMATS[language]
    assert re.search(r"\d", formats.ahead(seconds))
    assert re.search(r"\d", formats.span(seconds))


@examples(200)
@given(st.sampled_from(LANGUAGES), st.integers(0, 253_402_300_799_999), st.integers(0, 253_402_300_799_999))
def test_every_moment_of_the_calendar_has_words(language: Language, at_ms: int, now_ms: int) -> None:
    formats = FORMATS[language]
    assert plain(formats.moment(at_ms))
    assert plain(formats.ago(at_ms, now_ms))
