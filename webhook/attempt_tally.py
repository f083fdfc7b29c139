"""Numbers of attempts since the start: at webhooks, direct messages and mails. The classes of errors are few,
whatever endpoints answer.

A tally reads the log, so an attempt counts once its outcome is committed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, get_args

from chatplatform.platform_client import Reason
from core.clock import NS_PER_MS
from core.durations import DurationCounts, Durations
from core.events import (
    FREQUENT,
    DeliveryAttempted,
    DeliveryDropped,
    Event,
    MailAttempted,
    OwnerMessageAttempted,
    ReminderAttempted,
)
from core.rows import Dropped, Outcome
from outbound.result import ExchangeError

NO_ERROR, OTHER_ERROR = "none", "other"
STATUS_CLASSES = ("http_1xx", "http_2xx", "http_3xx", "http_4xx", "http_5xx")
ERROR_CLASSES = (NO_ERROR, *get_args(ExchangeError), *STATUS_CLASSES, OTHER_ERROR)
"""Statuses count by their first digit, and all unknown errors together."""
_AWAY = [reason for reason in get_args(Reason) if reason != "refused"]  # a refusal counts by its status
MESSAGE_ERRORS = (NO_ERROR, *_AWAY, "cannot_message", "internal", *STATUS_CLASSES, OTHER_ERROR)
"""The errors of `direct_messages/message_attempts.py`, in the same way."""
MAIL_ERRORS = (
    *(NO_ERROR, "unreachable", "timeout", "tls", "unreadable", "sign_in_refused", "sender_refused"),
    *("recipient_refused", "mail_refused", "internal", OTHER_ERROR),
)
"""The errors of `mail/mail_server.py`."""


class AttemptKind(NamedTuple):
    outcome: str
    error: str


def error_class(error: str | None, classes: Collection[str] = ERROR_CLASSES) -> str:
    """Return the one of the classes that an attempt's error belongs to."""
    if error is None:
        return NO_ERROR
    if error.startswith("http_"):
        error = f"{error[:6]}xx"
    return error if error in classes else OTHER_ERROR


def _no_attempts(classes: Sequence[str]) -> dict[AttemptKind, int]:
    kinds = (AttemptKind(outcome, error) for outcome in get_args(Outcome) for error in classes)
    return {kind: 0 for kind in kinds if (kind.outcome == "delivered") == (kind.error == NO_ERROR)}


class AttemptTally:
    """Attempts by outcome and error class, how long they took, and deliveries that were given up."""

    def __init__(self) -> None:
        self.attempts = _no_attempts(ERROR_CLASSES)
        self.dropped = dict.fromkeys(get_args(Dropped), 0)
        self._durations = {outcome: DurationCounts() for outcome in get_args(Outcome)}

    def durations(self) -> Mapping[str, Durations]:
        """Return the durations of attempts, by outcome."""
        return {outcome: counts.look() for outcome, counts in self._durations.items()}

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) is DeliveryAttempted:
                attempt = event.attempt
                kind = AttemptKind(event.outcome, error_class(attempt.error))
                self.attempts[kind] = self.attempts.get(kind, 0) + 1
                self._durations[event.outcome].add(attempt.duration_ms * NS_PER_MS)
            elif type(event) is DeliveryDropped:
                self.dropped[event.reason] += 1


class MessageTally:
    """Attempts at direct messages, and at mails, by outcome and error class."""

    def __init__(self) -> None:
        self.attempts = _no_attempts(MESSAGE_ERRORS)
        self.mails = _no_attempts(MAIL_ERRORS)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) in FREQUENT:
                continue
            if isinstance(event, OwnerMessageAttempted | ReminderAttempted):
                kind = AttemptKind(event.outcome, error_class(event.attempt.error, MESSAGE_ERRORS))
                self.attempts[kind] = self.attempts.get(kind, 0) + 1
            elif isinstance(event, MailAttempted):
                kind = AttemptKind(event.outcome, error_class(event.attempt.error, MAIL_ERRORS))
                self.mails[kind] = self.mails.get(kind, 0) + 1
