"""The OpenAPI 3.1 document. Law: it describes every route that is served, and no other; tests compare.

The tables are in the modules beside this one: operations, errors, schemas, examples. This one puts them
together.
"""

import functools
import re
from collections.abc import Iterable, Mapping
from typing import Any

from handlers.manage import MAX_PAGE, PAGE
from handlers.reply import JSON, Reply, encode_json
from openapi.examples import BOT, DELIVERY_ID, KEY_ID, NOW_MS, SERVER, USER
from openapi.manage import MANAGE
from openapi.operations import DEBUG, OPEN, PUBLIC, TAGS, Operation
from openapi.responses import (
    EVERY,
    HEADERS,
    LIMITED,
    REFUSALS,
    body_examples,
    example_components,
    ref,
    response_components,
    success_response,
)
from openapi.schemas import REVIEW, schema_components
from openapi.words import DELIVERY_CURSOR, OUR_ID, SNOWFLAKE

Node = dict[str, Any]

API_VERSION = "1.1.0"

_ABOUT = """Votegate is the API of a bot-listing platform. Bot developers push their bot's counts, ask
whether a user has voted, and receive a webhook for each vote. The platform itself uses the management API.

**Keys.** The two public endpoints take an API key as the entire value of the `Authorization` header,
without a prefix. A key is for one bot. The management and debug endpoints take the operator token:
`Authorization: Bearer <token>`.

**Numbers** that an operator can set (limits, sizes, time-outs) are given here as they are by default.

**Bodies** are JSON in UTF-8, whatever their content type says, up to 65,536 bytes. A field named twice is
refused. An empty body is read as `{}`.

**Errors** have one shape: `success` is false, `error` says what is wrong, `status` repeats the HTTP status.
Some have one field more: `fields` tells what is wrong with each field, `nextVoteAt` when a user can vote
again.

**Limits.** The public endpoints tell the limit, what is left of it, and when it resets, in every answer.
Stop at `ratelimit-remaining` 0 until `ratelimit-reset` seconds have passed, and back off after a 429. What
is counted is requests that succeed, per bot and endpoint, over all the bot's keys. An address whose
requests keep failing, for a wrong key or operator token too, is answered 429 for a while.

**Ids** of bots, servers and users are strings of 17 to 20 digits. Times are Unix milliseconds.

**Any path** that has GET has HEAD too, and every path has OPTIONS. Another method is answered 405,
whose text names the right ones (one that HTTP does not know 501), an unknown path 404, what is not HTTP 400,
a request that comes too slowly 408, and headers over 16,384 bytes 431."""

_WEBHOOK_TEXT = """Sent to the URL of a listing's webhook settings when a user votes for the bot or the
server, within seconds of the vote; and, as a test, when the management API asks for one.

Answer with a status from 200 to 299, quickly, and do your work afterwards: the whole exchange must end
within 5 seconds. Anything else, redirects included, is tried again up to 3 times, each 5 seconds after the
failure before. Then the event has failed; when the last 10 have, the endpoint is suspended: events are kept,
for 14 days at most, and one of them asks again now and then, until one is delivered. 410 suspends at once.

An event can arrive twice: every attempt of it carries the same `webhook-id`. Before you believe a request,
check its signature (https://www.standardwebhooks.com), or compare the `Authorization` header with your
token."""

_SECURITY_SCHEMES: Node = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "An API key of the bot, as the entire value of the header: `vg_` and 43 characters.",
    },
    "operator": {
        "type": "http",
        "scheme": "bearer",
        "description": "The operator token, from `operator.token` in the settings or the data folder.",
    },
    "webhookToken": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The token of the webhook's settings. Without one the header is not sent.",
    },
}


@functools.cache
def openapi_reply() -> Reply:
    """The answer of `GET /openapi.json`."""
    return Reply(200, encode_json(openapi_document()))


@functools.cache
def openapi_document() -> Node:
    operations = (*PUBLIC, *OPEN, *MANAGE, *DEBUG)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Votegate",
            "version": API_VERSION,
            "summary": "The API gateway of a bot-listing platform.",
            "description": _ABOUT,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "Where this document was found."}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _paths(operations),
        "webhooks": {"vote": {"post": _vote_webhook()}},
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "parameters": _PARAMETERS,
            "headers": dict(HEADERS),
            "responses": response_components(),
            "schemas": schema_components(),
            "examples": example_components(),
        },
    }


def _paths(operations: Iterable[Operation]) -> Node:
    paths: dict[str, Node] = {}
    for operation in operations:
        item = paths.setdefault(operation.path, {})
        item[operation.method.lower()] = _operation(operation)
    return paths


def _operation(operation: Operation) -> Node:
    described: Node = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": operation.description,
        "security": [] if operation.security == "none" else [{operation.security: []}],
    }
    parameters = [ref("parameters", name) for name in (*_in_path(operation.path), *operation.query)]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = _body(operation.body.schema, required=operation.body.required)
    return {**described, "responses": _responses(operation)}


def _body(schema: str, *, required: bool) -> Node:
    content = {"schema": ref("schemas", schema), "examples": body_examples(schema)}
    return {"required": required, "content": {JSON: content}}


def _responses(operation: Operation) -> Node:
    headers = LIMITED if operation.security == "apiKey" else EVERY
    responses = {str(operation.answer.status): success_response(operation.answer, headers)}
    refusals = sorted(operation.refusals, key=lambda name: REFUSALS[name].status)
    return responses | {str(REFUSALS[name].status): ref("responses", name) for name in refusals}


def _vote_webhook() -> Node:
    return {
        "operationId": "vote",
        "tags": ["Webhooks"],
        "summary": "A user has voted",
        "description": _WEBHOOK_TEXT,
        "security": [{"webhookToken": []}, {}],
        "parameters": [ref("parameters", name) for name in _OF_WEBHOOKS],
        "requestBody": _body("Vote", required=True),
        "responses": {
            "2XX": {"description": "Delivered."},
            "410": {"description": "Not delivered: the endpoint is suspended."},
            "default": {"description": "Not delivered: tried again up to 3 times, 5 seconds apart."},
        },
    }


def _parameter(name: str, place: str, description: str, schema: Node, example: Any) -> Node:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": schema,
        "example": example,
    }


_OF_WEBHOOKS: Node = {
    "webhookId": _parameter(
        "webhook-id", "header", "Of the event, over all its attempts.", OUR_ID, DELIVERY_ID
    ),
    "webhookTimestamp": _parameter(
        "webhook-timestamp", "header", "Of the attempt, in Unix seconds.", {"type": "string"}, "1750000000"
    ),
    "webhookSignature": _parameter(
        "webhook-signature",
        "header",
        "One for each secret: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`.",
        {"type": "string"},
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
}
_PARAMETERS: Node = {
    **_OF_WEBHOOKS,
    "botId": _parameter("id", "path", "The bot's id.", SNOWFLAKE, BOT),
    "serverId": _parameter("id", "path", "The server's id.", SNOWFLAKE, SERVER),
    "forgottenUserId": _parameter("id", "path", "The user's id.", SNOWFLAKE, USER),
    "userId": _parameter("user_id", "path", "The user's id.", SNOWFLAKE, USER),
    "keyId": _parameter("key_id", "path", "The key's id, which is not its value.", OUR_ID, KEY_ID),
    "deliveryId": _parameter("delivery_id", "path", "The delivery's id.", OUR_ID, DELIVERY_ID),
    "after": _parameter("after", "query", "The `next` of the page before.", SNOWFLAKE, BOT),
    "afterDelivery": _parameter(
        "after", "query", "The `next` of the page before.", DELIVERY_CURSOR, f"{NOW_MS}-{DELIVERY_ID}"
    ),
    "limit": _parameter(
        "limit",
        "query",
        "How many there are on a page at most.",
        {"type": "integer", "minimum": 1, "maximum": MAX_PAGE, "default": PAGE},
        PAGE,
    ),
    "state": _parameter("state", "query", "Only those in this state.", REVIEW, "in_review"),
}
# The parameter that a name in a path stands for; an `id` is that of what the segment before it names.
_BY_NAME: Mapping[str, str] = {
    "bots/{id}": "botId",
    "servers/{id}": "serverId",
    "users/{id}": "forgottenUserId",
    "voters/{user_id}": "userId",
    "keys/{key_id}": "keyId",
    "deliveries/{delivery_id}": "deliveryId",
}


def _in_path(path: str) -> list[str]:
    return [_BY_NAME[segment] for segment in re.findall(r"\w+/\{\w+\}", path)]
