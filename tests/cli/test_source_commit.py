"""The commit of a source tree, or that it is unknown."""

import subprocess
from pathlib import Path

import pytest

from cli.source_commit import commit_of

AS_ANYBODY = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")


def git(tree: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", *AS_ANYBODY, *arguments], cwd=tree, text=True).strip()


def test_it_is_the_last_commit_and_says_whether_the_files_differ(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("a")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert commit_of(tmp_path) == commit
    (tmp_path / "file").write_text("b")
    assert commit_of(tmp_path) == f"{commit} with changes"


def test_it_is_not_that_of_a_repository_around_the_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    assert commit_of(tmp_path / "inner") == "unknown"


def test_without_a_commit_or_without_git_it_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q")
    assert commit_of(tmp_path) == "unknown"
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "first")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit_of(tmp_path) == "unknown"
