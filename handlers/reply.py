"""Replies. Invariant: every error has one shape, and its code decides all of it.

    {"success": false, "error": "<text>", "status": <the HTTP status>, "code": "<the code>"}

`languages/refusal_texts.py` has the status and the text of each code. The headers of some codes, and the
fields that some bodies have beside these, are here. The two public endpoints answer without the code.
"""

from collections.abc import AsyncGenerator, Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from actions.views import Count, Success, View, described
from core.failures import PlaceLost, SearchUnavailable, Unavailable
from languages.refusals import Invalid, Refusal
from languages.said import SAID, Code, Fault, in_words
from languages.texts import Fact
from ratelimit.bucket import Decision, TooManyRequests

encode_json = msgspec.json.Encoder().encode

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
KEPT_BRIEFLY: Mapping[str, str] = MappingProxyType(
    {"cache-control": "public, max-age=10, stale-while-revalidate=60"}
)
"""The header of an answer that caches may keep (RFC 9111, 5.2.2.9; RFC 5861, 3)."""
JSON = "application/json"
EVENT_STREAM = "text/event-stream; charset=utf-8"
"""A stream that lasts as long as somebody watches it."""
UNAVAILABLE_RETRY_SECONDS = "5"
COUNT_RETRY_SECONDS = "3600"
"""The wait until somebody may have set the actual server count of a bot."""
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Reply(Struct, frozen=True):
    """An answer to send.

    `body` goes first, then the pieces of `stream`, if there is one, as they come. `headers`, and the headers
    of `limits`, are added to the headers of every answer. Each of `cookies` is the value of a `Set-Cookie`. A
    page that shows the same reads `view`, the value whose JSON is the body, or `why`, the reason of a
    refusal. (The exception itself would keep its traceback alive, in a cycle.) `shows` has the refs of the
    listings and users that the body shows, so that a kept answer is dropped when one of them changes.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None
    content_type: str = JSON
    stream: AsyncGenerator[bytes, None] | None = None
    cookies: tuple[str, ...] = ()
    view: Struct | None = None
    why: Fault | None = None
    shows: Collection[str] = ()


class ErrorBody(View):
    """An error of the public endpoints, whose fields the contract names."""

    success: Annotated[bool, Meta(extra_json_schema={"const": False})] = False
    error: Annotated[str, described("A sentence that says what is wrong.")]
    status: Annotated[int, Meta(ge=400, le=599, description="The HTTP status.")]


class RefusalBody(ErrorBody, rename={"next_vote_ms": "nextVoteAt", "until_ms": "until"}):
    """An error of any other endpoint, with its code. Some codes have one more field."""

    code: Annotated[
        str,
        described(
            "The code of the error, for programs. A code is never renamed, and its text may be. There may be "
            "new codes: read an unknown one by its status.",
            "no_such_listing",
        ),
    ]
    fields: Annotated[
        Mapping[str, str] | UnsetType,
        Meta(description="The fault of each field that is not valid; only with `invalid_fields`."),
    ] = UNSET
    next_vote_ms: Annotated[
        Count | UnsetType,
        described(
            "The time when the user can vote again, in Unix milliseconds; only with `voted_too_soon`.",
            1_750_000_000_000,
        ),
    ] = UNSET
    until_ms: Annotated[
        Count | UnsetType | None,
        described(
            "The end of the user's quarantine, in Unix milliseconds; null means without end. Only with "
            "`quarantined` and `quarantined_without_end`.",
            1_750_000_000_000,
        ),
    ] = UNSET


_DONE = Success()


def success(view: Success = _DONE, status: int = 200) -> Reply:
    return Reply(status, encode_json(view), view=view)


def refused(code: Code, **facts: Fact) -> Reply:
    """Return the answer to a request that is refused with a code."""
    return reply_to(Refusal(code, **facts))


def without_code(reply: Reply) -> Reply:
    """Return an answer of a public endpoint: the contract names every field of its errors."""
    if reply.why is None:
        return reply
    body = ErrorBody(error=in_words(*reply.why), status=reply.status)
    return replace(reply, body=encode_json(body))


def method_not_allowed(methods: Collection[str], allow: str) -> Reply:
    """Return a 405 whose text names the right methods, because clients log the text and no header.

    Args:
        methods: the methods that the path has endpoints for.
        allow: the value of the `Allow` header (RFC 9110, 10.2.1), with HEAD and OPTIONS.
    """
    *others, last = sorted(methods, key=_METHODS.index)
    use = f"{', '.join(others)} or {last}" if others else last
    return replace(refused("method_not_allowed", methods=use), headers={"allow": allow})


def limited(reply: Reply, limits: Decision) -> Reply:
    """Return the reply with the headers of a limiter's decision."""
    return replace(reply, limits=limits)


_NO_SCHEME = 'ApiKey hint="no scheme: the key is the entire value of the Authorization header"'
_HEADERS: Mapping[Code, Mapping[str, str]] = {
    "key_with_scheme": {"www-authenticate": _NO_SCHEME},
    "operator_token_required": {"www-authenticate": "Bearer"},
    "invalid_operator_token": {"www-authenticate": "Bearer"},
    # No registered scheme, but a 401 must name one (RFC 9110, 15.5.2).
    "sign_in_required": {"www-authenticate": "Cookie"},
    "count_unknown": {"retry-after": COUNT_RETRY_SECONDS},
    "unavailable": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "search_unavailable": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "cut_off": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "file_not_read": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
}
_BESIDE = ("next_vote_ms", "until_ms")
"""Facts that an answer has beside its text."""
Spoken = Refusal | TooManyRequests | Unavailable | SearchUnavailable | PlaceLost
SPOKEN = (Refusal, TooManyRequests, Unavailable, SearchUnavailable, PlaceLost)
"""Every exception that has an answer; any other is a bug."""


def reply_to(error: Spoken) -> Reply:
    """Return the answer to one of the SPOKEN exceptions."""
    why = _why(error)
    code, facts = why
    beside: dict[str, Any] = {name: facts[name] for name in _BESIDE if name in facts}
    if isinstance(error, Invalid):
        beside["fields"] = {name: in_words(*fault) for name, fault in error.faults.items()}
    status = SAID[code].status
    body = RefusalBody(error=in_words(code, facts), status=status, code=code, **beside)
    headers = _HEADERS.get(code, NO_HEADERS)
    if "retry_seconds" in facts:
        headers = {"retry-after": str(facts["retry_seconds"])}
    limits = error.limits if isinstance(error, TooManyRequests) else None
    return Reply(status, encode_json(body), headers, limits, why=why)


def _why(error: Spoken) -> Fault:
    match error:
        case Refusal():
            return Fault(error.code, error.facts)
        case TooManyRequests():
            return Fault("too_many_requests")
        case Unavailable():
            return Fault("unavailable", {"reason": error.reason})
        case SearchUnavailable():
            return Fault("search_unavailable")
        case PlaceLost():
            return Fault("place_lost")
