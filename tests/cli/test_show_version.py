"""`version` names the commit of a source tree, and that of a build."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner

from cli import show_version
from core.version import API_VERSION, VERSION

WIDTH = 80
AS_ANYBODY = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree that git does not know."""
    monkeypatch.setattr(show_version, "SOURCE_TREE", tmp_path)
    return tmp_path


def git(tree: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *AS_ANYBODY, *arguments], cwd=tree, text=True).strip()


def said() -> dict[str, str]:
    """The lines of the command, by their first word."""
    result = CliRunner().invoke(show_version.version)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) < WIDTH
    head, relation = result.output.split("\n\n")
    assert "version changes" in relation
    return dict(line.split(maxsplit=1) for line in head.splitlines())


def test_it_says_the_commit_and_whether_the_files_differ(tree: Path) -> None:
    git(tree, "init", "-q")
    (tree / "file").write_text("a")
    git(tree, "add", "file")
    git(tree, "commit", "-q", "-m", "first")
    commit = git(tree, "rev-parse", "HEAD")
    python = ".".join(map(str, sys.version_info[:3]))
    assert said() == {
        "votegate": VERSION,
        "commit": commit,
        "built": "never: this is a source tree",
        "Python": python,
        "API": API_VERSION,
    }
    (tree / "file").write_text("b")
    assert said()["commit"] == f"{commit} with changes"


def test_it_does_not_take_the_commit_of_a_repository_around_it(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init", "-q")
    monkeypatch.setattr(show_version, "SOURCE_TREE", tree / "inner")
    assert said()["commit"] == "unknown"


def test_without_git_or_without_a_commit_the_commit_is_unknown(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tree, "init", "-q")
    assert said()["commit"] == "unknown"
    monkeypatch.setenv("PATH", str(tree))
    assert said()["commit"] == "unknown"


def test_a_build_says_its_commit_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    built = ModuleType("core.built")
    built.__dict__.update(COMMIT="0123", DATE="2026-01-02T03:04:05Z")
    monkeypatch.setitem(sys.modules, "core.built", built)
    assert (said()["commit"], said()["built"]) == ("0123", "2026-01-02T03:04:05Z")
