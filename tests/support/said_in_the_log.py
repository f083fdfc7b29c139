"""The texts of log lines at a level, read from the source, with `...` in place of values."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.gateways import ROOT
from tests.support.rooms import MAY_IMPORT

ROOMS = [*MAY_IMPORT, "gateway"]
VALUE = re.compile(r"%[-.\d]*[a-z]")
PASSED_ON = {"%s"}
"""Formats of lines whose text is elsewhere, as `Warnings.note` logs its texts."""


def texts_said(levels: set[str]) -> dict[str, Path]:
    """Return every text with its file."""
    paths = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
    return {text: path for path in [ROOT / "server.py", *paths] for text in _texts_in(path, levels)}


def _texts_in(path: Path, levels: set[str]) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="Trouble"), args=[begins, ends]):
                yield from _texts(begins) if "warning" in levels else ()
                yield from _texts(ends) if "info" in levels else ()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            named = _named(function)
            for call in [node for node in ast.walk(function) if isinstance(node, ast.Call)]:
                for said in _said_by(call, levels):
                    yield from _texts(named.get(said.id, said) if isinstance(said, ast.Name) else said)


def _named(function: ast.AST) -> dict[str, ast.expr]:
    """Return the expressions that a function assigns to names."""
    named: dict[str, ast.expr] = {}
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                named[name] = value
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = zip(names, values, strict=True)
                named |= {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
    return named


def _said_by(call: ast.Call, levels: set[str]) -> list[ast.expr]:
    """Return the texts among the arguments of a call that logs."""
    if not isinstance(call.func, ast.Attribute):
        return []
    if call.func.attr in levels and isinstance(call.func.value, ast.Name) and call.func.value.id == "log":
        return call.args[:1]
    if call.func.attr == "note" and len(call.args) == 3:
        return [
            said for said, level in zip(call.args[1:], ("warning", "info"), strict=True) if level in levels
        ]
    return []


def _texts(said: ast.expr) -> Iterator[str]:
    match said:
        case ast.Constant(value=str(text)):
            if text not in PASSED_ON:
                yield VALUE.sub("...", text)
        case ast.JoinedStr():
            yield "".join(
                str(part.value) if isinstance(part, ast.Constant) else "..." for part in said.values
            )
        case ast.IfExp():
            yield from _texts(said.body)
            yield from _texts(said.orelse)
        case ast.Constant(value=None) | ast.Name():  # no warning, or one whose text comes from elsewhere
            return
        case ast.Attribute(attr="begins" | "ends"):  # of a `Trouble`, see above
            return
        case _:
            raise AssertionError(f"the text of line {said.lineno} is not in the source")
