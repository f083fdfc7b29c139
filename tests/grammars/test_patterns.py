"""grammars/patterns.py: ids, header values, and the invisible characters that texts of forms may have."""

import re
import sys
import unicodedata
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forms.fields import Form
from forms.reading import read
from grammars import patterns
from grammars.patterns import HEADER_VALUE, MAX_SNOWFLAKE, is_header_value, is_snowflake
from kinds.bots import BOTS
from kinds.servers import SERVERS
from languages.refusals import Invalid
from listings.forms import Denial, KeyName
from tests.support.examples import examples
from tests.support.form_bodies import BOT_BODY, SERVER_BODY, Body, form_schema, without, wrong_fields

BOT_EDIT, SERVER_EDIT = without(BOT_BODY, "id"), without(SERVER_BODY, "id")
ONE_LINE: list[tuple[type[Form], Body, str]] = [
    (BOTS.submission, BOT_BODY, "name"),
    (BOTS.submission, BOT_BODY, "short_description"),
    (BOTS.edit, BOT_EDIT, "name"),
    (BOTS.edit, BOT_EDIT, "short_description"),
    (SERVERS.submission, SERVER_BODY, "name"),
    (SERVERS.submission, SERVER_BODY, "keywords"),
    (SERVERS.edit, SERVER_EDIT, "name"),
    (SERVERS.edit, SERVER_EDIT, "keywords"),
    (KeyName, {}, "name"),
]
PROSE: list[tuple[type[Form], Body, str]] = [
    (BOTS.submission, BOT_BODY, "description"),
    (BOTS.edit, BOT_EDIT, "description"),
    (Denial, {}, "reason"),
]
OPTIONAL: list[tuple[type[Form], Body, str]] = [
    (SERVERS.submission, SERVER_BODY, "description"),
    (SERVERS.edit, SERVER_EDIT, "description"),
]
EMBEDDINGS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
MARKS = "\u061c\u200e\u200f"
SPELT_BY_NUMBERS = {0x600: 0x605, 0x6DD: 0x6DD, 0x70F: 0x70F, 0x890: 0x891, 0x8E2: 0x8E2}
"""Arabic and Syriac signs that enclose the characters behind them: of category Cf, but visible."""
SEEN_FORMATS = {
    chr(point) for first, last in SPELT_BY_NUMBERS.items() for point in range(first, last + 1)
} | {"\U000110bd", "\U000110cd"}
IGNORABLE = (
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\ufe00\ufe0f\uffa0\U000e0100\U000e01ef"
)
"""Characters that are Default_Ignorable_Code_Point, of other categories than Cf."""
EMOJI = [
    "👩‍💻 Coder",
    "❤️",
    "🏴󠁧󠁢󠁥󠁮󠁧󠁿 England",
    "👨‍👩‍👧‍👦",
    "☁︎ Weather",
    "کتاب‌خانه",
    "क्‍ष",
]
"""Emoji that are joined, styled or in tags; words with a non-joiner (Persian) and a joiner (Devanagari)."""


def long_enough(text: str, name: str) -> object:
    """Return a value for the field that has the text."""
    if name == "keywords":
        return [text]
    return text * 40 if name == "description" else text * 16 if name == "short_description" else text


def reason(rule: tuple[type[Form], Body, str], text: str) -> str:
    form, body, name = rule
    (found,) = wrong_fields(form, {**body, name: long_enough(text, name)}).values()
    return found


def is_taken(rule: tuple[type[Form], Body, str], text: str) -> bool:
    form, body, name = rule
    value = long_enough(text, name)
    try:
        read(form, {**body, name: value})
    except Invalid:
        return False
    return True


def names(rules: list[tuple[type[Form], Body, str]]) -> list[str]:
    return [f"{form.__name__}.{name}" for form, _, name in rules]


@pytest.mark.parametrize("rule", ONE_LINE + PROSE, ids=names(ONE_LINE + PROSE))
def test_a_text_of_invisible_characters_alone_is_refused_with_the_reason(
    rule: tuple[type[Form], Body, str],
) -> None:
    for text in (
        "\u200b",
        "\u3164",
        "\u00ad",
        "\ufe0f",
        "\u2800",
        "\U000e0020",
        " \u200d\u2060",
        "\u115f\u1160",
    ):
        assert reason(rule, text) == "must have a character that can be seen"


def test_every_format_character_and_every_ignorable_one_is_invisible() -> None:
    """Default_Ignorable_Code_Point is derived from Cf, so that no later version of Unicode is missed."""
    for point in range(sys.maxunicode + 1):
        character = chr(point)
        formats = unicodedata.category(character) == "Cf" and character not in SEEN_FORMATS
        if formats or character in IGNORABLE or unicodedata.category(character) in {"Zs", "Zl", "Zp", "Cc"}:
            assert not is_taken((KeyName, {}, "name"), character), hex(point)
    assert all(is_taken((KeyName, {}, "name"), character) for character in SEEN_FORMATS)


@pytest.mark.parametrize("rule", ONE_LINE, ids=names(ONE_LINE))
def test_a_text_on_one_line_has_no_bidirectional_controls_and_no_line_separators(
    rule: tuple[type[Form], Body, str],
) -> None:
    for character in EMBEDDINGS + MARKS:
        named = f"U+{ord(character):04X} {unicodedata.name(character)}"
        assert reason(rule, f"a{character}b") == f"must not change the direction of text with {named}"
    assert reason(rule, "a\u2028b") == "must be on one line, without U+2028 LINE SEPARATOR"
    assert reason(rule, "a\u2029b") == "must be on one line, without U+2029 PARAGRAPH SEPARATOR"
    assert reason(rule, "a\nb") == "must be on one line, without U+000A"
    assert reason(rule, "a\x07b") == "must have no control characters, such as U+0007"


@pytest.mark.parametrize("rule", PROSE + OPTIONAL, ids=names(PROSE + OPTIONAL))
def test_a_longer_text_may_have_line_breaks_and_marks_but_no_bidirectional_overrides(
    rule: tuple[type[Form], Body, str],
) -> None:
    for text in ("a\nb", "a\r\n\tb", "a\u2028b\u2029", "\u05d0\u200f!\u200e", "\u061c\u0627"):
        form, body, name = rule
        read(form, {**body, name: text.ljust(32, ".")})
    for character in EMBEDDINGS:
        assert "must not change the direction of text" in wrong_text(rule, f"a{character}b")
    assert "must have no control characters" in wrong_text(rule, "a\x0cb")


def wrong_text(rule: tuple[type[Form], Body, str], text: str) -> str:
    form, body, name = rule
    return wrong_fields(form, {**body, name: text.ljust(32, ".")})[name]


@pytest.mark.parametrize("rule", ONE_LINE + PROSE, ids=names(ONE_LINE + PROSE))
def test_emoji_with_joiners_and_variation_selectors_stay_allowed(rule: tuple[type[Form], Body, str]) -> None:
    form, body, name = rule
    least = 32 if name == "description" else 16 if name == "short_description" else 1
    for text in EMOJI:
        value = text.ljust(least, "!")
        read(form, {**body, name: [value] if name == "keywords" else value})


@pytest.mark.parametrize("form", [BOTS.submission, SERVERS.submission, Denial, KeyName])
def test_the_json_schema_refuses_the_same_characters_everywhere_in_unicode(form: type[Form]) -> None:
    """Both engines read the classes alike, beyond U+FFFF too."""
    schema = jsonschema_rs.validator_for(form_schema(form))
    of_kinds: dict[type[Form], Body] = {BOTS.submission: BOT_BODY, SERVERS.submission: SERVER_BODY}
    body = of_kinds.get(form, {})
    (name,) = {"name", "reason"} & set(form.__struct_fields__)
    planes = [*range(0x3500), *range(0xFE00, 0x10000), *range(0x13400, 0x13460), *range(0x1BC90, 0x1BCB0)]
    planes += [*range(0x1D150, 0x1D180), *range(0xDFFF0, 0xE0210), *range(0xE0FF0, 0xE1010)]
    for point in planes:
        value = {**body, name: chr(point)}
        assert schema.is_valid(value) == is_taken((form, dict(body), name), chr(point)), hex(point)


def test_a_pattern_names_no_character_that_an_editor_would_hide() -> None:
    """The characters beyond U+FFFF are escaped where they are written, although they stand in the pattern."""
    source = Path(patterns.__file__).read_text()
    assert re.fullmatch(r"[\n -~]*", source)


@pytest.mark.parametrize("text", ["!", "~", "a b", "Bearer ~!"])
def test_visible_ascii_is_a_header_value(text: str) -> None:
    assert is_header_value(text)
    assert re.search(HEADER_VALUE, text)


@pytest.mark.parametrize("text", ["", " ", " a", "a ", "a\tb", "a\nb", "a\n", "\u00e9", "a\x7f", "\0"])
def test_anything_else_is_no_header_value(text: str) -> None:
    assert not is_header_value(text)


@examples(200)
@given(st.integers(10**16, MAX_SNOWFLAKE))
def test_every_64_bit_number_of_17_to_20_digits_is_a_snowflake(number: int) -> None:
    assert is_snowflake(str(number))


@examples(200)
@given(st.integers(0, 10**16 - 1) | st.integers(MAX_SNOWFLAKE + 1, 10**25))
def test_no_other_number_is_a_snowflake(number: int) -> None:
    assert not is_snowflake(str(number))


@examples(500)
@given(st.text(st.sampled_from("0123456789+-_ .e\n١１²"), min_size=15, max_size=22))
def test_only_ascii_digits_without_a_leading_zero_spell_one(text: str) -> None:
    assert is_snowflake(text) == bool(re.fullmatch(r"[1-9][0-9]{16,19}", text) and int(text) < 2**64)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1234567890123456",
        "123456789012345678901",
        "012345678901234567",
        "+12345678901234567",
        "-12345678901234567",
        " 12345678901234567",
        "12345678901234567\n",
        "1234567890_1234567",
        "12345678901234567.0",
        "0x1234567890123456",
        "１２３４５６７８９０１２３４５６７８",
        "٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣",
        "1234567890123456²",
        "18446744073709551616",
    ],
)
def test_what_looks_like_an_id_but_is_none(text: str) -> None:
    assert not is_snowflake(text)


@pytest.mark.parametrize("length", [17, 18, 19])
def test_the_smallest_and_the_largest_of_each_length(length: int) -> None:
    assert is_snowflake("1" + "0" * (length - 1))
    assert is_snowflake("9" * length)


def test_the_largest_of_all() -> None:
    assert is_snowflake("18446744073709551615")
