"""Counts of answers: the right bucket, the right series, and what two looks tell."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import NS_PER_SECOND
from handlers.routes import ROUTES
from serving.traffic import (
    BOUNDS_NS,
    BOUNDS_SECONDS,
    CLASSES,
    NO_DURATIONS,
    OTHER,
    REFUSED,
    Durations,
    Series,
    Traffic,
)
from tests.support.examples import examples

CHECK = "checkVote"


@pytest.fixture
def traffic() -> Traffic:
    return Traffic([CHECK, "updateStats"])


def only(traffic: Traffic) -> tuple[Series, Durations]:
    """The one series that has counted anything."""
    ((series, durations),) = [
        (series, each) for series, each in traffic.look(0).by_series.items() if each.count
    ]
    return series, durations


@pytest.mark.parametrize(
    ("status", "status_class"), [(200, "2xx"), (204, "2xx"), (303, "3xx"), (429, "4xx"), (503, "5xx")]
)
def test_an_answer_is_counted_by_endpoint_and_status_class(
    traffic: Traffic, status: int, status_class: str
) -> None:
    traffic.of(CHECK).add(status, 1)
    assert only(traffic)[0] == (CHECK, status_class)


@pytest.mark.parametrize("name", ["", "noSuchOperation", None, OTHER])
def test_what_no_route_answers_is_counted_together(traffic: Traffic, name: str | None) -> None:
    traffic.of(name).add(404, 1)
    assert only(traffic)[0] == (OTHER, "4xx")


def test_all_series_are_there_before_the_first_request_and_no_other_ever_is(traffic: Traffic) -> None:
    before = list(traffic.look(0).by_series)
    assert before == [(name, each) for name in (CHECK, "updateStats", OTHER, REFUSED) for each in CLASSES]
    for status in range(200, 600):
        for name in (CHECK, "x" * status):
            traffic.of(name).add(status, status)
    assert list(traffic.look(0).by_series) == before


def test_no_operation_of_the_api_is_named_like_what_is_none() -> None:
    names = [route.name for route in ROUTES]
    assert len({*names, OTHER, REFUSED}) == len(names) + 2


@pytest.mark.parametrize("place", range(len(BOUNDS_NS)))
def test_a_bucket_holds_its_upper_bound_and_nothing_beyond(traffic: Traffic, place: int) -> None:
    for taken_ns in (BOUNDS_NS[place], BOUNDS_NS[place] + 1):
        traffic.of(CHECK).add(200, taken_ns)
    _, durations = only(traffic)
    assert [at for at, held in enumerate(durations.buckets) if held] == [place, place + 1]
    assert durations.total_ns == 2 * BOUNDS_NS[place] + 1


def test_a_period_holds_the_answers_between_two_looks(traffic: Traffic) -> None:
    traffic.of(CHECK).add(200, 40_000)
    earlier = traffic.look(5 * NS_PER_SECOND)
    for _ in range(30):
        traffic.of(CHECK).add(200, 3_000_000)
    traffic.of("updateStats").add(400, 1_000_000)
    traffic.of(REFUSED).add(431, 0)
    period = traffic.look(15 * NS_PER_SECOND).since(earlier)
    assert (period.seconds, period.count) == (10.0, 32)
    assert {series: durations.count for series, durations in period.by_series.items()} == {
        (CHECK, "2xx"): 30,
        ("updateStats", "4xx"): 1,
        (REFUSED, "4xx"): 1,
    }
    assert period.per_second(period.by_series[Series(CHECK, "2xx")]) == 3.0
    assert period.of_all().count == 31, "nobody knows how long a refusal took"
    assert period.of_all().total_ns == 91_000_000


def test_a_look_does_not_change_when_more_is_answered(traffic: Traffic) -> None:
    look = traffic.look(0)
    traffic.of(CHECK).add(200, 1)
    assert not any(each.count for each in look.by_series.values())


def test_two_looks_at_one_moment_have_no_rate(traffic: Traffic) -> None:
    look = traffic.look(1)
    traffic.of(CHECK).add(200, 1)
    period = traffic.look(1).since(look)
    assert period.per_second(period.of_all()) == 0.0


def test_a_quantile_lies_on_a_line_between_the_bounds_of_its_bucket(traffic: Traffic) -> None:
    for taken_ns in [30_000] * 90 + [2_000_000] * 10:  # in 25 to 50 us, and in 1 to 2.5 ms
        traffic.of(CHECK).add(200, taken_ns)
    _, durations = only(traffic)
    assert durations.quantile_seconds(0.45) == pytest.approx(0.0000375)
    assert durations.quantile_seconds(0.9) == pytest.approx(0.00005)
    assert durations.quantile_seconds(0.99) == pytest.approx(0.00235)


def test_beyond_the_last_bound_nobody_knows_more_than_the_bound(traffic: Traffic) -> None:
    traffic.of(CHECK).add(200, 60 * NS_PER_SECOND)
    assert only(traffic)[1].quantile_seconds(0.5) == BOUNDS_SECONDS[-1]


def test_without_durations_there_is_no_quantile() -> None:
    assert NO_DURATIONS.quantile_seconds(0.99) is None


@examples(100)
@given(st.lists(st.integers(0, 10 * NS_PER_SECOND), min_size=1), st.floats(0, 1, exclude_min=True, width=16))
def test_a_quantile_is_in_the_bucket_of_the_duration_that_it_stands_for(
    taken: list[int], share: float
) -> None:
    traffic = Traffic([CHECK])
    for taken_ns in taken:
        traffic.of(CHECK).add(200, taken_ns)
    exact_ns = sorted(taken)[-(-int(share * len(taken) * 2**24) // 2**24) - 1]
    quantile = only(traffic)[1].quantile_seconds(share)
    bounds = [0.0, *BOUNDS_SECONDS]
    place = next((at for at, bound in enumerate(BOUNDS_NS) if exact_ns <= bound), len(BOUNDS_NS) - 1)
    assert quantile is not None
    assert bounds[place] <= quantile <= bounds[place + 1]
