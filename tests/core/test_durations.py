"""Histograms of durations: the right bucket, and the quantiles that follow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import NS_PER_SECOND
from core.durations import BOUNDS_NS, BOUNDS_SECONDS, NO_DURATIONS, DurationCounts, Durations
from tests.support.examples import examples


def histogram(*taken_ns: int) -> Durations:
    counts = DurationCounts()
    for each in taken_ns:
        counts.add(each)
    return counts.look()


@pytest.mark.parametrize("place", range(len(BOUNDS_NS)))
def test_a_bucket_holds_its_upper_bound_and_nothing_beyond(place: int) -> None:
    durations = histogram(BOUNDS_NS[place], BOUNDS_NS[place] + 1)
    assert [at for at, held in enumerate(durations.buckets) if held] == [place, place + 1]
    assert durations.total_ns == 2 * BOUNDS_NS[place] + 1


def test_a_look_does_not_change_when_more_is_counted() -> None:
    counts = DurationCounts()
    look = counts.look()
    counts.add(1)
    assert (look, counts.look().count) == (NO_DURATIONS, 1)


def test_histograms_are_added_and_taken_apart() -> None:
    one, two = histogram(1, 20_000), histogram(20_000)
    assert one + two == histogram(1, 20_000, 20_000)
    assert one + two - one == two


def test_a_quantile_lies_on_a_line_between_the_bounds_of_its_bucket() -> None:
    durations = histogram(*[30_000] * 90, *[2_000_000] * 10)  # in 25 to 50 us, and in 1 to 2.5 ms
    assert durations.quantile_seconds(0.45) == pytest.approx(0.0000375)
    assert durations.quantile_seconds(0.9) == pytest.approx(0.00005)
    assert durations.quantile_seconds(0.99) == pytest.approx(0.00235)


def test_beyond_the_last_bound_nobody_knows_more_than_the_bound() -> None:
    assert histogram(60 * NS_PER_SECOND).quantile_seconds(0.5) == BOUNDS_SECONDS[-1]


def test_without_durations_there_is_no_quantile() -> None:
    assert NO_DURATIONS.quantile_seconds(0.99) is None


@examples(100)
@given(st.lists(st.integers(0, 12 * NS_PER_SECOND), min_size=1), st.floats(0, 1, exclude_min=True, width=16))
def test_a_quantile_is_in_the_bucket_of_the_duration_that_it_stands_for(
    taken: list[int], share: float
) -> None:
    exact_ns = sorted(taken)[-(-int(share * len(taken) * 2**24) // 2**24) - 1]
    quantile = histogram(*taken).quantile_seconds(share)
    bounds = [0.0, *BOUNDS_SECONDS]
    place = next((at for at, bound in enumerate(BOUNDS_NS) if exact_ns <= bound), len(BOUNDS_NS) - 1)
    assert quantile is not None
    assert bounds[place] <= quantile <= bounds[place + 1]
