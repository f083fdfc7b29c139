"""web/localization.py: a text is said in a language, and other words stay as they are."""

from gettext import NullTranslations

import pytest

from languages.language_names import LANGUAGES, Language
from languages.texts import Text
from web.local_formats import LocalFormats
from web.localization import Localization, for_operators, localization


class Shouting(NullTranslations):
    """A language whose texts are in capitals, but for the names in them."""

    def gettext(self, message: str) -> str:
        return {"{count} keys of {owner}": "{owner}: {count} KEYS", "nobody": "NOBODY"}[message]


SHOUTED = Localization("de", Shouting(), LocalFormats("de").filters())


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
    assert "2026-11-22 17:00:00" in filters["moment"](1_795_366_800_000)
    assert filters["ahead"](3_600) == "in 60 minutes"
