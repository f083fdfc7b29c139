"""`votegate version`: what exactly runs here. Law: git is asked when the command runs, never at a start."""

import platform
import subprocess
from pathlib import Path

import click

from core.version import API_VERSION, VERSION, VERSIONS, Build, build

SOURCE_TREE = Path(__file__).parent.parent
GIT_SECONDS = 5.0
UNKNOWN = "unknown"
WIDTH = 79


@click.command()
def version() -> None:
    """Print which version, commit and build this is."""
    print_version()


def print_version() -> None:
    built = build() or Build(_commit(SOURCE_TREE), "never: this is a source tree")
    lines = {
        "votegate": VERSION,
        "commit": built.commit,
        "built": built.date,
        "Python": platform.python_version(),
        "API": API_VERSION,
    }
    for name, value in lines.items():
        click.echo(f"{name:<8} {value}")
    click.echo(f"\n{click.wrap_text(VERSIONS, WIDTH)}")


def _commit(tree: Path) -> str:
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
        asked = subprocess.run(command, capture_output=True, text=True, timeout=GIT_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
