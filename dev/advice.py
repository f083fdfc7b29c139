"""Advice about refusals and failed deliveries, with the heading of the guide that explains it.

Invariant: each anchor is a heading of docs/bots.md.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from handlers.request import Request
from languages.said import Code


class Advice(NamedTuple):
    """A sentence on what to do, and the heading of the guide that explains it."""

    text: str
    anchor: str


_KEY, _COUNTS, _BODY, _FAULTS = "the-key", "the-counts", "the-body", "faults-of-the-gateway"
_ABSENT = "not-found"
ADVICE: Mapping[Code, Advice] = {
    "authorization_required": Advice("Send the header Authorization: API_KEY of the .env file.", _KEY),
    "invalid_key": Advice("Send API_KEY of the .env file, for BOT_ID of the same file.", _KEY),
    "key_with_scheme": Advice("Send the key alone, without a word such as Bearer before it.", _KEY),
    "bot_not_found": Advice("Use BOT_ID of the .env file, as text: a number would be rounded.", _ABSENT),
    "no_such_path": Advice("Check the path: /bots/BOT_ID/stats or /bots/BOT_ID/voters/USER.", _ABSENT),
    "method_not_allowed": Advice("Push with PATCH, and ask for votes with GET.", _ABSENT),
    "too_many_requests": Advice("Wait as many seconds as retry-after says.", "too-many-requests"),
    "no_count_given": Advice("Send server_count or command_count at the top of the object.", _COUNTS),
    "server_count_out_of_range": Advice("Send an integer as a number, not as text.", _COUNTS),
    "command_count_out_of_range": Advice("Send an integer as a number, not as text.", _COUNTS),
    "server_count_too_far_off": Advice("Send the sum of all shards, or choose --servers.", _COUNTS),
    "count_unknown": Advice("Push only command_count until the operators set your count.", _FAULTS),
    "count_asked_for": Advice("Push again after as many seconds as retry-after says.", _FAULTS),
    "not_json": Advice("Send JSON in UTF-8.", _BODY),
    "not_an_object": Advice('Send an object: {"server_count": 12}.', _BODY),
    "doubled_field": Advice("Name each field once.", _BODY),
    "body_too_large": Advice("Send only the counts.", _BODY),
    "malformed_user": Advice("Send the user's id as text, 17 to 20 digits.", "the-user-id"),
    "unavailable": Advice("Wait as many seconds as retry-after says.", _FAULTS),
    "bug": Advice("Try again later, and wait longer each time.", _FAULTS),
}
"""The advice for each refusal of the two endpoints of bots."""

_NO_PAGES = Advice("There is no vote page here: press v. The guide is at /docs/bots.", _ABSENT)
_IN_QUOTES = Advice("The key came in quotes: remove them.", _KEY)
_MORE_LIMITS = Advice(
    "Wait as retry-after says, press c, or start without --real-limits.", "too-many-requests"
)
_TOO_MANY = {
    "server_count": Advice("It is out of range: send how many servers the bot is in.", _COUNTS),
    "command_count": Advice(
        "It is out of range: send how many commands the bot has, not their uses.", _COUNTS
    ),
}
REQUESTS = 1_000
"""The value of each limit in development. A smaller one is that of production."""


def advice_for_request(code: Code, request: Request | None, path: str, limit: int | None) -> Advice | None:
    """Return what to do about the refusal of a request; None if the guide does not say it.

    Args:
        request: None for a request that reached no endpoint.
        limit: the number of requests that the window allows.
    """
    if code == "no_such_path" and (path == "/" or path.endswith("/vote")):
        return _NO_PAGES
    if code == "too_many_requests" and limit is not None and 1 < limit < REQUESTS:
        return _MORE_LIMITS
    if code == "invalid_key" and request is not None and (request.authorization or "")[:1] in {'"', "'"}:
        return _IN_QUOTES
    name = code.removesuffix("_out_of_range")
    if name in _TOO_MANY and request is not None and _is_number(request.body, name):
        return _TOO_MANY[name]
    return ADVICE.get(code)


def _is_number(body: bytes | None, name: str) -> bool:
    try:
        value = json.loads(body or b"")[name]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(value, int | float) and not isinstance(value, bool)


_WEBHOOKS = "webhooks-that-fail"
_DELIVERIES: Mapping[str, str] = {
    "refused": "Start your receiver, or name its address with --webhook.",
    "timeout": "Answer first, and do the work afterwards.",
    "blocked": "Name another address with --webhook.",
    "http_400": "Read the body as it came: JSON with user, and bot, guild or test.",
    "http_401": "Check the signature with WEBHOOK_SECRET of the .env file, on the raw body.",
    "http_403": "Check the signature with WEBHOOK_SECRET of the .env file, on the raw body.",
    "http_404": "Check the path of your receiver, and name it with --webhook.",
    "http_405": "Accept POST at the path of your receiver.",
}


def advice_for_delivery(error: str) -> Advice:
    """Return what to do about a delivery that failed with this error."""
    is_fault = error.startswith("http_5")
    other = (
        "See its text, or the log of your receiver." if is_fault else "Answer with a status from 200 to 299."
    )
    return Advice(_DELIVERIES.get(error, other), _WEBHOOKS)
