"""webhook/attempt_tally.py: the numbers of attempts at direct messages since the start."""

from core.events import DeliveryAttempted, OwnerMessageAttempted, ReminderAttempted
from core.rows import Attempt, Outcome
from core.user_rows import user_ref
from tests.support.sample_rows import BOT_REF, DELIVERED, NOW_MS, USER
from webhook.attempt_tally import AttemptKind, MessageTally


def attempted(outcome: Outcome, error: str | None) -> OwnerMessageAttempted:
    return OwnerMessageAttempted(BOT_REF, NOW_MS, 1, Attempt(NOW_MS, 5, None, error, ""), outcome, None)


def test_attempts_are_counted_by_outcome_and_error() -> None:
    tally = MessageTally()
    tally.on_record(1, [attempted("delivered", None), attempted("retry", "http_503")])
    tally.on_record(2, [attempted("retry", "http_500"), attempted("failed", "cannot_message")])
    tally.on_record(3, [DeliveryAttempted("d", BOT_REF, 1, DELIVERED, "delivered", None)])
    assert {kind: number for kind, number in tally.attempts.items() if number} == {
        ("delivered", "none"): 1,
        ("retry", "http_5xx"): 2,
        ("failed", "cannot_message"): 1,
    }


def test_attempts_to_remind_users_count_too() -> None:
    tally = MessageTally()
    attempt = Attempt(NOW_MS, 5, None, "http_500", "")
    tally.on_record(1, [ReminderAttempted(user_ref(USER), BOT_REF, NOW_MS, 1, attempt, "retry", None)])
    assert tally.attempts[AttemptKind("retry", "http_5xx")] == 1


def test_the_classes_are_few_whatever_is_answered() -> None:
    tally = MessageTally()
    series = len(tally.attempts)
    for error in ("http_999", "http_", "new", "x" * 99):
        tally.on_record(1, [attempted("failed", error)])
    assert len(tally.attempts) == series
    assert tally.attempts[AttemptKind("failed", "other")] == 4
