"""kinds/: a field is declared once. A new one shows everywhere without a line elsewhere."""

import ast
import subprocess
from pathlib import Path
from typing import Annotated

import pytest

from forms.fields import Url
from forms.reading import read
from forms.rules import Display
from kinds.bots import BOTS, BotProfile
from kinds.kind import Kind
from kinds.registry import KINDS
from languages.texts import Text
from tests.support.form_bodies import BOT_BODY, without
from tests.support.gateways import ROOT


def product_files() -> list[Path]:
    """The files of the program, but for tests and documents."""
    names = subprocess.run(
        ["git", "ls-files", "*.py", "*.html"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    away = {"tests", "bench", "docs", "examples", "kinds"}
    return [ROOT / name for name in names if name.partition("/")[0] not in away and (ROOT / name).exists()]


@pytest.mark.parametrize("field", ["support_invite", "support_url"])
def test_no_file_but_its_declaration_names_a_field_of_a_profile(field: str) -> None:
    assert [str(path) for path in product_files() if field in path.read_text()] == []


NAMES_KINDS = {
    "cli/demo.py": "the demo bot",
    "listings/stats_problems.py": "a field of pushes that others call `servers`",
    "openapi/document.py": "the servers of OpenAPI",
    "pages/owner/overview.py": "the proof that a bot is its owner's, and the check of a server",
    "pages/owner/submission.py": "the pages on which bots and servers are submitted",
    "pages/rounds.py": "the daily checks of servers",
    "web/templates/debug/limiter.html": "the limits of bots",
}
"""The files that name a kind, and why. The list may only shrink: ask for a part of the kind instead."""
WITH_KINDS_OF_THEIR_OWN = ("chatplatform/", "guild_counts/", "settings/")
"""Rooms that speak with the chat platform, or of the deployment."""


def names_a_kind(path: Path) -> bool:
    """Return true if a file imports the declaration of a kind, or has the name of one as a text."""
    plurals = {kind.plural for kind in KINDS}
    if path.suffix == ".html":
        return any(f'"{plural}"' in path.read_text() for plural in plurals)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in {f"kinds.{plural}" for plural in plurals}:
            return True
        if isinstance(node, ast.Constant) and node.value in plurals:
            return True
    return False


def test_only_these_files_name_a_kind() -> None:
    named = {str(path.relative_to(ROOT)) for path in product_files() if names_a_kind(path)}
    assert {name for name in named if not name.startswith(WITH_KINDS_OF_THEIR_OWN)} == NAMES_KINDS.keys()


class LouderProfile(BotProfile, frozen=True, gc=False, tag="louder"):
    """A bot's profile with another field."""

    homepage: Annotated[Url | None, Display(Text("Homepage"), "url")] = None


LOUDER = Kind(plural="louder bots", singular="louder", nouns=BOTS.nouns, profile=LouderProfile)


def test_a_new_field_is_in_the_forms_the_pages_and_the_profile() -> None:
    body = {**without(BOT_BODY, "id"), "homepage": "https://example.com/"}
    profile = LOUDER.profile_of(read(LOUDER.edit, body))
    assert LOUDER.links(profile) == [(Text("Homepage"), "https://example.com/")]
    assert LOUDER.empty["homepage"] is None
    assert not LOUDER.is_required("homepage")
    assert LOUDER.in_order[-1] == "homepage"
    assert BOTS in KINDS
    assert "homepage" not in BOTS.fields
