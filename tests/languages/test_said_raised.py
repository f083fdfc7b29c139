"""Every refusal in the source has the facts that its texts name, and every code is raised."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from languages.said import SAID
from tests.support.gateways import ROOT
from tests.support.rooms import COMPOSITION, MAY_IMPORT

RAISED = {"Refusal", "refused", "Fault", "UrlRefused", "Broken", "Malformed"}
DOCUMENTED = {"handlers/route.py", "openapi/errors.py"}
"""Files that name codes in order to describe them."""


class Raised(NamedTuple):
    """A call that makes a refusal. `facts` is None where a variable holds them."""

    place: str
    codes: frozenset[str]
    facts: frozenset[str] | None


def sources() -> Iterator[Path]:
    for room in sorted({*MAY_IMPORT, *COMPOSITION} - {"server"}):
        yield from sorted((ROOT / room).rglob("*.py"))


def texts_in(node: ast.AST) -> frozenset[str]:
    return frozenset(
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value in SAID
    )


def facts_of(call: ast.Call) -> frozenset[str] | None:
    names = [keyword.arg for keyword in call.keywords]
    given = [key for each in call.args[1:] if isinstance(each, ast.Dict) for key in each.keys]
    if None in names or (len(call.args) > 1 and not isinstance(call.args[1], ast.Dict)):
        return None
    keys = [key.value for key in given if isinstance(key, ast.Constant)]
    return frozenset(str(name) for name in [*names, *keys])


def calls(path: Path) -> Iterator[Raised]:
    """Return the calls in a file. A call whose code is a variable may have every code that the file names."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED:
            if not node.args or isinstance(node.args[0], ast.Starred):
                continue
            place = f"{path.relative_to(ROOT)}:{node.lineno}"
            first = node.args[0]
            if isinstance(first, ast.Constant | ast.IfExp):
                yield Raised(place, texts_in(first), facts_of(node))
            else:
                yield Raised(place, texts_in(tree), None)


@pytest.fixture(scope="module")
def raised() -> list[Raised]:
    """Every call in the source that makes a refusal."""
    return [each for path in sources() for each in calls(path)]


def test_a_refusal_has_the_facts_of_its_code(raised: list[Raised]) -> None:
    facts: dict[str, frozenset[str]] = {code: frozenset(said.facts) for code, said in SAID.items()}
    literal = [each for each in raised if each.facts is not None]
    assert len(literal) > 100
    for each in literal:
        assert each.codes, each.place
        assert {code: facts[code] for code in each.codes} == dict.fromkeys(each.codes, each.facts), each.place


def test_every_code_is_raised_somewhere(raised: list[Raised]) -> None:
    found = {code for each in raised if each.place.split(":")[0] not in DOCUMENTED for code in each.codes}
    assert set(SAID) == found | {"invalid_fields"}  # the class Invalid
