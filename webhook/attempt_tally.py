"""Numbers of webhook attempts since the start. Law: the classes are few, whatever endpoints answer.

It reads the log, so an attempt counts once its outcome is committed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, get_args

from core.clock import NS_PER_MS
from core.durations import DurationCounts, Durations
from core.events import DeliveryAttempted, DeliveryDropped, Event
from core.rows import Dropped, Outcome

NO_ERROR, OTHER_ERROR = "none", "other"
STATUS_CLASSES = ("http_1xx", "http_2xx", "http_3xx", "http_4xx", "http_5xx")
ERROR_CLASSES = (
    *(NO_ERROR, "dns", "resolver", "refused", "reset", "connect", "timeout", "tls", "too_large", "blocked"),
    *("proxy", "protocol", "internal", *STATUS_CLASSES, OTHER_ERROR),
)
"""The classes of `outbound/failures.py`, statuses by their first digit, and one for all others."""


class AttemptKind(NamedTuple):
    outcome: str
    error: str


def error_class(error: str | None) -> str:
    """Return the one of ERROR_CLASSES that an attempt's error belongs to."""
    if error is None:
        return NO_ERROR
    if error.startswith("http_"):
        error = f"{error[:6]}xx"
    return error if error in ERROR_CLASSES else OTHER_ERROR


class AttemptTally:
    """Attempts by outcome and error class, how long they took, and deliveries that were given up."""

    def __init__(self) -> None:
        kinds = (AttemptKind(outcome, error) for outcome in get_args(Outcome) for error in ERROR_CLASSES)
        self.attempts = {
            kind: 0 for kind in kinds if (kind.outcome == "delivered") == (kind.error == NO_ERROR)
        }
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
