"""The OpenAPI document, as its tests look things up in it."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from openapi.document import openapi_document
from openapi.examples import BOT, DELIVERY_ID, KEY_ID, SERVER, USER

DOCUMENT = openapi_document()
COMPONENTS = DOCUMENT["components"]
OPERATIONS: dict[tuple[str, str], Any] = {
    (method.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
IDS = {"{id}": BOT, "{user_id}": USER, "{key_id}": KEY_ID, "{delivery_id}": DELIVERY_ID}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object within the document."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


def found(node: Any) -> Any:
    """The node, or what it refers to."""
    if "$ref" not in node:
        return node
    _, kind, name = node["$ref"].removeprefix("#/").split("/")
    return COMPONENTS[kind][name]


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": COMPONENTS})


def filled(path: str) -> str:
    """The path of the bot or the server of the examples."""
    for name, value in IDS.items():
        path = path.replace(name, SERVER if name == "{id}" and "/servers/" in path else value)
    return path
