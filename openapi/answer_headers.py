"""The headers of answers, as the document describes them."""

from collections.abc import Mapping
from typing import Any

from handlers.reply import refused

Node = dict[str, Any]


def _header(description: str, schema: Node, example: Any) -> Node:
    return {"description": description, "required": True, "schema": schema, "example": example}


def _count(description: str, minimum: int, example: int) -> Node:
    return _header(description, {"type": "integer", "minimum": minimum}, example)


HEADERS: Mapping[str, Node] = {
    "x-request-id": _header(
        "The name of this request in the operators' logs.",
        {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "9f2c4e6a8b0d1f35",
    ),
    "ratelimit-limit": _count("How many requests the current window allows.", 1, 100),
    "ratelimit-remaining": _count("How many requests are left in the current window.", 0, 99),
    "ratelimit-reset": _count("In how many seconds the window resets, rounded up.", 1, 300),
    "ratelimit-policy": _header(
        "The limit and its window in seconds.",
        {"type": "string", "pattern": "^[1-9][0-9]*;w=[1-9][0-9]*$"},
        "100;w=300",
    ),
    "retry-after": _count("How many seconds to wait before asking again.", 1, 300),
    "www-authenticate": _header(
        "The scheme of the operator token; or that an API key has none.",
        {"type": "string", "enum": ["Bearer", refused("key_with_scheme").headers["www-authenticate"]]},
        "Bearer",
    ),
}
EVERY = ("x-request-id",)
LIMITED = (*EVERY, "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy")
