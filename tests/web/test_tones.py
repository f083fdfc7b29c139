"""Tones: a hue and a pattern of the style for each id."""

import re
from pathlib import Path

from web.tones import HUES, PATTERNS, tone

STYLE = (Path(__file__).parents[2] / "web" / "static" / "site.css").read_text()


def test_the_style_has_a_class_for_each_hue_and_each_pattern() -> None:
    assert {int(each) for each in re.findall(r"\.tone-(\d+) \{", STYLE)} == set(range(HUES))
    assert {int(each) for each in re.findall(r"\.pat-(\d+)::after", STYLE)} == set(range(PATTERNS))


def test_ids_of_the_same_day_have_many_tones() -> None:
    day = [str((1_400_000_000_000 + 7_919 * each) << 22) for each in range(1_000)]
    assert len({tone(each) for each in day}) == HUES * PATTERNS


def test_an_id_that_is_no_number_has_a_tone() -> None:
    assert re.fullmatch(r"tone-\d+ pat-\d", tone("quiz-night"))
