"""webhook/chat.py: the limits in a chat platform's answers. A hostile answer states none and never raises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from webhook.chat import ChatLimits, chat_limits

HOUR_MS = 3_600_000
UNREADABLE = [
    b"",
    b"<html>",
    b"\xff",
    b'{"x": "\xff"}',
    b"[1]",
    b"null",
    b"[" * 100_000,
    b'{"code":' * 100_000,
]


@pytest.mark.parametrize(
    ("headers", "body", "wait_ms"),
    [
        ({"retry-after": "65"}, {"retry_after": 64.57}, 65_000),
        ({"retry-after": "1"}, {"retry_after": 64.57}, 64_570),
        ({}, {"retry_after": 0.0001}, 1),
        ({}, {"retry_after": 2}, 2_000),
        ({"retry-after": "1337"}, {}, 1_337_000),
        ({"retry-after": "999999999999"}, {}, HOUR_MS),
        ({}, {"retry_after": 10**400}, HOUR_MS),
        ({}, {"retry_after": 1e300}, HOUR_MS),
        ({}, {"retry_after": -1e307}, 0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "3.5"}, {"retry_after": 1}, 3_500),
        ({"retry-after": "-5"}, {"retry_after": -5}, 0),
        ({"retry-after": "nan"}, {"retry_after": "9"}, 0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, {"retry_after": True}, 0),
        ({"retry-after": "1e3"}, {"retry_after": None}, 0),
        ({"retry-after": "٣"}, {"retry_after": [1]}, 0),
        ({}, {}, 0),
    ],
)
def test_the_longest_wait_that_makes_sense_counts(
    headers: dict[str, str], body: object, wait_ms: int
) -> None:
    assert chat_limits(429, headers, json.dumps(body).encode()) == ChatLimits(wait_ms)


@pytest.mark.parametrize("status", [200, 204, 404, 500])
def test_an_empty_bucket_is_waited_for_whatever_the_status(status: int) -> None:
    empty = {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "1.001"}
    assert chat_limits(status, empty, b"").wait_ms == 1_001
    assert chat_limits(status, {**empty, "x-ratelimit-remaining": "1"}, b"").wait_ms == 0
    assert chat_limits(status, {"x-ratelimit-remaining": "0"}, b"").wait_ms == 0


@pytest.mark.parametrize("status", [204, 503])
def test_only_a_429_says_when_to_come_back(status: int) -> None:
    said = {"retry-after": "60", "x-ratelimit-global": "true"}
    assert chat_limits(status, said, b'{"retry_after": 60, "global": true}') == ChatLimits()


@pytest.mark.parametrize(
    ("headers", "body", "everywhere"),
    [
        ({}, b'{"global": true}', True),
        ({"x-ratelimit-global": "true"}, b"", True),
        ({"x-ratelimit-global": "false"}, b'{"global": false}', False),
        ({}, b'{"global": "true"}', False),
        ({}, b'{"global": 1}', False),
        ({}, b"", False),
    ],
)
def test_a_global_limit_is_for_the_whole_platform(
    headers: dict[str, str], body: bytes, everywhere: bool
) -> None:
    assert chat_limits(429, headers, body).everywhere is everywhere


@pytest.mark.parametrize(
    ("status", "body", "gone"),
    [
        (404, b'{"message": "Unknown Webhook", "code": 10015}', True),
        (404, b'{"message": "Unknown Channel", "code": 10003}', False),
        (404, b'{"code": "10015"}', False),
        (404, b"404: Not Found", False),
        (400, b'{"code": 10015}', False),
        (429, b'{"code": 10015}', False),
        (401, b'{"message": "Invalid Webhook Token", "code": 50027}', False),
    ],
)
def test_a_webhook_is_gone_when_the_platform_does_not_know_it(status: int, body: bytes, gone: bool) -> None:
    assert chat_limits(status, {}, body) == ChatLimits(gone=gone)


@pytest.mark.parametrize("body", [*UNREADABLE, b'{"retry_after": NaN}', b'{"retry_after": 1e999}'])
@pytest.mark.parametrize("status", [404, 429])
def test_an_unreadable_answer_asks_for_nothing(status: int, body: bytes) -> None:
    assert chat_limits(status, {}, body) == ChatLimits()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner)
)
NAMES = ["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset-after", "x-ratelimit-global"]
NUMBERS = st.sampled_from(["0", "9" * 500, "1.5", "-1", "nan", "inf", "0x1", "1_0", "1.", ".5"])


@examples(300)
@given(
    st.sampled_from([200, 404, 429, 500]),
    st.dictionaries(st.sampled_from(NAMES), NUMBERS | st.text()),
    st.binary()
    | st.dictionaries(st.sampled_from(["retry_after", "global", "code"]), json_values).map(
        lambda fields: json.dumps(fields).encode()
    ),
)
def test_no_answer_raises_or_stops_a_channel_for_longer_than_an_hour(
    status: int, headers: dict[str, str], body: bytes
) -> None:
    assert 0 <= chat_limits(status, headers, body).wait_ms <= HOUR_MS
