"""The record of the surface has every page and endpoint, can be repeated, and shows a change."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from kinds.registry import KINDS
from operators.operator_pages import ALL_ROUTES as ROUTES
from operators.operator_site import PAGES
from pages.table import PEOPLE_PAGES
from tests.surface import answers
from tests.surface.answers import FAMILIES, record_family
from tests.surface.commands import commands, help_of
from tests.surface.pages import debug_paths, paths
from web.pages import PageRow

OF_ROWS = ("{key_id}", "{delivery_id}")
"""Parts of paths that only the scene knows."""
UNRECORDED = {"/signin/callback", "/debug/live", "/debug/errors", *(f"/{kind}/random" for kind in KINDS)}
"""Pages that depend on the chat platform, on the time, on the disk or on chance."""


def recorded(folder: Path, count: int = 40) -> str:
    folder.mkdir()
    record_family(folder, "stats", count)
    return (folder / "answers" / "stats.txt").read_text()


def test_two_records_are_equal_and_a_changed_limit_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = recorded(tmp_path / "first")
    second = recorded(tmp_path / "second")
    assert second.splitlines() == first.splitlines()
    assert len(first.splitlines()) == 40

    monkeypatch.setitem(answers.SETTINGS, "limits.stats.requests", 499)

    assert recorded(tmp_path / "third") != first


def missing(rows: Iterable[PageRow], found: list[str]) -> list[str]:
    plain = [path.partition("?")[0] for path in found]
    wanted = {
        row.path for row in rows if row.method == "GET" and not any(part in row.path for part in OF_ROWS)
    }
    patterns = {
        path: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))) for path in wanted - UNRECORDED
    }
    return [path for path, pattern in patterns.items() if not any(map(pattern.fullmatch, plain))]


def test_every_page_is_recorded() -> None:
    assert missing(PEOPLE_PAGES, paths()) == []
    assert missing(PAGES, debug_paths()) == []


def test_every_endpoint_with_a_body_is_recorded() -> None:
    asked = {
        (each.method, re.sub(r"/(?:none|\d{18}|\{\w+\})(?=/|$)", "/{}", each.path))
        for family in FAMILIES.values()
        for each in family.endpoints
    }
    wanted = {
        (route.method, re.sub(r"\{\w+\}", "{}", route.path)) for route in ROUTES if route.body is not None
    }
    assert asked == wanted


def test_the_help_of_commands_below_commands_is_recorded() -> None:
    from server import cli

    assert ("admin", "bots", "edit") in set(commands(cli, ()))
    text = help_of(("admin", "bots", "edit"))
    assert text.startswith("Usage: votegate admin bots edit")
    assert max(map(len, text.splitlines())) <= 80
