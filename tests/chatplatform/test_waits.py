"""chatplatform/platform_client.py: no question is sent before its limits allow it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatplatform.answers import LONGEST_SECONDS
from chatplatform.platform_client import MOST_BUCKETS, UNSAID_SECONDS, PlatformLimits, PlatformQuestion
from tests.support.examples import examples

ROUTE, OTHER = PlatformQuestion("applications"), PlatformQuestion("users/@me/guilds")
NOW = 1_000.0


def told(bucket: str = "abcd", remaining: str = "0", reset_after: str = "1.470") -> dict[str, str]:
    return {
        "x-ratelimit-bucket": bucket,
        "x-ratelimit-remaining": remaining,
        "x-ratelimit-reset-after": reset_after,
    }


@pytest.fixture
def limits() -> PlatformLimits:
    return PlatformLimits()


def test_a_route_that_was_never_asked_may_be_asked(limits: PlatformLimits) -> None:
    assert limits.wait_seconds(ROUTE, NOW) == 0


def test_an_empty_bucket_waits_for_its_reset(limits: PlatformLimits) -> None:
    limits.answered(ROUTE, 200, told(), None, NOW)
    assert limits.wait_seconds(ROUTE, NOW) == pytest.approx(1.470)
    assert limits.wait_seconds(ROUTE, NOW + 1.471) == 0
    assert limits.wait_seconds(OTHER, NOW) == 0


def test_a_bucket_with_something_left_does_not_wait(limits: PlatformLimits) -> None:
    limits.answered(ROUTE, 200, told(remaining="1"), None, NOW)
    assert limits.wait_seconds(ROUTE, NOW) == 0


def test_the_limit_of_one_user_s_token_stops_nobody_else(limits: PlatformLimits) -> None:
    ada, ben = PlatformQuestion("user", "of Ada"), PlatformQuestion("user", "of Ben")
    limits.answered(ada, 429, told() | {"x-ratelimit-scope": "user"}, {"retry_after": 60}, NOW)
    assert limits.wait_seconds(ada, NOW) == 60
    assert limits.wait_seconds(ben, NOW) == 0


def test_routes_of_one_bucket_wait_together(limits: PlatformLimits) -> None:
    limits.answered(OTHER, 200, told(remaining="5"), None, NOW)
    limits.answered(ROUTE, 200, told(), None, NOW)
    assert limits.wait_seconds(OTHER, NOW) == pytest.approx(1.470)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "65"}, {"message": "...", "retry_after": 64.57, "global": False}, 65),
        ({"retry-after": "1"}, {"retry_after": 1.9}, 1.9),
        ({"retry-after": "65"}, "<html>error code: 1015</html>", 65),
        ({}, {"retry_after": "soon"}, UNSAID_SECONDS),
        ({"retry-after": "nan"}, None, UNSAID_SECONDS),
        ({"retry-after": "-3"}, {"retry_after": float("inf")}, UNSAID_SECONDS),
        ({"retry-after": "999999999"}, None, LONGEST_SECONDS),
    ],
)
def test_a_refusal_says_how_long_to_wait_and_the_longer_time_counts(
    limits: PlatformLimits, headers: dict[str, str], body: object, seconds: float
) -> None:
    limits.answered(ROUTE, 429, headers, body, NOW)
    assert limits.wait_seconds(ROUTE, NOW) == pytest.approx(seconds)
    assert limits.wait_seconds(OTHER, NOW) == 0


@pytest.mark.parametrize(
    ("headers", "body"),
    [({"x-ratelimit-global": "true", "retry-after": "2"}, None), ({}, {"global": True, "retry_after": 2.0})],
)
def test_a_refusal_of_everything_holds_every_route(
    limits: PlatformLimits, headers: dict[str, str], body: object
) -> None:
    limits.answered(ROUTE, 429, headers, body, NOW)
    assert limits.wait_seconds(OTHER, NOW) == pytest.approx(2)
    limits.answered(OTHER, 200, {}, None, NOW + 2)
    assert limits.wait_seconds(OTHER, NOW + 2) == 0


def test_however_many_buckets_the_platform_names_few_are_kept(limits: PlatformLimits) -> None:
    for number in range(3 * MOST_BUCKETS):
        limits.answered(PlatformQuestion(f"route {number}"), 200, told(bucket=str(number)), None, NOW)
    assert (len(limits._names), len(limits._until)) == (MOST_BUCKETS, MOST_BUCKETS)
    assert limits.wait_seconds(PlatformQuestion(f"route {3 * MOST_BUCKETS - 1}"), NOW) > 0


numbers = st.integers().map(str) | st.floats().map(str) | st.text(max_size=5)
names = st.sampled_from(
    [
        "x-ratelimit-bucket",
        "x-ratelimit-remaining",
        "x-ratelimit-reset-after",
        "retry-after",
        "x-ratelimit-global",
    ]
)
bodies: st.SearchStrategy[Any] = st.none() | st.dictionaries(
    st.sampled_from(["retry_after", "global"]), numbers | st.floats() | st.booleans() | st.integers()
)


@examples(300)
@given(st.lists(st.tuples(st.sampled_from([200, 429]), st.dictionaries(names, numbers), bodies)))
def test_whatever_the_platform_says_a_wait_ends(told: list[tuple[int, dict[str, str], Any]]) -> None:
    limits = PlatformLimits()
    for status, headers, body in told:
        limits.answered(ROUTE, status, headers, body, NOW)
    assert 0 <= limits.wait_seconds(ROUTE, NOW) <= LONGEST_SECONDS
    assert limits.wait_seconds(ROUTE, NOW + LONGEST_SECONDS) == 0
