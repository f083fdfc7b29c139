"""The OpenAPI document, as its tests look things up in it."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from gateway.api import deployment
from handlers.reply import JSON
from kinds.servers import SERVERS
from openapi.document import openapi_document
from openapi.errors import OUTSIDE, errors
from openapi.examples import BOT, DELIVERY_ID, KEY_ID, QUARANTINE, SESSION_ID, USER
from settings.model import Settings
from tests.support.made_listings import MADE_IDS

DEPLOYMENT = deployment(Settings())
DOCUMENT = openapi_document(DEPLOYMENT)
ERRORS = {shown.name: shown for error in (*errors(DEPLOYMENT), *OUTSIDE) for shown in (error, error.public)}
COMPONENTS = DOCUMENT["components"]
OPERATIONS: dict[tuple[str, str], Any] = {
    (method.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
PUBLIC = [operation for operation in OPERATIONS.values() if operation["tags"] == ["Public"]]
IDS = {
    **{"{user_id}": USER, "{key_id}": KEY_ID, "{delivery_id}": DELIVERY_ID, "{session_id}": SESSION_ID},
    "{act}": QUARANTINE.act,
}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object within the document."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


def found(node: Any) -> Any:
    """Return the node, or the node that it refers to."""
    if "$ref" not in node:
        return node
    _, kind, name = node["$ref"].removeprefix("#/").split("/")
    return COMPONENTS[kind][name]


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """A validator with the components that the schema refers to. To read all components takes 20 ms."""
    needed: dict[str, dict[str, Any]] = {kind: {} for kind in COMPONENTS}
    waiting = [schema]
    while waiting:
        for node in nodes(waiting.pop()):
            if "$ref" in node:
                _, kind, name = node["$ref"].removeprefix("#/").split("/")
                if name not in needed[kind]:
                    needed[kind][name] = COMPONENTS[kind][name]
                    waiting.append(needed[kind][name])
    return jsonschema_rs.Draft202012Validator({**schema, "components": needed})


def filled(path: str) -> str:
    """The path of the bot, the server or the user of the examples."""
    things = {"servers": SERVERS.id.sample, "users": USER, **MADE_IDS}
    thing = next((its_id for name, its_id in things.items() if f"/{name}/" in path), BOT)
    for name, value in {"{id}": thing, **IDS}.items():
        path = path.replace(name, value)
    return path


def errors_of(operation: Any) -> set[str]:
    """The names of the errors that the operation is described to give."""
    refused = [found(node) for status, node in operation["responses"].items() if status >= "400"]
    return {name for response in refused for name in response["content"][JSON]["examples"]}
