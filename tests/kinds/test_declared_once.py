"""kinds/: a field is declared once. A new one shows everywhere without a line elsewhere."""

import ast
import re
import subprocess
from pathlib import Path
from typing import Annotated

import pytest

from forms.fields import Url
from forms.reading import read
from forms.rules import Display
from kinds.bots import BOTS, BotProfile
from kinds.kind import Given, Kind
from kinds.registry import KINDS
from languages.texts import Text
from tests.support.form_bodies import BOT_BODY, without
from tests.support.gateways import ROOT


def product_files() -> list[Path]:
    """The files of the program, but for tests, documents, and the clients of the public API."""
    names = subprocess.run(
        ["git", "ls-files", "*.py", "*.html"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    away = {"tests", "bench", "clients", "docs", "examples", "kinds"}
    return [ROOT / name for name in names if name.partition("/")[0] not in away and (ROOT / name).exists()]


@pytest.mark.parametrize("field", ["support_invite", "support_url"])
def test_no_file_but_its_declaration_names_a_field_of_a_profile(field: str) -> None:
    assert [str(path) for path in product_files() if field in path.read_text()] == []


NAMES_KINDS = {
    "cli/demo.py": "the demo bot",
    "dev/advice.py": "the public API, which is for bots",
    "dev/commands.py": "the demo bot",
    "dev/lines.py": "the public API, which is for bots",
    "gateway/development.py": "the demo bot",
    "demo/known.py": "the invented platform of the demo",
    "demo/plan.py": "the invented listings of the demo",
    "handlers/routes.py": "the public API, which is for bots",
    "settings/model.py": "the usual reasons to deny a bot",
    "serving/direct.py": "the public API, served without a handler",
    "web/templates/debug/limiter.html": "the limits of the public API",
}
"""The files that name a kind, and why. The list may only shrink: ask for a part of the kind instead."""
NO_KINDS = {
    "listings/stats_problems.py": "a field of pushes that others call `servers`",
    "openapi/document.py": "the servers of OpenAPI",
    "release/wheel.py": "the guide for bot developers",
    "web/templates/people/manage_overview.html": "the guide for bot developers",
    "web/templates.py": "the folder of templates of pages",
    "web/templates/people/manage_votes.html": "the unit of a chart",
    "web/templates/people/vote_chart.html": "the unit of a chart",
}
"""The files that use the name of a kind for something else."""
WITH_KINDS_OF_THEIR_OWN = ("chatplatform/", "guild_counts/")
"""Rooms that speak with the chat platform."""
_NAMES = "|".join(kind.plural for kind in KINDS)
_NAMED = re.compile(rf"/(?:{_NAMES})\b|\b(?:{_NAMES})/|^(?:{_NAMES})$")


def names_a_kind(path: Path) -> bool:
    """Return true if a file imports the declaration of a kind, or has its name as a text or in a path."""
    if path.suffix == ".html":
        return any(_NAMED.search(text) for text in re.findall(r'"([^"]*)"', path.read_text()))
    tree = ast.parse(path.read_text())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    documents = {id(node.value) for node in statements if isinstance(node.value, ast.Constant)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in {f"kinds.{kind}" for kind in KINDS}:
            return True
        if isinstance(node, ast.Constant) and id(node) not in documents:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and _NAMED.search(text):
                return True
    return False


def test_only_these_files_name_a_kind() -> None:
    named = {str(path.relative_to(ROOT)) for path in product_files() if names_a_kind(path)}
    known = NAMES_KINDS.keys() | NO_KINDS.keys()
    assert {name for name in named if not name.startswith(WITH_KINDS_OF_THEIR_OWN)} == known


class LouderProfile(BotProfile, frozen=True, gc=False, tag="louder"):
    """A bot's profile with another field."""

    homepage: Annotated[Url | None, Display(Text("Homepage"), "url")] = None


LOUDER = Kind(plural="louder bots", singular="louder", nouns=BOTS.nouns, profile=LouderProfile, id=Given())


def test_a_new_field_is_in_the_forms_the_pages_and_the_profile() -> None:
    body = {**without(BOT_BODY, "id"), "homepage": "https://example.com/"}
    profile = LOUDER.profile_of(read(LOUDER.edit, body))
    links = [(shown.label, address) for shown, address in LOUDER.links(profile)]
    assert links == [(Text("Homepage"), "https://example.com/")]
    assert LOUDER.empty["homepage"] is None
    assert not LOUDER.is_required("homepage")
    assert LOUDER.in_order[-1] == "homepage"
    assert BOTS in KINDS
    assert "homepage" not in BOTS.fields
