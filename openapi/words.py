"""The words that the schemas of the OpenAPI document are made of."""

from typing import Any

from handlers.views import DELIVERY_CURSOR_PATTERN, ID_PATTERN

Node = dict[str, Any]


def closed(**fields: Node) -> Node:
    """An object with all these fields and no other."""
    return {"type": "object", "properties": fields, "required": [*fields], "additionalProperties": False}


def sometimes(schema: Node, **fields: Node) -> Node:
    """The closed object with fields more that it need not have."""
    return {**schema, "properties": {**schema["properties"], **fields}}


def said(description: str, schema: Node) -> Node:
    return {**schema, "description": description}


def one_of_ours(name: str) -> Node:
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Node) -> Node:
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    values = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, **values, "type": [schema["type"], "null"]}


def many(items: Node) -> Node:
    return {"type": "array", "items": items}


def success(**fields: Node) -> Node:
    return closed(success={"type": "boolean", "const": True}, **fields)


TEXT: Node = {"type": "string"}
FLAG: Node = {"type": "boolean"}
COUNT: Node = {"type": "integer", "minimum": 0}
MOMENT = said("Unix time in milliseconds.", COUNT)
AMOUNT: Node = {"type": "number", "minimum": 0}
NO_MORE = said("The list is whole.", {"type": "null"})
SNOWFLAKE = one_of_ours("Snowflake")
OUR_ID: Node = {"type": "string", "pattern": ID_PATTERN}
DELIVERY_CURSOR: Node = {"type": "string", "pattern": DELIVERY_CURSOR_PATTERN}


def cursor(schema: Node) -> Node:
    return said("Give it as `after` to get the next page; null on the last one.", or_null(schema))
