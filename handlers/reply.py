"""Replies. Invariant: every error has one shape, and its code decides all of it.

    {"success": false, "error": "<text>", "status": <the HTTP status>}

`languages/refusal_texts.py` has the status and the text of each code. The headers of some codes, and the
bodies with more fields, are here.
"""

from collections.abc import AsyncGenerator, Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from actions.views import Moment, Success, View, described
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
    """The common shape of errors."""

    success: Annotated[bool, Meta(extra_json_schema={"const": False})] = False
    error: Annotated[str, described("A sentence that says what is wrong.")]
    status: Annotated[int, Meta(ge=400, le=599, description="The HTTP status.")]


class InvalidFieldsBody(ErrorBody):
    """The error of a body or a query that breaks rules."""

    fields: Annotated[
        Mapping[str, str], Meta(min_length=1, description="The fault of each field that is not valid.")
    ]


class VotedTooSoonBody(ErrorBody, rename={"next_vote_ms": "nextVoteAt"}):
    """The error of a vote within the cooldown."""

    next_vote_ms: Moment


class QuarantinedBody(ErrorBody, rename={"until_ms": "until"}):
    """The error of an act that is forbidden to a user, up to a time; null means without end."""

    until_ms: Moment | None


_DONE = Success()


def success(view: Success = _DONE, status: int = 200) -> Reply:
    return Reply(status, encode_json(view), view=view)


def failure(status: int, text: str) -> Reply:
    """Return the answer to a request that the server itself refuses, which has no code."""
    return Reply(status, encode_json(ErrorBody(error=text, status=status)))


def refused(code: Code, **facts: Fact) -> Reply:
    """Return the answer to a request that is refused with a code."""
    return reply_to(Refusal(code, **facts))


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
    "unavailable": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "search_unavailable": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "cut_off": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    "file_not_read": {"retry-after": UNAVAILABLE_RETRY_SECONDS},
}
ERROR_BODIES: Mapping[Code, type[ErrorBody]] = {
    "invalid_fields": InvalidFieldsBody,
    "voted_too_soon": VotedTooSoonBody,
    "quarantined": QuarantinedBody,
    "quarantined_without_end": QuarantinedBody,
}
Spoken = Refusal | TooManyRequests | Unavailable | SearchUnavailable | PlaceLost
SPOKEN = (Refusal, TooManyRequests, Unavailable, SearchUnavailable, PlaceLost)
"""Every exception that has an answer; any other is a bug."""


def reply_to(error: Spoken) -> Reply:
    """Return the answer to one of the SPOKEN exceptions."""
    why = _why(error)
    code, facts = why
    more: Mapping[str, Any] = facts
    if isinstance(error, Invalid):
        more = {"fields": {name: in_words(*fault) for name, fault in error.faults.items()}}
    kind, status = ERROR_BODIES.get(code, ErrorBody), SAID[code].status
    beside = {name: more[name] for name in kind.__struct_fields__ if name in more}
    body = kind(error=in_words(code, facts), status=status, **beside)
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
