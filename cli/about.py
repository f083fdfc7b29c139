"""`version` and `completion`: what runs here, and the script by which a shell completes its commands.

Invariant: git is asked when the command runs, never at a start.
"""

import platform
import sys
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from cli.source_commit import commit_of
from cli.terminal import folded
from core.version import API_VERSION, VERSION, VERSIONS, Build, build

PROGRAM, VARIABLE = "votegate", "_VOTEGATE_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    For bash, put this line into ~/.bashrc: eval "$(votegate completion bash)"
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.ClickException(f"there is no script for {shell}")
    script = kind(context.find_root().command, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())


SOURCE_TREE = Path(__file__).parent.parent


@click.command()
def version() -> None:
    """Print the version, commit and build of this program."""
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
