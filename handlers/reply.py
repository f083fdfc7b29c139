"""Replies, and the one table from refusals to statuses and texts. Law: every error has one shape.

    {"success": false, "error": "<text>", "status": <the HTTP status>}

The domain's refusals are in `core/refusals.py`. Requests that are refused before a rule sees them are here:

    BadRequest                  the request cannot be served as it came
    |-- ApiKeyRefused           AuthorizationRequired, InvalidKey, KeyWithScheme
    |-- OperatorTokenRefused    OperatorTokenRequired, InvalidOperatorToken
    |-- BotNotFound             no bot has this id, or it is no id
    |-- MalformedUser           the user id of a vote check is no snowflake
    |-- TooManyRequests         the limit is reached
    |-- NotReady                the gateway is stopping, its journal takes no writes, or its fleet knows more
    |-- CutOff                  a node of a fleet that refuses requests while it hears nothing of the others
    |-- FromElsewhere           a page's form that was sent from another site
    |-- SignInRequired          a page, or a part of one, for those who are signed in
    |-- NotPermitted            a page that is not for whoever is signed in
    |-- Unreadable              NotJson, NotAnObject, DoubledField, UnreadableForm
    `-- BodyTooLarge            the body was not kept

The contract's texts stand in the table word by word.
"""

from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from actions.views import Moment, Success, View
from core import refusals as no
from ratelimit.bucket import Decision

encode_json = msgspec.json.Encoder().encode

NO_HEADERS: Mapping[str, str] = MappingProxyType({})
JSON = "application/json"
EVENT_STREAM = "text/event-stream; charset=utf-8"
"""A stream that lasts as long as somebody watches it."""
UNAVAILABLE_RETRY_SECONDS = "5"
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


class Reply(Struct, frozen=True):
    """An answer to send.

    `body` goes first, then the pieces of `stream`, if there is one, as they come. `headers`, and those that
    tell of `limits`, come beside the headers of every answer. Each of `cookies` is the value of a
    `Set-Cookie`. `view` is the value whose JSON the body is, for a page that shows the same.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = NO_HEADERS
    limits: Decision | None = None
    content_type: str = JSON
    stream: AsyncGenerator[bytes, None] | None = None
    cookies: tuple[str, ...] = ()
    view: Struct | None = None


class BadRequest(Exception):
    """A request that no endpoint serves; not the domain's business."""


class ApiKeyRefused(BadRequest):
    pass


class AuthorizationRequired(ApiKeyRefused):
    pass


class InvalidKey(ApiKeyRefused):
    pass


class KeyWithScheme(ApiKeyRefused):
    """A word such as `Bearer` stands before the key."""


class OperatorTokenRefused(BadRequest):
    pass


class OperatorTokenRequired(OperatorTokenRefused):
    pass


class InvalidOperatorToken(OperatorTokenRefused):
    pass


class BotNotFound(BadRequest):
    pass


class MalformedUser(BadRequest):
    pass


class TooManyRequests(BadRequest):
    pass


class Unreadable(BadRequest):
    """A body that two readers may read in two ways, or none at all."""


class NotJson(Unreadable):
    pass


class NotAnObject(Unreadable):
    pass


class DoubledField(Unreadable):
    pass


class UnreadableForm(Unreadable):
    """A posted form of a page that is no form of ours."""


class FromElsewhere(BadRequest):
    """A form that was sent from a page of another site, or of none."""


class SignInRequired(BadRequest):
    pass


class NotPermitted(BadRequest):
    pass


class NotReady(BadRequest):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CutOff(BadRequest):
    pass


class BodyTooLarge(BadRequest):
    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self.max_bytes = max_bytes


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


class QuarantinedBody(ErrorBody, rename={"until_ms": "until"}):
    """The error of an act that is forbidden to a user, up to a time; null means without end."""

    until_ms: Moment | None


_DONE = Success()


def success(view: Success = _DONE, status: int = 200) -> Reply:
    return Reply(status, encode_json(view), view=view)


def failure(status: int, text: str, headers: Mapping[str, str] = NO_HEADERS) -> Reply:
    return Reply(status, encode_json(ErrorBody(error=text, status=status)), headers)


def method_not_allowed(methods: Collection[str], allow: str) -> Reply:
    """Return a 405 whose text names the right methods, because clients log the text and no header.

    Args:
        methods: the methods that the path has endpoints for.
        allow: the value of the `Allow` header (RFC 9110, 10.2.1), with HEAD and OPTIONS.
    """
    *others, last = sorted(methods, key=_METHODS.index)
    use = f"{', '.join(others)} or {last}" if others else last
    return failure(405, f"Method not allowed. Use {use}.", {"allow": allow})


def bug(request_id: str) -> Reply:
    """The answer to a request that met a bug of ours."""
    return failure(500, f"Something went wrong here; the operators find it under {request_id}.")


def no_such_path() -> Reply:
    return failure(404, "Not found.")


def limited(reply: Reply, limits: Decision) -> Reply:
    """Return the reply with the headers of a limiter's decision."""
    return replace(reply, limits=limits)


def too_many(limits: Decision) -> Reply:
    """Return the answer to a request that a limiter refuses."""
    return limited(reply_to(TooManyRequests()), limits)


def _too_soon(error: no.VotedTooSoon) -> Reply:
    wait_seconds = -(-error.wait_ms // 1_000)
    text = f"This user can vote again in {wait_seconds} seconds."
    body = VotedTooSoonBody(error=text, status=409, next_vote_ms=error.next_vote_ms)
    return Reply(409, encode_json(body), {"retry-after": str(wait_seconds)})


def _quarantined(error: no.Quarantined) -> Reply:
    until = f" until {_minute(error.until_ms)} (UTC)" if error.until_ms is not None else ""
    text = f"The user is under quarantine{until}: {error.reason}"
    body = QuarantinedBody(error=text, status=403, until_ms=error.until_ms)
    return Reply(403, encode_json(body))


def _minute(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M}"


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


def _count_unknown(error: no.ActualCountUnknown) -> Reply:
    wait = {} if error.retry_seconds is None else {"retry-after": str(error.retry_seconds)}
    return failure(500, "Could not fetch server count.", wait)


def _unavailable(error: no.Unavailable) -> Reply:
    return failure(
        503, f"Nothing can be written right now: {error}.", {"retry-after": UNAVAILABLE_RETRY_SECONDS}
    )


_NOT_FOUND: Mapping[no.Thing, str] = {
    "listing": "There is no such listing.",
    "key": "The listing has no such key.",
    "webhook": "The listing has no webhook.",
    "delivery": "The listing has no such delivery.",
    "user": "There is no such user.",
    "session": "The user has no such session.",
    "quarantine": "The user is under no such quarantine.",
    "invitation": "The user has no invitation.",
    "extra_owner": "The user is neither a co-owner nor invited.",
    "hand_over": "The listing is not offered to this user, or the offer has lapsed.",
}

_CONFLICTS: Mapping[no.ConflictReason, str] = {
    "listing_exists": "A listing with this id exists.",
    "not_in_review": "The listing is {review}, not in review.",
    "is_approved": "The listing is approved, not in review. Withdraw its approval instead.",
    "not_approved": "The listing is not approved.",
    "no_change": "The listing has no change that waits for a decision.",
    "other_version": "The change is not the one that you saw. Look at it again, then decide.",
    "keys_need_approval": "Keys are for approved listings only.",
    "too_many_keys": "A listing has {most} keys at most; delete one first.",
    "votes_need_approval": "Only an approved listing can be voted for.",
    "not_signed": "Messages to a chat platform are not signed.",
    "too_many_tests": "Too many tests wait for this endpoint.",
    "delivery_pending": "The delivery is still pending.",
    "too_many_pending": "Too many deliveries wait for this endpoint.",
    "not_suspended": "The endpoint is not suspended.",
    "moderator_by_settings": "The settings name this moderator; take the id out of web.moderators.",
    "is_moderator": "The user moderates, too: only the operator can do that.",
    "owner_proves": "Only its owner can prove to own the listing.",
    "no_code": "The description at the chat platform does not hold the code.",
    "owner_proven": (
        "The present owner has proven that they own the bot. If that is wrong, ask the people who run "
        "this site."
    ),
    "owner_proven_server": (
        "The present owner has proven that they manage the server. Only the owner of the server at the "
        "chat platform can take the listing over."
    ),
    "own_listing": "The listing is yours already.",
    "own_quarantine": "Nobody imposes or lifts a quarantine of their own.",
    "owner_quarantined": (
        "The owner of the listing may not submit listings now. Meanwhile nobody can edit or inherit it."
    ),
    "owns_already": "The user owns the listing already.",
    "too_many_owners": "A listing has at most {most} co-owners and invitations. Remove one first.",
    "too_many_reminders": "A user has {most} reminders at most; turn one off first.",
    "nothing_to_probe": "No delivery waits that could probe the endpoint; send a test.",
}

_NO_SCHEME = {
    "www-authenticate": 'ApiKey hint="no scheme: the key is the entire value of the Authorization header"'
}
_BEARER = {"www-authenticate": "Bearer"}
_COOKIE = {"www-authenticate": "Cookie"}  # no registered scheme; a 401 must name one (RFC 9110, 15.5.2)
_NEITHER_COUNT = "One of the following fields is required: command_count, server_count."


def _always(status: int, text: str, headers: Mapping[str, str] = NO_HEADERS) -> Callable[[Any], Reply]:
    reply = failure(status, text, headers)
    return lambda _: reply


_REPLIES: Mapping[type[Exception], Callable[[Any], Reply]] = {
    AuthorizationRequired: _always(401, "Authorization header is required."),
    InvalidKey: _always(401, "Invalid API key."),
    KeyWithScheme: _always(401, "Invalid API key.", _NO_SCHEME),
    OperatorTokenRequired: _always(401, "The operator token is required.", _BEARER),
    InvalidOperatorToken: _always(401, "Invalid operator token.", _BEARER),
    BotNotFound: _always(404, "Bot not found."),
    MalformedUser: _always(400, "The user id must be a snowflake: 17 to 20 digits."),
    TooManyRequests: _always(429, "Too many requests, please try again later."),
    FromElsewhere: _always(403, "The form was not sent from a page of this gateway."),
    SignInRequired: _always(401, "You must sign in.", _COOKIE),
    NotPermitted: _always(403, "You may not see this page."),
    UnreadableForm: _always(400, "The form could not be read."),
    NotJson: _always(400, "The body must be valid JSON in UTF-8."),
    NotAnObject: _always(400, "The body must be a JSON object."),
    DoubledField: _always(400, "The body must not name a field twice."),
    NotReady: lambda error: failure(503, f"Not ready: {error.reason}."),
    CutOff: _always(
        503,
        "This node is cut off from its fleet; another one can answer.",
        {"retry-after": UNAVAILABLE_RETRY_SECONDS},
    ),
    BodyTooLarge: lambda error: failure(413, f"The body must not be larger than {error.max_bytes} bytes."),
    no.NotFound: lambda error: failure(404, _NOT_FOUND[error.thing]),
    no.Conflict: lambda error: failure(409, _CONFLICTS[error.reason].format(**error.facts)),
    no.VotedTooSoon: _too_soon,
    no.Quarantined: _quarantined,
    no.Invalid: _invalid,
    no.NoCountGiven: _always(400, _NEITHER_COUNT),
    no.ServerCountOutOfRange: _always(400, "Server count must be between 0 and 10 Million."),
    no.CommandCountOutOfRange: _always(400, "Commands count must be between 0 and 1,000."),
    no.ServerCountTooFarOff: _too_far_off,
    no.ActualCountUnknown: _count_unknown,
    no.SearchUnavailable: _always(
        503, "Listings cannot be searched right now.", {"retry-after": UNAVAILABLE_RETRY_SECONDS}
    ),
    no.Unavailable: _unavailable,
    no.PlaceLost: _always(
        410,
        "The journal cannot be read on from this cursor: it is too old, or of another journal. Begin again, "
        "without a cursor.",
    ),
}

SPOKEN = tuple(_REPLIES)
"""Every exception that has an answer; any other is a bug."""


def reply_to(error: Exception) -> Reply:
    """Return the answer to one of the SPOKEN exceptions."""
    return _REPLIES[type(error)](error)
