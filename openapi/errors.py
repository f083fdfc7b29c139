"""Every error an answer can be, by name. Law: most are made by the code that refuses requests, not copied.

What is copied, because its text is inside a rule, a test compares with what a gateway answers.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from core import refusals as no
from handlers.public import MALFORMED_USER
from handlers.reply import (
    AUTHORIZATION_REQUIRED,
    BOT_NOT_FOUND,
    INVALID_KEY,
    NO_SCHEME,
    SPOKEN,
    TOO_MANY_REQUESTS,
    Reply,
    failure,
    method_not_allowed,
    reply_to,
)
from handlers.request import json_object
from listings.forms import BotEdit, read
from listings.stats import read_stats
from openapi.examples import BOT, DAY_MS, NOW_MS, SERVER_COUNT

MAX_BODY_BYTES = 65_536
KEYS_PER_LISTING = 25
REQUEST_ID = "9f2c4e6a8b0d1f35"


class Error(NamedTuple):
    summary: str
    reply: Reply


def _said(refuse: Callable[[], object]) -> Reply:
    """The answer to what the call refuses."""
    try:
        refuse()
    except SPOKEN as refusal:
        return reply_to(refusal)
    raise AssertionError("it did not refuse")


def _conflict(reason: no.ConflictReason, **facts: str | int) -> Reply:
    return reply_to(no.Conflict(reason, **facts))


def _body(body: bytes | None) -> Reply:
    return _said(lambda: json_object(body, MAX_BODY_BYTES))


ERRORS: Mapping[str, Error] = {
    # The contract's.
    "noCountGiven": Error("Neither count is given", _said(lambda: read_stats({}))),
    "serverCountOutOfRange": Error(
        "The server count is not an integer from 0 to 10,000,000",
        _said(lambda: read_stats({"server_count": 10_000_001})),
    ),
    "commandCountOutOfRange": Error(
        "The command count is not an integer from 0 to 1,000",
        _said(lambda: read_stats({"command_count": -1})),
    ),
    "serverCountTooFarOff": Error(
        "The server count is not close to the actual one",
        reply_to(no.ServerCountTooFarOff(5_000, SERVER_COUNT // 10, SERVER_COUNT)),
    ),
    "authorizationRequired": Error("No key is sent", failure(401, AUTHORIZATION_REQUIRED)),
    "invalidKey": Error("The key is not one of this bot's", failure(401, INVALID_KEY)),
    "keyWithScheme": Error("A word stands before the key", failure(401, INVALID_KEY, NO_SCHEME)),
    "botNotFound": Error("There is no such bot", failure(404, BOT_NOT_FOUND)),
    "tooManyRequests": Error("The limit is reached", failure(429, TOO_MANY_REQUESTS, {"retry-after": "300"})),
    "countUnknown": Error("Nobody told the actual server count", reply_to(no.ActualCountUnknown())),
    # Of every body.
    "notJson": Error("The body is not JSON", _body(b"{")),
    "notAnObject": Error("The body is no object", _body(b"[]")),
    "doubledField": Error("A field is named twice", _body(b'{"a": 1, "a": 2}')),
    "bodyTooLarge": Error("The body is too large", _body(None)),
    "invalidFields": Error(
        "Fields are not valid",
        _said(lambda: read(BotEdit, {"owner_id": BOT[:3], "name": "", "categories": ["Utility"]})),
    ),
    "malformedUser": Error("The user id is no snowflake", failure(400, MALFORMED_USER)),
    # Of the management API.
    "invalidId": Error(
        "The id is no snowflake",
        reply_to(no.Invalid({"id": "must be a snowflake: 17 to 20 digits"})),
    ),
    "invalidQuery": Error(
        "A parameter is not valid", reply_to(no.Invalid({"limit": "must be from 1 to 500"}))
    ),
    "operatorTokenRequired": Error(
        "No token is sent",
        failure(401, "The operator token is required.", {"www-authenticate": "Bearer"}),
    ),
    "invalidOperatorToken": Error(
        "The token is not the operator's",
        failure(401, "Invalid operator token.", {"www-authenticate": "Bearer"}),
    ),
    "noSuchListing": Error("There is no such listing", reply_to(no.NotFound("listing"))),
    "noSuchKey": Error("The listing has no such key", reply_to(no.NotFound("key"))),
    "noSuchWebhook": Error("The listing has no webhook", reply_to(no.NotFound("webhook"))),
    "noSuchDelivery": Error("The listing has no such delivery", reply_to(no.NotFound("delivery"))),
    "listingExists": Error("The id is taken", _conflict("listing_exists")),
    "notInReview": Error("It was decided before", _conflict("not_in_review", review="approved")),
    "keysNeedApproval": Error("The listing is not approved", _conflict("keys_need_approval")),
    "tooManyKeys": Error(
        "The listing has all the keys it may have",
        _conflict("too_many_keys", most=KEYS_PER_LISTING),
    ),
    "votesNeedApproval": Error(
        "The listing is not approved",
        _conflict("votes_need_approval"),
    ),
    "votedTooSoon": Error("The user voted not long ago", reply_to(no.VotedTooSoon(NOW_MS + DAY_MS, DAY_MS))),
    "deliveryPending": Error("It is still on its way", _conflict("delivery_pending")),
    "tooManyPending": Error("The endpoint's line is full", _conflict("too_many_pending")),
    "tooManyTests": Error("Tests before it have not been answered", _conflict("too_many_tests")),
    "notSigned": Error("It is a chat platform's webhook URL", _conflict("not_signed")),
    # Ours.
    "bug": Error(
        "A bug",
        failure(500, f"Something went wrong here; the operators find it under {REQUEST_ID}."),
    ),
    "unavailable": Error("No writes now", reply_to(no.Unavailable("the disk does not keep up"))),
    "notReady": Error("Nothing can be written", failure(503, "Not ready: the journal does not take writes.")),
    "malformedRequest": Error("The request is not HTTP", failure(400, "The HTTP request is malformed.")),
    "noSuchPath": Error("There is nothing at this path", failure(404, "Not found.")),
    "methodNotAllowed": Error(
        "The path has no such method",
        method_not_allowed(["GET"], "GET, HEAD, OPTIONS"),
    ),
    "headersTooLarge": Error(
        "The headers are too large", failure(431, "The request's headers are too large.")
    ),
}
