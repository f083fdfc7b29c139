"""Rate limits of the chat platform, as its answers state them. Chat webhooks have them, too.

Invariant: no answer asks for a longer wait than LONGEST_SECONDS, whatever it contains.

The names of `headers` are in lower case. A value that makes no sense counts as none.
https://docs.discord.com/developers/topics/rate-limits
"""

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from chatplatform.answers import fields_of
from core.newest import Newest

TOO_MANY = 429
LONGEST_SECONDS = 3_600.0
"""The longest wait that is believed. A longer one is a mistake of the platform."""
_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def asked_seconds(status: int, headers: Mapping[str, str], body: object) -> float | None:
    """Return how long an answer asks to wait, None if it does not. The longest wait that it states counts."""
    asked: list[float | None] = []
    if headers.get("x-ratelimit-remaining") == "0":
        asked.append(_in_header(headers.get("x-ratelimit-reset-after")))
    if status == TOO_MANY:
        # The body is finer than the header, which is rounded.
        asked += [_in_header(headers.get("retry-after")), _believed(fields_of(body).get("retry_after"))]
    return max((seconds for seconds in asked if seconds is not None), default=None)


def is_global(headers: Mapping[str, str], body: object) -> bool:
    """Return true if the answer 429 is about everything on the platform."""
    return headers.get("x-ratelimit-global", "").lower() == "true" or fields_of(body).get("global") is True


def _in_header(text: str | None) -> float | None:
    return _believed(float(text)) if text is not None and _SECONDS.fullmatch(text) else None


def _believed(seconds: object) -> float | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        return None
    return min(seconds, LONGEST_SECONDS)


# -- the limits of a client ----------------------------------------------------------------------------------

MOST_BUCKETS = 1_024
UNSAID_SECONDS = 5.0
"""The wait after an answer 429 that states none."""


class PlatformQuestion(NamedTuple):
    """The kind of a question. `whose` is a digest of the user's token; it is empty for our own questions."""

    route: str
    whose: str = ""


class PlatformLimits:
    """The limits of our questions. Invariant: a question that must wait is not sent.

    The platform counts questions in buckets, which it names in its answers, and all of them together. Nobody
    knows the bucket of a route before its first answer: until then the route is a bucket of its own. Each
    user's token has its own bucket of the same name. Times are monotonic seconds.
    """

    def __init__(self) -> None:
        self._names = Newest[str, str](MOST_BUCKETS)
        """The bucket of each route that has been asked."""
        self._until = Newest[tuple[str, str], float](MOST_BUCKETS)
        """The time before which a bucket is empty, by its name and whose it is."""
        self._all_until = 0.0

    def wait_seconds(self, question: PlatformQuestion, now: float) -> float:
        """Return how long to wait before a question; 0 if it may be sent."""
        bucket = self._names.get(question.route, question.route), question.whose
        return max(self._all_until - now, self._until.get(bucket, 0.0) - now, 0.0)

    def answered(
        self, question: PlatformQuestion, status: int, headers: Mapping[str, str], body: object, now: float
    ) -> None:
        """Read the limits in an answer."""
        name = headers.get("x-ratelimit-bucket", "")[:64] or question.route
        self._names[question.route] = name
        seconds = asked_seconds(status, headers, body)
        if seconds is None:
            if status != TOO_MANY:
                return
            seconds = UNSAID_SECONDS
        if status == TOO_MANY and is_global(headers, body):
            self._all_until = max(self._all_until, now + seconds)
        else:
            self._until[name, question.whose] = now + seconds
