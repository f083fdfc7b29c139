"""`version` names a source tree as one, and a build by its commit and date."""

import platform
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from cli import about
from core.version import API_VERSION, VERSION, VERSIONS


def said() -> dict[str, str]:
    """The lines of the command, by their first word."""
    result = CliRunner().invoke(about.version)
    assert result.exit_code == 0
    head, relation = result.output.split("\n\n")
    assert relation == f"{VERSIONS}\n"
    return dict(line.split(maxsplit=1) for line in head.splitlines())


def test_a_source_tree_is_called_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "SOURCE_TREE", tmp_path)
    assert said() == {
        "votegate": VERSION,
        "commit": "unknown",
        "built": "never: this is a source tree",
        "Python": platform.python_version(),
        "API": API_VERSION,
    }


def test_a_build_says_its_commit_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    built = ModuleType("core.built")
    built.__dict__.update(COMMIT="0123", DATE="2026-01-02T03:04:05Z")
    monkeypatch.setitem(sys.modules, "core.built", built)
    assert (said()["commit"], said()["built"]) == ("0123", "2026-01-02T03:04:05Z")
