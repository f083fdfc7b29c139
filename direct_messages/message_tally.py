"""Numbers of attempts at direct messages since the start. Law: the classes are few, whatever is answered.

It reads the log, so an attempt counts once its outcome is committed.
"""

from collections.abc import Sequence
from typing import get_args

from core.events import FREQUENT, Event, OwnerMessageAttempted, ReminderAttempted
from core.rows import Outcome
from webhook.attempt_tally import NO_ERROR, OTHER_ERROR, STATUS_CLASSES, AttemptKind

ERROR_KINDS = (
    *(NO_ERROR, "limited", "timeout", "unreachable", "unreadable", "cannot_message", "internal"),
    *(*STATUS_CLASSES, OTHER_ERROR),
)
"""The errors of `message_outcomes.py`, statuses by their first digit, and one for all others."""


class MessageTally:
    """Attempts by outcome and error class."""

    def __init__(self) -> None:
        kinds = (AttemptKind(outcome, error) for outcome in get_args(Outcome) for error in ERROR_KINDS)
        self.attempts = {
            kind: 0 for kind in kinds if (kind.outcome == "delivered") == (kind.error == NO_ERROR)
        }

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, OwnerMessageAttempted | ReminderAttempted):
                kind = AttemptKind(event.outcome, _error_kind(event.attempt.error))
                self.attempts[kind] = self.attempts.get(kind, 0) + 1


def _error_kind(error: str | None) -> str:
    if error is None:
        return NO_ERROR
    kind = f"{error[:6]}xx" if error.startswith("http_") else error
    return kind if kind in ERROR_KINDS else OTHER_ERROR
