"""Rate limits of the chat platform, as its answers state them. Invariant: a question that must wait is not
sent.

The platform counts questions in buckets, which it names in its answers, and all of them together. Nobody
knows the bucket of a route before its first answer: until then the route is a bucket of its own. Each user's
token has its own bucket of the same name. Times are monotonic seconds.
https://docs.discord.com/developers/topics/rate-limits
"""

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")
MOST_BUCKETS = 1_024
LONGEST_SECONDS = 3_600.0
"""The longest wait that is believed. A longer one is a mistake of the platform."""
UNSAID_SECONDS = 5.0
"""The wait after an answer 429 without one."""
TOO_MANY = 429


class PlatformQuestion(NamedTuple):
    """The kind of a question. `whose` is a digest of the user's token; it is empty for our own questions."""

    route: str
    whose: str = ""


class PlatformLimits:
    def __init__(self) -> None:
        self._names: OrderedDict[str, str] = OrderedDict()
        """The bucket of each route that has been asked, the latest last."""
        self._until: OrderedDict[tuple[str, str], float] = OrderedDict()
        """The time before which a bucket is empty, by its name and whose it is."""
        self._all_until = 0.0

    def wait_seconds(self, question: PlatformQuestion, now: float) -> float:
        """Return how long to wait before a question; 0 if it may be sent."""
        bucket = self._names.get(question.route, question.route), question.whose
        return max(self._all_until - now, self._until.get(bucket, 0.0) - now, 0.0)

    def answered(
        self, question: PlatformQuestion, status: int, headers: Mapping[str, str], body: object, now: float
    ) -> None:
        """Read the limits in an answer. The names of `headers` are in lower case."""
        name = headers.get("x-ratelimit-bucket", "")[:64] or question.route
        _keep(self._names, question.route, name)
        bucket = name, question.whose
        if status == TOO_MANY:
            self._refused(bucket, headers, body, now)
        elif headers.get("x-ratelimit-remaining", "").strip() == "0":
            seconds = _seconds(headers.get("x-ratelimit-reset-after"))
            if seconds is not None:
                _keep(self._until, bucket, now + seconds)

    def _refused(self, bucket: tuple[str, str], headers: Mapping[str, str], body: object, now: float) -> None:
        fields = body if isinstance(body, dict) else {}
        told = [_seconds(fields.get("retry_after")), _seconds(headers.get("retry-after"))]
        # The body is finer than the header, which is rounded; the longer wait is the safe one.
        until = now + max((seconds for seconds in told if seconds is not None), default=UNSAID_SECONDS)
        if fields.get("global") is True or headers.get("x-ratelimit-global", "").lower() == "true":
            self._all_until = max(self._all_until, until)
        else:
            _keep(self._until, bucket, until)


def _keep(table: OrderedDict[K, V], key: K, value: V) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > MOST_BUCKETS:
        table.popitem(last=False)


def _seconds(value: object) -> float | None:
    """Return a number of seconds, at most the longest that is believed; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (ValueError, OverflowError):
        return None
    return min(seconds, LONGEST_SECONDS) if math.isfinite(seconds) and seconds >= 0 else None
