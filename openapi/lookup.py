"""Lookups in the document."""

from collections.abc import Mapping
from typing import Any

Node = Mapping[str, Any]


def found(document: Node, node: Node) -> Node:
    """Return the node that a reference within the document points at, or the node itself."""
    if "$ref" not in node:
        return node
    there: Any = document
    for step in node["$ref"].removeprefix("#/").split("/"):
        there = there[step]
    named: Node = there
    return named


def name_in(node: Node) -> str:
    """Return the name of the component that a reference points at."""
    name: str = node["$ref"].rpartition("/")[2]
    return name
