"""serving/traffic.py: each answer counts in its series and bucket, and two looks show the difference."""

import pytest

from core.clock import NS_PER_SECOND
from core.durations import Durations
from operators.operator_pages import ALL_ROUTES
from serving.traffic import CLASSES, OTHER, REFUSED, Series, Traffic

CHECK = "checkVote"


@pytest.fixture
def traffic() -> Traffic:
    return Traffic([CHECK, "updateStats"])


def only(traffic: Traffic) -> tuple[Series, Durations]:
    """Return the one series that has counted an answer."""
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
    names = [route.name for route in ALL_ROUTES]
    assert len({*names, OTHER, REFUSED}) == len(names) + 2


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


def test_looks_share_what_was_not_counted_meanwhile(traffic: Traffic) -> None:
    traffic.of(CHECK).add(200, 1)
    earlier = traffic.look(0)
    traffic.of("updateStats").add(200, 1)
    later = traffic.look(1)
    before, after = earlier.by_series, later.by_series
    assert [each for each in after if after[each] is not before[each]] == [("updateStats", "2xx")]
    assert [*later.since(earlier).by_series] == [("updateStats", "2xx")]


def test_two_looks_at_one_moment_have_no_rate(traffic: Traffic) -> None:
    look = traffic.look(1)
    traffic.of(CHECK).add(200, 1)
    period = traffic.look(1).since(look)
    assert period.per_second(period.of_all()) == 0.0
