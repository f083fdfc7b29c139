"""languages/language_names.py: any header gives one of our languages, or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.language_names import LANGUAGES, MOST_CHARACTERS, accepted, language_of
from tests.support.examples import examples

TAGS = st.sampled_from([*LANGUAGES, "zh", "pt", "de-AT", "*", "x-klingon"])
WEIGHTS = st.integers(0, 1000).map(lambda thousandths: f"{thousandths / 1000:.3f}")
RANGES = st.lists(st.tuples(TAGS, WEIGHTS), max_size=8)


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        *((language, language) for language in LANGUAGES),
        *(("de-AT", "de"), ("EN-us", "en"), ("es-419", "es"), ("pt_BR", "pt-BR"), ("pt-PT", "pt-BR")),
        *((other, None) for other in ("zh-CN", "english", "", "-", "d", "x-de", "*")),
    ],
)
def test_a_tag_means_the_language_that_it_begins_with(tag: str, language: str | None) -> None:
    assert language_of(tag) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de", "de"),
        ("zh, fr;q=0.3, ja;q=0.7", "ja"),
        ("fr;q=0.5, de;q=0.5", "fr"),
        ("de;q=0, *", None),
        ("en;q=0.1, zh;q=0.9, *;q=0.5", "en"),
        ("de;q=0.2, de-AT;q=0.9, fr;q=0.5", "de"),
        ("ru ; q=0.4 ,\ttr", "tr"),
        ("", None),
        ("de;q=2, fr;q=x, ;;, ja;level=1, tr;q=0.1", "tr"),
        ("," * 5_000 + "de", None),
    ],
)
def test_the_heaviest_range_that_means_a_language_of_ours_counts(header: str, language: str | None) -> None:
    assert accepted(header) == language


@examples(200)
@given(st.text() | st.text(alphabet="de-frq=;,.01 *", max_size=60))
def test_any_header_names_a_language_of_ours_or_none(header: str) -> None:
    assert accepted(header) in {*LANGUAGES, None}


@examples(200)
@given(RANGES)
def test_no_other_range_of_ours_is_heavier(ranges: list[tuple[str, str]]) -> None:
    header = ", ".join(f"{tag};q={weight}" for tag, weight in ranges)[:MOST_CHARACTERS]
    heaviest = {
        language: max(float(weight) for tag, weight in ranges if language_of(tag) == language)
        for language in {language_of(tag) for tag, _ in ranges} - {None}
    }
    chosen = accepted(header)
    if chosen is None:
        assert not any(heaviest.values())
    else:
        assert heaviest[chosen] == max(heaviest.values()) > 0
