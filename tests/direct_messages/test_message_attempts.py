"""direct_messages/message_attempts.py: when a failed message is tried again, and when it is given up."""

import pytest

from chatplatform.platform_client import PlatformAway
from core.rows import Attempt
from direct_messages.message_attempts import INTERNAL, Failure, Fate, failure_of, fate_of
from tests.support.sample_rows import NOW_MS
from tests.support.sender_stage import RETRY as POLICY

SLOW = Failure("timeout")


def attempted(failure: Failure | None, *, tries: int = 0, at_ms: int = NOW_MS) -> Fate:
    return fate_of(POLICY, tries, NOW_MS, failure, at_ms, 40)


def test_a_message_that_was_posted_is_delivered() -> None:
    assert attempted(None) == Fate(Attempt(NOW_MS, 40, 200, None, ""), "delivered", None)


@pytest.mark.parametrize(
    ("away", "error"),
    [
        (PlatformAway("refused", status=401), "http_401"),
        (PlatformAway("refused", status=403, code=50_007), "cannot_message"),
        (PlatformAway("refused", status=403, code=50_278), "cannot_message"),
        (PlatformAway("refused", status=403, code=50_001), "http_403"),
        (PlatformAway("refused", status=404, code=10_013), "http_404"),
        (PlatformAway("refused", status=400, code=50_007), "http_400"),
        (PlatformAway("refused", status=302), "http_302"),
    ],
)
def test_what_the_platform_refuses_is_given_up_at_once(away: PlatformAway, error: str) -> None:
    event = attempted(failure_of(away))
    assert (event.outcome, event.next_attempt_ms) == ("failed", None)
    assert (event.attempt.error, event.attempt.status) == (error, away.status)


@pytest.mark.parametrize(
    ("away", "error", "status"),
    [
        (PlatformAway("timeout"), "timeout", None),
        (PlatformAway("unreachable"), "unreachable", None),
        (PlatformAway("unreadable"), "unreadable", None),
        (PlatformAway("refused", status=500), "http_500", 500),
        (PlatformAway("refused", status=408), "http_408", 408),
    ],
)
def test_a_failure_of_the_platform_is_tried_again(away: PlatformAway, error: str, status: int | None) -> None:
    event = attempted(failure_of(away))
    assert (event.outcome, event.next_attempt_ms) == ("retry", NOW_MS + 40 + 5_000)
    assert event.attempt == Attempt(NOW_MS, 40, status, error, "")


def test_retries_come_as_those_of_a_webhook_and_then_as_probes_of_a_suspended_endpoint() -> None:
    pauses = [attempted(SLOW, tries=tries).next_attempt_ms or 0 for tries in range(12)]
    seconds = [5, 5, 5, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600, 3_600]
    assert [pause - NOW_MS - 40 for pause in pauses] == [each * 1_000 for each in seconds]


def test_a_limit_is_waited_for_and_is_no_try() -> None:
    for asked, waited_ms in ((2.5, 2_500), (0.01, 1_000), (None, 1_000), (3_600.0, 3_600_000)):
        event = attempted(failure_of(PlatformAway("limited", asked)), tries=9)
        assert (event.outcome, event.next_attempt_ms) == ("held", NOW_MS + 40 + waited_ms)


@pytest.mark.parametrize("failure", [SLOW, INTERNAL, Failure("limited", wait_ms=5)])
def test_a_message_as_old_as_an_expired_webhook_is_given_up(failure: Failure) -> None:
    last_ms = NOW_MS + POLICY.kept_ms - 40
    assert attempted(failure, at_ms=last_ms - 1).next_attempt_ms is not None
    assert attempted(failure, at_ms=last_ms).outcome == "failed"
