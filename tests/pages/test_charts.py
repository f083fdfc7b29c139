"""pages/owner/charts.py: bars stand on an axis of round numbers, and none is lost."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.charts import HEIGHT, chart_of, ticks_up_to
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, (1, 0)),
        (1, (1, 0)),
        (3, (3, 2, 1, 0)),
        (5, (6, 4, 2, 0)),
        (390, (400, 300, 200, 100, 0)),
        (6_204, (8_000, 6_000, 4_000, 2_000, 0)),
    ],
)
def test_an_axis_has_round_numbers(most: int, ticks: tuple[int, ...]) -> None:
    assert ticks_up_to(most) == ticks


@examples(200)
@given(st.integers(0, 10**12))
def test_an_axis_reaches_every_count_in_at_most_five_lines(most: int) -> None:
    ticks = ticks_up_to(most)
    assert ticks[0] >= most
    assert ticks[-1] == 0
    assert 2 <= len(ticks) <= 5
    assert len({high - low for high, low in pairwise(ticks)}) == 1


@examples(100)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=90))
def test_bars_stand_on_the_ground_and_none_is_lost(counts: list[tuple[int, int]]) -> None:
    chart = chart_of(
        ((str(number), count) for number, (count, _) in enumerate(counts)), [b for _, b in counts]
    )
    for number, bar in enumerate(chart.bars):
        assert bar.y + bar.height == pytest.approx(HEIGHT)
        assert (bar.height > 0) == (bar.amount > 0)
        assert (bar.height_before > 0) == (bar.before > 0)
        assert number <= bar.x
        assert bar.x + bar.width <= number + 1
        assert bar.y >= 0
    assert chart.total == sum(count for count, _ in counts)
    assert chart.best.amount == max(count for count, _ in counts)


def test_a_chart_without_counts_keeps_its_axis() -> None:
    chart = chart_of([("a", 0), ("b", 0)])
    assert chart.ticks == (1, 0)
    assert chart.lines == "M0 0H2M0 100H2"
