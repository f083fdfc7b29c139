"""webhook/attempt_tally.py: the numbers of webhook attempts since the start."""

from typing import get_args

import pytest

from core.clock import NS_PER_MS
from core.events import DeliveryAttempted, DeliveryDropped
from core.rows import Attempt, Outcome
from tests.support.sample_rows import BOT_REF, NOW_MS
from webhook.attempt_tally import ERROR_CLASSES, AttemptKind, AttemptTally, error_class


def attempted(outcome: Outcome, error: str | None, duration_ms: int = 7) -> DeliveryAttempted:
    attempt = Attempt(NOW_MS, duration_ms, None, error, "")
    return DeliveryAttempted("d", BOT_REF, 1, attempt, outcome, None)


def test_attempts_are_counted_by_outcome_and_error_class() -> None:
    tally = AttemptTally()
    tally.on_record(1, [attempted("delivered", None), attempted("retry", "http_503", 2_000)])
    tally.on_record(2, [attempted("retry", "http_502"), attempted("failed", "dns")])
    assert {kind: number for kind, number in tally.attempts.items() if number} == {
        ("delivered", "none"): 1,
        ("retry", "http_5xx"): 2,
        ("failed", "dns"): 1,
    }
    durations = tally.durations()
    assert {outcome: each.count for outcome, each in durations.items()} == {
        "delivered": 1,
        "retry": 2,
        "held": 0,
        "failed": 1,
    }
    assert durations["retry"].total_ns == 2_007 * NS_PER_MS


def test_dropped_deliveries_are_counted_by_reason() -> None:
    tally = AttemptTally()
    tally.on_record(1, [DeliveryDropped("d", BOT_REF, 1, "expired", NOW_MS)])
    assert tally.dropped == {"expired": 1, "overflow": 0}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, "none"),
        ("timeout", "timeout"),
        ("http_404", "http_4xx"),
        ("http_599", "http_5xx"),
        ("http_999", "other"),
        ("http_", "other"),
        ("anything else", "other"),
    ],
)
def test_every_error_has_one_of_few_classes(error: str | None, expected: str) -> None:
    assert error_class(error) == expected


def test_no_endpoint_can_make_a_new_series() -> None:
    tally = AttemptTally()
    before = set(tally.attempts)
    for outcome in get_args(Outcome):
        for status in range(1_000):
            tally.on_record(1, [attempted(outcome, f"http_{status}")])
    assert set(tally.attempts) - before <= {AttemptKind("delivered", each) for each in ERROR_CLASSES}
