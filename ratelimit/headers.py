"""A decision as response headers.

`ratelimit-limit`, `-remaining` and `-reset` are the contract's; `ratelimit-policy` adds the window's length
in the form of draft-ietf-httpapi-ratelimit-headers ("100;w=300"), and a refusal says `retry-after`
(RFC 9110, 10.2.3). Times are seconds, rounded up: whoever waits that long is not refused for being early.
"""

from ratelimit.bucket import Decision


def headers(decision: Decision) -> dict[str, str]:
    reset = str(decision.reset_seconds)
    named = {
        "ratelimit-limit": str(decision.limit),
        "ratelimit-remaining": str(decision.remaining),
        "ratelimit-reset": reset,
        "ratelimit-policy": f"{decision.limit};w={decision.window_seconds}",
    }
    if not decision.allowed:
        named["retry-after"] = reset
    return named


LINES = (
    b"Ratelimit-Limit: %d\r\nRatelimit-Remaining: %d\r\nRatelimit-Reset: %d\r\nRatelimit-Policy: %d;w=%d\r\n"
)
"""The same as lines of a head, of `numbers`, for the path where a dict would be too dear."""


def numbers(decision: Decision) -> tuple[int, int, int, int, int]:
    limit = decision.limit
    return limit, decision.remaining, decision.reset_seconds, limit, decision.window_seconds
