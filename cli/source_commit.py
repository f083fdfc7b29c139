"""The commit of a source tree, for `version` and for a build. It imports the standard library only."""

import subprocess
from pathlib import Path

GIT_SECONDS = 5.0
UNKNOWN = "unknown"


def commit_of(tree: Path) -> str:
    """Return the commit of a source tree, and say so if the files differ from it."""
    if not (tree / ".git").exists():  # git would look for a repository in the folders above
        return UNKNOWN
    commit = _git(tree, "rev-parse", "HEAD")
    if not commit:
        return UNKNOWN
    return f"{commit} with changes" if _git(tree, "status", "--porcelain") else commit


def _git(tree: Path, *arguments: str) -> str:
    """Return what git prints; nothing if there is no git or it fails."""
    command = ("git", "--no-optional-locks", "-C", str(tree), *arguments)
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603 (no shell)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
