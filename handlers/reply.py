"""What an endpoint returns. Law: every answer is JSON, and every error has one shape.

    {"success": false, "error": "<text>", "status": <the HTTP status>}

The one table from refusals to statuses and texts is here; the contract's texts are its, word by word.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from core import refusals as no
from handlers.views import Moment, Success, View
from ratelimit.bucket import Decision

encode_json = msgspec.json.Encoder().encode

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
JSON = "application/json"
TOO_MANY_REQUESTS = "Too many requests, please try again later."
AUTHORIZATION_REQUIRED = "Authorization header is required."
INVALID_KEY = "Invalid API key."
BOT_NOT_FOUND = "Bot not found."
NO_SCHEME: Mapping[str, str] = MappingProxyType(
    {"www-authenticate": 'ApiKey hint="no scheme: the key is the entire value of the Authorization header"'}
)
"""Beside `INVALID_KEY`, for a key with a word such as `Bearer` before it."""
UNAVAILABLE_RETRY_SECONDS = "5"
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Reply(Struct, frozen=True):
    """`body` is sent as it is, then the pieces of `stream`, if there is one, as they come; `headers`, and
    those that tell of `limits`, are beside those that every answer has."""

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None
    content_type: str = JSON
    stream: AsyncGenerator[bytes, None] | None = None


class BadRequest(Exception):
    """A request that no endpoint can read; not the domain's business."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


class ErrorBody(View):
    """The common shape of errors."""

    success: Annotated[bool, Meta(extra_json_schema={"const": False})] = False
    error: Annotated[str, Meta(description="What is wrong, in a sentence.")]
    status: Annotated[int, Meta(ge=400, le=599, description="The HTTP status.")]


class InvalidFieldsBody(ErrorBody):
    """The error of a body or a query that breaks rules."""

    fields: Annotated[Mapping[str, str], Meta(min_length=1, description="What is wrong with each field.")]


class VotedTooSoonBody(ErrorBody, rename={"next_vote_ms": "nextVoteAt"}):
    """The error of a vote within the cooldown."""

    next_vote_ms: Moment


_DONE = Success()


def success(view: Success = _DONE, status: int = 200) -> Reply:
    return Reply(status, encode_json(view))


def failure(status: int, text: str, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
    return Reply(status, encode_json(ErrorBody(error=text, status=status)), headers)


def method_not_allowed(methods: Collection[str], allow: str) -> Reply:
    """A 405 that names the right methods in its text too: clients log that and no header.

    Args:
        methods: those that the path has endpoints for.
        allow: the value of the `Allow` header (RFC 9110, 10.2.1), which has HEAD and OPTIONS beside them.
    """
    *others, last = sorted(methods, key=_METHODS.index)
    use = f"{', '.join(others)} or {last}" if others else last
    return failure(405, f"Method not allowed. Use {use}.", {"allow": allow})


def limited(reply: Reply, limits: Decision) -> Reply:
    """The reply with the headers of a limiter's decision."""
    return replace(reply, limits=limits)


def _too_soon(error: no.VotedTooSoon) -> Reply:
    wait_seconds = -(-error.wait_ms // 1_000)
    text = f"This user can vote again in {wait_seconds} seconds."
    body = VotedTooSoonBody(error=text, status=409, next_vote_ms=error.next_vote_ms)
    return Reply(409, encode_json(body), {"retry-after": str(wait_seconds)})


def _invalid(error: no.Invalid) -> Reply:
    body = InvalidFieldsBody(error="Some fields are not valid.", status=400, fields=error.fields)
    return Reply(400, encode_json(body))


def _too_far_off(error: no.ServerCountTooFarOff) -> Reply:
    return failure(
        400,
        f"The server count provided ({error.given}) is too far off from the actual server count. "
        f"It cannot differ by more than {error.max_difference} from the actual server count, "
        f"which is {error.actual}.",
    )


def _unavailable(error: no.Unavailable) -> Reply:
    return failure(
        503, f"Nothing can be written right now: {error}.", {"retry-after": UNAVAILABLE_RETRY_SECONDS}
    )


_NOT_FOUND: Mapping[no.Thing, str] = {
    "listing": "There is no such listing.",
    "key": "The listing has no such key.",
    "webhook": "The listing has no webhook.",
    "delivery": "The listing has no such delivery.",
}

_CONFLICTS: Mapping[no.ConflictReason, str] = {
    "listing_exists": "A listing with this id exists.",
    "not_in_review": "The listing is {review}, not in review.",
    "keys_need_approval": "Keys are for approved listings only.",
    "too_many_keys": "A listing has {most} keys at most; delete one first.",
    "votes_need_approval": "Only an approved listing can be voted for.",
    "not_signed": "Messages to a chat platform are not signed.",
    "too_many_tests": "Too many tests wait for this endpoint.",
    "delivery_pending": "The delivery is still pending.",
    "too_many_pending": "Too many deliveries wait for this endpoint.",
}

_REPLIES: Mapping[type[Exception], Callable[[Any], Reply]] = {
    BadRequest: lambda error: failure(error.status, error.text),
    no.NotFound: lambda error: failure(404, _NOT_FOUND[error.thing]),
    no.Conflict: lambda error: failure(409, _CONFLICTS[error.reason].format(**error.facts)),
    no.VotedTooSoon: _too_soon,
    no.Invalid: _invalid,
    no.NoCountGiven: lambda _: failure(
        400, "One of the following fields is required: command_count, server_count."
    ),
    no.ServerCountOutOfRange: lambda _: failure(400, "Server count must be between 0 and 10 Million."),
    no.CommandCountOutOfRange: lambda _: failure(400, "Commands count must be between 0 and 1,000."),
    no.ServerCountTooFarOff: _too_far_off,
    no.ActualCountUnknown: lambda _: failure(500, "Could not fetch server count."),
    no.Unavailable: _unavailable,
}

SPOKEN = tuple(_REPLIES)
"""The exceptions that `reply_to` has an answer for; any other is a bug."""


def reply_to(error: Exception) -> Reply:
    """The answer to one of the SPOKEN exceptions."""
    return _REPLIES[type(error)](error)
