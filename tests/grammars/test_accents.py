"""An accent: its tokens are those of the stylesheet. One without enough contrast is refused, with another."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.accents import PAIRS, TOKENS, Formulas, colour_of, faint_pairs, nearest, read_accent
from grammars.colours import contrast, oklch_of, read_colour, written
from tests.support.gateways import ROOT

COLOURS = st.tuples(*[st.integers(0, 255)] * 3)
UNBOUNDED = {**TOKENS, "fill": Formulas("oklch(from var(--accent) l c h)", TOKENS["fill"].dark)}
"""A light button in the very accent, as a later edit of the stylesheet could have it."""


def formulas_of_the_stylesheet() -> Mapping[str, Formulas]:
    """The tokens that are a pair of a light and a dark colour, or the same colour twice."""
    style = (ROOT / "web/static/site.css").read_text()
    tokens = style[style.index("@layer tokens {") : style.index("@layer base {")]
    return {
        name: Formulas(light, dark)
        for name, light, dark in re.findall(
            r"--([a-z-]+): light-dark\((#[0-9a-f]+|oklch\(.+? h\)), (oklch\(.+? h\))\);", tokens
        )
    }


def test_the_formulas_are_those_of_the_stylesheet() -> None:
    written_there = formulas_of_the_stylesheet()
    assert {name: written_there.get(name) for name in TOKENS} == TOKENS
    assert {*TOKENS} == {each for pair in PAIRS for each in (pair.front, pair.back)}


def test_the_default_accent_is_that_of_the_stylesheet() -> None:
    from web.brand import DEFAULT_ACCENT
    from web.brand_files import MARK

    assert f"--accent: {DEFAULT_ACCENT};" in (ROOT / "web/static/site.css").read_text()
    assert f'fill="{DEFAULT_ACCENT}"' in (ROOT / "web/static" / MARK).read_text()


@given(COLOURS)
def test_under_any_accent_each_pair_has_its_contrast_because_the_stylesheet_bounds_the_tones(
    accent: tuple[int, int, int],
) -> None:
    assert [*faint_pairs(accent)] == []
    assert read_accent(written(accent)) == written(accent)


@pytest.mark.parametrize(
    "text", ["", "red", "3b5bdb", "#3b5bd", "#3b5bdbff", "#gggggg", " #3b5bdb", "#3b5bdb\n"]
)
def test_a_text_that_is_no_colour_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape("must be a colour such as #3b5bdb")):
        read_accent(text)


def test_a_short_colour_is_written_out() -> None:
    assert read_accent("#1A8") == "#11aa88"


def test_an_accent_without_enough_contrast_is_refused_by_its_pair_with_one_that_works() -> None:
    with pytest.raises(ValueError, match="on-fill on fill has 1") as refused:
        read_accent("#ffe600", UNBOUNDED)
    reason = str(refused.value)
    assert reason.startswith("has too little contrast: in the light theme, on-fill on fill has ")
    assert "and needs 4.5; the nearest colour that works is #" in reason
    assert read_accent(reason[-7:], UNBOUNDED) == reason[-7:]


@pytest.mark.parametrize("text", ["#ffe600", "#7cfc00", "#00ffff", "#ff8fab", "#c0c0c0", "#ffffff"])
def test_the_nearest_colour_works_and_has_the_same_hue(text: str) -> None:
    accent = read_colour(text)
    near = nearest(accent, UNBOUNDED)
    assert near is not None
    assert [*faint_pairs(near, UNBOUNDED)] == []
    before, after = oklch_of(accent), oklch_of(near)
    if min(before.chroma, after.chroma) > 0.05:  # rounding to 8 bits turns the hue of what is nearly grey
        assert abs(before.hue - after.hue) < 0.1


def test_where_no_colour_of_a_hue_works_the_refusal_says_so() -> None:
    hopeless = {**TOKENS, "dim": TOKENS["soft"]}
    with pytest.raises(ValueError, match=r"dim on sunk has 1.*; no colour of this hue works"):
        read_accent("#3b5bdb", hopeless)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.478), ("#3b5bdb", "#3b5bdb", 1.0)],
)
def test_contrast_is_that_of_wcag(one: str, other: str, expected: float) -> None:
    assert contrast(read_colour(one), read_colour(other)) == pytest.approx(expected, abs=0.001)


def test_a_hover_is_derived_from_the_fill_and_not_from_what_the_screen_shows_of_it() -> None:
    fill, hover = (colour_of(name, "light", read_colour("#00ff00")) for name in ("fill", "fill-hover"))
    assert oklch_of(fill).lightness - oklch_of(hover).lightness == pytest.approx(0.05, abs=0.01)
