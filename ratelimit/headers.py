"""A decision as response headers.

`ratelimit-limit`, `-remaining` and `-reset` are the contract's; `ratelimit-policy` adds the window's length
in the form of draft-ietf-httpapi-ratelimit-headers ("100;w=300"), and a refusal adds `retry-after`
(RFC 9110, 10.2.3). Times are seconds, rounded up, so a client that waits that long is never early.
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
"""The same as header lines with places for `numbers`: the hot path has no time for a dict."""


def numbers(decision: Decision) -> tuple[int, int, int, int, int]:
    limit = decision.limit
    return limit, decision.remaining, decision.reset_seconds, limit, decision.window_seconds
