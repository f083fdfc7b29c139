"""`votegate version`: what exactly runs here.

Invariant: git is asked when the command runs, never at a start.
"""

import platform
import sys
from pathlib import Path

import click

from cli.source_commit import commit_of
from cli.terminal import folded
from core.version import API_VERSION, VERSION, VERSIONS, Build, build

SOURCE_TREE = Path(__file__).parent.parent


@click.command()
def version() -> None:
    """Print which version, commit and build this is."""
    print_version()


def print_version() -> None:
    built = build() or Build(commit_of(SOURCE_TREE), "never: this is a source tree")
    lines = {
        "votegate": VERSION,
        "commit": built.commit,
        "built": built.date,
        "Python": platform.python_version(),
        "API": API_VERSION,
    }
    for name, value in lines.items():
        click.echo(f"{name:<8} {value}")
    click.echo(f"\n{folded(VERSIONS, sys.stdout)}")
