"""The OpenAPI 3.1 document. Invariant: it describes every row of the routes, and nothing else.

Paths, parameters, bodies, answers, refusals, headers and security follow from the rows. Numbers that an
operator can set are the deployment's own.
"""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from actions.users import SESSION_PATTERN
from actions.views import ID_PATTERN
from core.version import API_VERSION, VERSION, VERSIONS
from forms.schema import type_schema
from handlers.reply import (
    EVENT_STREAM,
    JSON,
    KEPT_BRIEFLY,
    ErrorBody,
    RefusalBody,
    Reply,
    encode_json,
    refused,
)
from handlers.route import Access, AnyRoute, of_kinds
from handlers.routes import TAGS
from kinds.kind import Kind
from kinds.registry import KINDS
from listings.webhooks import EVENT_PARTS
from openapi.deployment import Deployment
from openapi.errors import OUTSIDE, Error, errors
from openapi.examples import (
    ANSWERS,
    BODIES,
    BOT,
    DELIVERY_ID,
    KEY_ID,
    SCHEMAS,
    SESSION_ID,
    USER,
    answers_of,
)
from openapi.schemas import (
    answer_name,
    component_of,
    is_required,
    name_of,
    query_parameters,
    ref,
    with_named_choices,
)
from operators.operator_pages import ALL_ROUTES

Node = dict[str, Any]
EVENTS = EVENT_STREAM.partition(";")[0]
FILE = "application/octet-stream"

_ABOUT = """This is the API of $name, a bot-listing platform. Bot developers push their bot's counts, ask
whether a user has voted, and receive a webhook for each vote. The platform itself uses the management API.

**Keys.** The two public endpoints take an API key as the entire value of the `Authorization` header,
without a prefix. A key is for one bot. The management and debug endpoints take the operator token:
`Authorization: Bearer <token>`.

**Numbers** that an operator can set (limits, sizes, time-outs) are those of this deployment.

**Bodies** are JSON in UTF-8, whatever their content type says, up to $max_body. A field named twice is
refused. An empty body is read as `{}`.

**Errors** have one shape: `success` is false, `error` says what is wrong, `status` repeats the HTTP status.
All but those of the two public endpoints have a `code` for programs, which is never renamed. Some of these
have one more field: `fields` has the fault of each field, `nextVoteAt` the time when the user can vote again,
and `until` the end of the user's quarantine.

**Limits.** Every answer of the public endpoints has the limit, the requests left, and the time to the reset.
Stop at `ratelimit-remaining` 0 until `ratelimit-reset` seconds have passed, and back off after a 429. Only
requests that succeed count, per bot and endpoint, over all the bot's keys. An address whose requests keep
failing ($failures), also for a wrong key or operator token, is answered 429 until that window ends.

**Ids** of bots, servers and users are strings of 17 to 20 digits. Times are Unix milliseconds.

**Every path** with GET also has HEAD, and every path has OPTIONS. Some requests are refused on every path:
another method with 405 (the text names the right ones), a method that HTTP does not know with 501, an unknown
path with 404, a request that is not HTTP with 400, a request that comes too slowly with 408, and headers over
$max_headers with 431. These answers are errors of the same shape: """

_VERSIONS = f"""

**Versions.** This is version {API_VERSION} of the API. Version {VERSION} of the gateway answers it.
{VERSIONS}"""

_WEBHOOK_TEXT = """$name sends this request to a listing's webhook URL within seconds of a vote. The
management API can also ask for a test. An endpoint whose `events` do not include `vote` gets no votes.

Answer with a status from 200 to 299, quickly, and do your work afterwards: the whole exchange must end
within $webhook_timeout. After any other answer, including a redirect, the event is tried again up to
$webhook_retries, each time $webhook_retry after the last failure. Then the event has failed. When the last
$webhook_suspend_after events have failed, the endpoint is suspended: its events are kept, for $webhook_kept
at most, and from time to time one of them is tried, until one is delivered. A 410 suspends at once.

An event can arrive twice: every attempt of it has the same `webhook-id`. Before you believe a request,
check its signature (https://www.standardwebhooks.com), or compare the `Authorization` header with your
token."""

_EVENT_TEXT = """$name sends this request to endpoints whose `events` include its `type`. `vote.struck`
is sent once for each user. `at` is the time of the event, and the same in each attempt.

These bodies have a `type`; bodies of votes have none. Headers, signature, attempts and suspension are the
same as for votes."""

_SCHEMES: Mapping[Access, str | None] = {"bot key": "apiKey", "operator": "operator", "anyone": None}
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
def openapi_reply(deployment: Deployment) -> Reply:
    """Return the answer of `GET /openapi.json`."""
    return Reply(200, encode_json(openapi_document(deployment)), KEPT_BRIEFLY)


@functools.cache
def openapi_document(deployment: Deployment) -> Node:
    every = errors(deployment)
    routes = of_kinds(ALL_ROUTES, deployment.kinds, deployment.without)
    responses = _Responses(every, routes)
    outside = "; ".join(f"{error.reply.status} `{_body(error.reply)['error']}`" for error in OUTSIDE)
    bodies = {name: example for examples in BODIES.values() for name, example in examples.items()}
    refused = {
        error.name: {"summary": error.summary, "value": _body(error.reply)}
        for error in responses.errors.values()
    }
    document: Node = {
        "openapi": "3.1.0",
        "info": {
            "title": deployment.name,
            "version": API_VERSION,
            "summary": "The API gateway of a bot-listing platform.",
            "description": f"{_ABOUT}{outside}.{_VERSIONS}",
            "contact": _contact(deployment),
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "The server that served this document."}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": _paths(routes, responses),
        "webhooks": {
            "vote": {"post": _webhook("vote", "A user has voted", _WEBHOOK_TEXT, "Vote")},
            "listingEvent": {
                "post": _webhook(
                    "listingEvent",
                    "Something other than a vote has happened to a listing",
                    _EVENT_TEXT,
                    "ListingEvent",
                )
            },
        },
        "components": {
            "securitySchemes": _SECURITY_SCHEMES,
            "parameters": _PARAMETERS,
            "headers": dict(HEADERS),
            "responses": responses.shared,
            "schemas": SCHEMAS,
            "examples": {
                **{
                    name: {"summary": example.summary, "value": example.value}
                    for name, example in {**ANSWERS, **bodies}.items()
                },
                **refused,
            },
        },
    }
    filled: Node = _filled(document, deployment)
    if len(routes) == len(ALL_ROUTES):
        return filled
    kinds = frozenset(map(str, KINDS)) - frozenset(map(str, deployment.kinds))
    events = frozenset(event for event, part in EVENT_PARTS.items() if part in deployment.without)
    for absent in filter(None, (kinds, events)):
        filled = _without(filled, absent)
    return _pruned(filled)


def _without(node: Any, absent: frozenset[str]) -> Any:
    """Return the node without the choices, the counts and the events that are off."""
    if isinstance(node, list):
        return [_without(each, absent) for each in node if not _is_of(each, absent)]
    if not isinstance(node, dict):
        return node
    kept = {name: _without(each, absent) for name, each in node.items() if not _is_of(each, absent)}
    choices = node.get("enum")
    if isinstance(choices, list) and absent.issubset(map(str, choices)):
        kept["enum"] = [each for each in choices if each not in absent]
    if "enum" in kept.get("schema", ()) and kept.get("example") in absent:
        kept["example"] = kept["schema"]["enum"][0]
    properties = node.get("properties")
    if isinstance(properties, dict) and absent <= properties.keys():
        kept["properties"] = {name: each for name, each in kept["properties"].items() if name not in absent}
    return kept


def _is_of(node: Any, events: frozenset[str]) -> bool:
    """Return true if a node refers to the schema or the example of one of the events."""
    name = node.get("$ref", "").rpartition("/")[2] if isinstance(node, dict) else ""
    return name.casefold() in {component_of(event).casefold() for event in events}


def _pruned(document: Node) -> Node:
    """Return the document without the components that nothing in it names any more."""
    named, reading = set[str](), [document["paths"], document["webhooks"]]
    while reading:
        node = reading.pop()
        if isinstance(node, dict):
            address = node.get("$ref")
            if isinstance(address, str) and address not in named:
                named.add(address)
                _, _, group, name = address.split("/")
                reading.append(document["components"][group][name])
            reading += node.values()
        elif isinstance(node, list):
            reading += node
    kept = {
        group: {name: each for name, each in own.items() if f"#/components/{group}/{name}" in named}
        for group, own in document["components"].items()
        if group != "securitySchemes"
    }
    return {**document, "components": {**document["components"], **kept}}


def _contact(deployment: Deployment) -> Node:
    """Return the way to reach the owner."""
    contact = deployment.contact
    if contact is None:
        return {"name": "The operators of this gateway"}
    mail = contact.removeprefix("mailto:")
    return {"name": deployment.name, **({"url": contact} if mail == contact else {"email": mail})}


def _filled(node: Any, deployment: Deployment) -> Any:
    """Return the node with the deployment's numbers in its texts."""
    if isinstance(node, list):
        return [_filled(part, deployment) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        name: deployment.filled(part)
        if name in {"description", "summary"} and isinstance(part, str)
        else _filled(part, deployment)
        for name, part in node.items()
    }


# -- Operations -------------------------------------------------------------------------------------------


def _paths(routes: Iterable[AnyRoute], responses: "_Responses") -> Node:
    paths: dict[str, Node] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, responses)
    return paths


def _operation(route: AnyRoute, responses: "_Responses") -> Node:
    scheme = _SCHEMES[route.access]
    operation: Node = {
        "operationId": route.name,
        "tags": [route.tag],
        "summary": route.summary,
        "description": route.description,
        "security": [] if scheme is None else [{scheme: []}],
    }
    names = [_OF_PATHS[segment][0] for segment in re.findall(r"\w+/\{\w+\}", route.path)]
    parameters = [_component("parameters", name) for name in names]
    if route.query is not None:
        parameters += [
            _query_parameter(name, schema, is_required=is_needed)
            for name, schema, is_needed in query_parameters(route.query)
        ]
    if parameters:
        operation["parameters"] = parameters
    if route.body is not None:
        operation["requestBody"] = _request_body(name_of(route.body), required=is_required(route.body))
    if route.takes_file:
        operation["requestBody"] = {"required": True, "content": {FILE: {"schema": ref("Upload")}}}
    return {**operation, "responses": responses.of(route)}


def _request_body(schema: str, *, required: bool) -> Node:
    content = {"schema": ref(schema), "examples": _examples(BODIES[schema])}
    return {"required": required, "content": {JSON: content}}


def _parameter(name: str, place: str, description: str, schema: Node, example: Any) -> Node:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": schema,
        "example": example,
    }


def _query_parameter(name: str, schema: Node, *, is_required: bool) -> Node:
    bare = {key: value for key, value in schema.items() if key not in {"description", "examples"}}
    choices = (each for each in bare.get("enum", ()) if each not in EVENT_PARTS)  # those may be off
    example = next(choices, None) or _QUERIES.get(name, BOT)
    shown = schema.get("examples", [example])[0]
    parameter = _parameter(name, "query", schema["description"], with_named_choices(bare), shown)
    return {**parameter, "required": is_required}


_QUERIES: Mapping[str, Any] = {"limit": 50, "before": 1_024, "q": "example"}
_SNOWFLAKE, _OUR_ID = ref("Snowflake"), {"type": "string", "pattern": ID_PATTERN}
_SESSION_ID = {"type": "string", "pattern": SESSION_PATTERN}
_OF_WEBHOOKS: Node = {
    "webhookId": _parameter(
        "webhook-id", "header", "The event's id, the same over all its attempts.", _OUR_ID, DELIVERY_ID
    ),
    "webhookTimestamp": _parameter(
        "webhook-timestamp",
        "header",
        "The attempt's time in Unix seconds.",
        {"type": "string"},
        "1750000000",
    ),
    "webhookSignature": _parameter(
        "webhook-signature",
        "header",
        "One signature for each secret: `v1,` and the base64 of HMAC-SHA256 over `<id>.<timestamp>.<body>`.",
        {"type": "string"},
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    ),
}


def _id_schema(kind: Kind) -> Node:
    return _SNOWFLAKE if kind.has_snowflakes else type_schema(kind.id.type)


_USER_ID = ("The user's id.", _SNOWFLAKE, USER)
_OF_PATHS: Mapping[str, tuple[str, str, Node, str]] = {
    **{
        f"{kind}/{{id}}": (
            f"{kind.singular}Id",
            f"The {kind.singular}'s id.",
            _id_schema(kind),
            kind.id.sample,
        )
        for kind in KINDS
    },
    "users/{id}": ("userId", *_USER_ID),
    "voters/{user_id}": ("voterId", *_USER_ID),
    "owners/{user_id}": ("voterId", *_USER_ID),
    "likes/{user_id}": ("voterId", *_USER_ID),
    "ratings/{user_id}": ("voterId", *_USER_ID),
    "sessions/{session_id}": ("sessionId", "The session's id.", _SESSION_ID, SESSION_ID),
    "quarantines/{act}": ("act", "The act that the quarantine forbids.", ref("QuarantinedAct"), "vote"),
    "keys/{key_id}": ("keyId", "The key's id. It is not the key's value.", _OUR_ID, KEY_ID),
    "deliveries/{delivery_id}": ("deliveryId", "The delivery's id.", _OUR_ID, DELIVERY_ID),
}
"""The component, description, schema and example of each id in a path, by the segment before it."""
_PARAMETERS: Node = {
    **_OF_WEBHOOKS,
    **{
        component: _parameter(segment.partition("{")[2].rstrip("}"), "path", about, schema, value)
        for segment, (component, about, schema, value) in _OF_PATHS.items()
    },
}


def _webhook(name: str, summary: str, description: str, body: str) -> Node:
    return {
        "operationId": name,
        "tags": ["Webhooks"],
        "summary": summary,
        "description": description,
        "security": [{"webhookToken": []}, {}],
        "parameters": [_component("parameters", name) for name in _OF_WEBHOOKS],
        "requestBody": _request_body(body, required=True),
        "responses": {
            "2XX": {"description": "Delivered."},
            "410": {"description": "Not delivered. The endpoint is suspended at once."},
            "default": {
                "description": "Not delivered. Tried again up to $webhook_retries, $webhook_retry apart."
            },
        },
    }


# -- Headers ----------------------------------------------------------------------------------------------


def _header(description: str, schema: Node, example: Any) -> Node:
    return {"description": description, "required": True, "schema": schema, "example": example}


def _count(description: str, minimum: int, example: int) -> Node:
    return _header(description, {"type": "integer", "minimum": minimum}, example)


HEADERS: Mapping[str, Node] = {
    "x-request-id": _header(
        "The id of this request in the operators' logs.",
        {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "9f2c4e6a8b0d1f35",
    ),
    "ratelimit-limit": _count("The number of requests that the current window allows.", 1, 100),
    "ratelimit-remaining": _count("The number of requests left in the current window.", 0, 99),
    "ratelimit-reset": _count("The seconds until the window resets, rounded up.", 1, 300),
    "ratelimit-policy": _header(
        "The limit and its window in seconds.",
        {"type": "string", "pattern": "^[1-9][0-9]*;w=[1-9][0-9]*$"},
        "100;w=300",
    ),
    "retry-after": _count("The seconds to wait before the next request.", 1, 300),
    "www-authenticate": _header(
        "The scheme of the operator token, or a hint that an API key has no scheme.",
        {"type": "string", "enum": ["Bearer", refused("key_with_scheme").headers["www-authenticate"]]},
        "Bearer",
    ),
}
EVERY = ("x-request-id",)
LIMITED = (*EVERY, "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy")


# -- Responses --------------------------------------------------------------------------------------------


class _Refusal(NamedTuple):
    """A response to refusals of one status, and its name if several operations share it."""

    status: int
    name: str
    node: Node


class _Responses:
    """The responses of all operations. Those that several operations give are shared components."""

    def __init__(self, every: Sequence[Error], routes: Iterable[AnyRoute]) -> None:
        self._by_code = {error.code: error for error in every}
        self.errors = dict[str, Error]()
        """The errors that the operations may answer, by name."""
        made = [refusal for route in routes for refusal in self._refusals(route)]
        uses = Counter(encode_json(refusal) for refusal in made)
        self.shared: Node = {each.name: each.node for each in made if uses[encode_json(each)] > 1}

    def of(self, route: AnyRoute) -> Node:
        """Return an operation's responses by status, the successful one first."""
        content: Node = {"schema": ref(answer_name(route))}
        examples = answers_of(route.name, answer_name(route))
        if examples:
            content["examples"] = _examples(examples)
        success = {
            "description": route.outcome,
            "headers": _headers(LIMITED if route.access == "bot key" else EVERY),
            "content": {
                route.content_type: content,
                **({EVENTS: {"schema": ref("VoteEvents")}} if route.has_events else {}),
            },
        }
        responses = {str(route.status): success}
        for status, name, node in self._refusals(route):
            is_shared = self.shared.get(name) == node
            responses[str(status)] = _component("responses", name) if is_shared else node
        return responses

    def _refusals(self, route: AnyRoute) -> list["_Refusal"]:
        """Return the responses to refusals, by status."""
        by_status: dict[int, dict[str, list[Error]]] = {}
        for code in (*route.refusals, "bug", "headers_too_large"):
            known = self._by_code[code]
            error = known.public if route.access == "bot key" else known
            self.errors[error.name] = error
            by_status.setdefault(error.reply.status, {}).setdefault(error.family, []).append(error)
        return [
            _Refusal(
                status,
                "Or".join(families),
                _refusal_node(route, status, [error for found in families.values() for error in found]),
            )
            for status, families in sorted(by_status.items())
        ]


def _refusal_node(route: AnyRoute, status: int, found: Sequence[Error]) -> Node:
    replies = [error.reply for error in found]
    headers = _headers(_common_headers(route, status))
    for name in {name: None for reply in replies for name in reply.headers}:
        always = all(name in reply.headers for reply in replies)
        headers[name] = _component("headers", name) if always else {**HEADERS[name], "required": False}
    body = ErrorBody if route.access == "bot key" else RefusalBody
    content = {"schema": ref(name_of(body)), "examples": _examples(error.name for error in found)}
    return {
        "description": _sentence(dict.fromkeys(error.summary for error in found)),
        "headers": headers,
        "content": {JSON: content},
    }


def _sentence(parts: Iterable[str]) -> str:
    first, *others = parts
    return "; ".join([first, *(part[0].lower() + part[1:] for part in others)]) + "."


def _common_headers(route: AnyRoute, status: int) -> Sequence[str]:
    if status == 431:  # the parser refuses: the request gets no further
        return ()
    if status == 429:
        return (*LIMITED, "retry-after")
    return LIMITED if route.access == "bot key" else EVERY


def _body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def _component(kind: str, name: str) -> Node:
    return {"$ref": f"#/components/{kind}/{name}"}


def _headers(names: Iterable[str]) -> Node:
    return {name: _component("headers", name) for name in names}


def _examples(names: Iterable[str]) -> Node:
    return {name: _component("examples", name) for name in names}
