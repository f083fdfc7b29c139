"""ratelimit/bucket.py: a decision as response headers."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from core.rows import Policy
from ratelimit.bucket import LINES, NS, Buckets, Decision, headers, numbers
from tests.support.examples import examples

ALLOWED = Decision(True, limit=100, remaining=42, reset_seconds=17, window_seconds=300, started_ns=5)


def test_an_allowed_request_is_told_its_limit_what_remains_and_when_it_resets() -> None:
    assert headers(ALLOWED) == {
        "ratelimit-limit": "100",
        "ratelimit-remaining": "42",
        "ratelimit-reset": "17",
        "ratelimit-policy": "100;w=300",
    }


def test_a_refused_request_is_told_when_to_come_back_too() -> None:
    refused = replace(ALLOWED, allowed=False, remaining=0)
    assert headers(refused) == {
        "ratelimit-limit": "100",
        "ratelimit-remaining": "0",
        "ratelimit-reset": "17",
        "ratelimit-policy": "100;w=300",
        "retry-after": "17",
    }


@examples(100)
@given(st.integers(1, 3), st.integers(1, 300), st.lists(st.integers(0, 100 * NS), max_size=8))
def test_the_contracts_headers_are_integers_inside_their_bounds(
    requests: int, window_seconds: int, pauses_ns: list[int]
) -> None:
    buckets, now_ns = Buckets(), 0
    for pause_ns in pauses_ns:
        now_ns += pause_ns
        named = headers(buckets.take("bot", Policy(requests, window_seconds), now_ns))
        assert named["ratelimit-limit"] == str(requests)
        assert 0 <= int(named["ratelimit-remaining"]) < requests
        assert 1 <= int(named["ratelimit-reset"]) <= window_seconds
        assert named.get("retry-after", named["ratelimit-reset"]) == named["ratelimit-reset"]


@given(*[st.integers(0, 10**9)] * 4)
def test_lines_say_what_the_headers_say(limit: int, remaining: int, reset: int, window: int) -> None:
    decision = Decision(True, limit, remaining, reset, window, started_ns=5)
    lines = (LINES % numbers(decision)).decode().split("\r\n")[:-1]
    assert {name.lower(): value for name, value in (line.split(": ") for line in lines)} == headers(decision)
