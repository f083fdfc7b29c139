"""A reply of the gateway: its value, its error, and the wait that it asks for."""

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from votegate_client.errors import (
    BotNotFound,
    CountUnknown,
    InvalidKey,
    InvalidRequest,
    RateLimited,
    TooFarOff,
    Unavailable,
    VotegateError,
)

COUNT_UNKNOWN = "Could not fetch server count."
TOO_FAR_OFF = re.compile(
    r".*\((?P<given>[0-9]+)\) is too far off .* by more than (?P<allowed>[0-9]+) .* is (?P<actual>[0-9]+)\."
)
NOT_VOTEGATE = "The answer is not from Votegate, but perhaps from a proxy. Is the base address right?"
SECONDS = re.compile("[0-9]+")
LONGEST_WAIT = 24 * 60 * 60
"""Seconds. A longer wait is not believed: a wrong header would silence a bot until it is restarted."""


class Reply(NamedTuple):
    """An HTTP response whose body has been read."""

    status: int
    headers: Mapping[str, str]
    """Their names may be looked up in any case."""
    value: dict[str, Any] | None
    """The body; None if it is no JSON object."""
    at: float
    """The time at which the reply came, in Unix seconds."""

    def error(self) -> VotegateError:
        """Return the error that this reply means."""
        status, request_id = self.status, self.headers.get("x-request-id")
        if 300 <= status < 400:
            text = f"The gateway redirects to {self.headers.get('location')}. Is the base address right?"
            return VotegateError(text, status=status, request_id=request_id)
        said = self.value.get("error") if self.value is not None else None
        text = said if isinstance(said, str) else NOT_VOTEGATE
        if status == 429:
            return RateLimited(text, wait=self._asked_wait(), status=status, request_id=request_id)
        if self.value is None or not 400 <= status < 500:
            kind = CountUnknown if (status, text) == (500, COUNT_UNKNOWN) else Unavailable
            return kind(text, wait=self._asked_wait(), status=status, request_id=request_id)
        found = TOO_FAR_OFF.fullmatch(text) if status == 400 else None
        if found is not None:
            given, actual, allowed = (int(found[name]) for name in ("given", "actual", "allowed"))
            return TooFarOff(text, given=given, actual=actual, allowed=allowed, request_id=request_id)
        by_status = {401: InvalidKey, 404: BotNotFound}
        return by_status.get(status, InvalidRequest)(text, status=status, request_id=request_id)

    def seconds_at_limit(self) -> float:
        """Return the seconds until the limit allows another request; 0 if it allows one now."""
        if self.headers.get("ratelimit-remaining") != "0":
            return 0
        return min(_seconds(self.headers.get("ratelimit-reset", "")) or 0, LONGEST_WAIT)

    def _asked_wait(self) -> float | None:
        """Return the seconds to wait before the next try; None if the reply asks for none."""
        retry_after = self.headers.get("retry-after", "")
        for_limit = self.headers.get("ratelimit-reset", "") if self.status == 429 else ""
        waits = (_seconds(retry_after), _seconds_until(retry_after, self.at), _seconds(for_limit))
        return next((each for each in waits if each is not None), None)


def _seconds(text: str) -> float | None:
    # Infinity would have no text.
    return min(float(text), 1e12) if SECONDS.fullmatch(text) else None


def _seconds_until(date: str, now: float) -> float | None:
    """Return the seconds until an HTTP date; None if it is no date, or has passed."""
    try:
        seconds = parsedate_to_datetime(date).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None
