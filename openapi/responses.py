"""Answers as the OpenAPI document describes them. Law: an operation names what it refuses, nothing more.

`REFUSALS` puts together the errors of one status that one kind of operation can give; they become the
document's shared responses, with statuses, headers and schemas read off the errors themselves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from handlers.reply import JSON, NO_SCHEME, Reply
from openapi.errors import ERRORS
from openapi.examples import ANSWERS, BODIES
from openapi.operations import Answer

Node = dict[str, Any]


def ref(kind: str, name: str) -> Node:
    return {"$ref": f"#/components/{kind}/{name}"}


def _header(description: str, schema: Node, example: Any) -> Node:
    return {"description": description, "required": True, "schema": schema, "example": example}


HEADERS: Mapping[str, Node] = {
    "x-request-id": _header(
        "Names this request in the operators' logs.",
        {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "9f2c4e6a8b0d1f35",
    ),
    "ratelimit-limit": _header(
        "How many requests the current window allows.", {"type": "integer", "minimum": 1}, 100
    ),
    "ratelimit-remaining": _header(
        "How many requests are left in the current window.", {"type": "integer", "minimum": 0}, 99
    ),
    "ratelimit-reset": _header(
        "In how many seconds the window resets, rounded up.", {"type": "integer", "minimum": 1}, 300
    ),
    "ratelimit-policy": _header(
        "The limit and its window in seconds.",
        {"type": "string", "pattern": "^[1-9][0-9]*;w=[1-9][0-9]*$"},
        "100;w=300",
    ),
    "retry-after": _header(
        "How many seconds to wait before asking again.", {"type": "integer", "minimum": 1}, 300
    ),
    "www-authenticate": _header(
        "The scheme of the operator token; or that an API key has none.",
        {"type": "string", "enum": ["Bearer", *NO_SCHEME.values()]},
        "Bearer",
    ),
    "allow": _header(
        "The methods that the path has.",
        {"type": "string", "pattern": "^[A-Z]+(?:, [A-Z]+)*$"},
        "GET, HEAD, OPTIONS",
    ),
}
EVERY = ("x-request-id",)
LIMITED = (*EVERY, "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy")


@dataclass(frozen=True)
class Refusal:
    """`errors` name what the answer can be, all of one status; `headers` are beside the errors' own."""

    description: str
    errors: tuple[str, ...]
    headers: tuple[str, ...] = EVERY

    @property
    def status(self) -> int:
        (status,) = {ERRORS[name].reply.status for name in self.errors}
        return status


_BODY = ("notJson", "notAnObject", "doubledField")

REFUSALS: Mapping[str, Refusal] = {
    # Of the two public endpoints: every answer tells the limit.
    "StatsRefused": Refusal(
        "The counts are missing, out of range, or too far off.",
        (
            "noCountGiven",
            "serverCountOutOfRange",
            "commandCountOutOfRange",
            "serverCountTooFarOff",
            *_BODY,
        ),
        LIMITED,
    ),
    "UserIdRefused": Refusal("The user id is malformed.", ("malformedUser",), LIMITED),
    "ApiKeyRefused": Refusal(
        "The API key is missing or wrong.", ("authorizationRequired", "invalidKey", "keyWithScheme"), LIMITED
    ),
    "BotNotFound": Refusal("There is no such bot, or its id is malformed.", ("botNotFound",), LIMITED),
    "StatsBodyTooLarge": Refusal("The body is too large.", ("bodyTooLarge",), LIMITED),
    "TooManyRequests": Refusal(
        "The bot has used up its limit; or this address has failed too often.", ("tooManyRequests",), LIMITED
    ),
    "StatsFailed": Refusal(
        "The actual server count is not known, so none can be compared with it; or a bug.",
        ("countUnknown", "bug"),
        LIMITED,
    ),
    "VotersFailed": Refusal("A bug.", ("bug",), LIMITED),
    "StatsUnavailable": Refusal("Nothing can be written at the moment.", ("unavailable",), LIMITED),
    # Of everything else.
    "OperatorTokenRefused": Refusal(
        "The operator token is missing or wrong.", ("operatorTokenRequired", "invalidOperatorToken")
    ),
    "AddressRefused": Refusal("This address has failed too often.", ("tooManyRequests",), LIMITED),
    "BodyRefused": Refusal("The body breaks a rule.", ("invalidFields", *_BODY)),
    "QueryRefused": Refusal("A parameter breaks a rule.", ("invalidQuery",)),
    "IdRefused": Refusal("The id is malformed.", ("invalidId",)),
    "BodyTooLarge": Refusal("The body is too large.", ("bodyTooLarge",)),
    "NoSuchListing": Refusal("There is no such listing.", ("noSuchListing",)),
    "NoSuchKey": Refusal("There is no such listing or key.", ("noSuchListing", "noSuchKey")),
    "NoSuchWebhook": Refusal(
        "There is no such listing, or it has no webhook.", ("noSuchListing", "noSuchWebhook")
    ),
    "NoSuchDelivery": Refusal(
        "There is no such listing, webhook or delivery.", ("noSuchListing", "noSuchWebhook", "noSuchDelivery")
    ),
    "ListingExists": Refusal("A listing with this id exists.", ("listingExists",)),
    "NotInReview": Refusal("The listing is not in review.", ("notInReview",)),
    "KeyRefused": Refusal(
        "The listing is not approved, or has too many keys.", ("keysNeedApproval", "tooManyKeys")
    ),
    "VoteRefused": Refusal(
        "The listing is not approved, or the user voted not long ago.", ("votesNeedApproval", "votedTooSoon")
    ),
    "RedeliveryRefused": Refusal(
        "The delivery is still pending, or too many others are.", ("deliveryPending", "tooManyPending")
    ),
    "TooManyTests": Refusal("Too many tests wait for their attempt.", ("tooManyTests",)),
    "NotSigned": Refusal("Requests to this URL are not signed.", ("notSigned",)),
    "Failed": Refusal("A bug.", ("bug",)),
    "Unavailable": Refusal("Nothing can be written at the moment.", ("unavailable",)),
    "NotReady": Refusal("The process is stopping, or its journal takes no writes.", ("notReady",)),
    # Outside of any operation.
    "MalformedRequest": Refusal("What came is not HTTP.", ("malformedRequest",), ()),
    "NoSuchPath": Refusal("There is nothing at this path.", ("noSuchPath",)),
    "MethodNotAllowed": Refusal("The path does not have this method.", ("methodNotAllowed",)),
    "HeadersTooLarge": Refusal(
        "The request line and the headers are too large together.", ("headersTooLarge",), ()
    ),
}


def success_response(answer: Answer, headers: Iterable[str]) -> Node:
    content: Node = {"schema": ref("schemas", answer.schema)}
    if answer.examples:
        content["examples"] = _examples(answer.examples)
    return {
        "description": answer.description,
        "headers": _headers(headers),
        "content": {answer.content_type: content},
    }


def response_components() -> Node:
    return {name: _refusal_response(refusal) for name, refusal in REFUSALS.items()}


def example_components() -> Node:
    """Every example of the document, by name."""
    bodies = {name: example for examples in BODIES.values() for name, example in examples.items()}
    errors = {name: (error.summary, _body(error.reply)) for name, error in ERRORS.items()}
    return {
        name: {"summary": summary, "value": value}
        for name, (summary, value) in {**ANSWERS, **bodies, **errors}.items()
    }


def body_examples(schema: str) -> Node:
    return _examples(BODIES[schema])


def _refusal_response(refusal: Refusal) -> Node:
    replies = [ERRORS[name].reply for name in refusal.errors]
    headers = _headers(refusal.headers)
    for name in {name: None for reply in replies for name in reply.headers}:
        always = all(name in reply.headers for reply in replies)
        headers[name] = ref("headers", name) if always else {**HEADERS[name], "required": False}
    return {
        "description": refusal.description,
        "headers": headers,
        "content": {
            JSON: {"schema": _error_schema(refusal.status, replies), "examples": _examples(refusal.errors)}
        },
    }


def _error_schema(status: int, replies: Iterable[Reply]) -> Node:
    """One of the error shapes, with the status that it has here."""
    shapes = [ref("schemas", shape) for shape in dict.fromkeys(_shape(reply) for reply in replies)]
    either = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
    return {**either, "properties": {"status": {"const": status}}}


def _shape(reply: Reply) -> str:
    body = _body(reply)
    if "fields" in body:
        return "InvalidFields"
    return "VotedTooSoon" if "nextVoteAt" in body else "Error"


def _body(reply: Reply) -> Any:
    return msgspec.json.decode(reply.body)


def _headers(names: Iterable[str]) -> Node:
    return {name: ref("headers", name) for name in names}


def _examples(names: Iterable[str]) -> Node:
    return {name: ref("examples", name) for name in names}
