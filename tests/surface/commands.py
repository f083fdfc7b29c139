"""Record `--help` of each command, at 80 columns."""

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import click
from click.testing import CliRunner

from server import cli


def record_help(folder: Path) -> None:
    folder.mkdir()
    for words in commands(cli, ()):
        (folder / f"{'-'.join(('votegate', *words))}.txt").write_text(help_of(words))


def commands(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and of all commands below it."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=command.name)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*words, name))


def help_of(words: tuple[str, ...]) -> str:
    with patch("cli.terminal.UNLIMITED", 80):
        result = CliRunner().invoke(cli, [*words, "--help"], prog_name="votegate")
    assert result.exit_code == 0, result.output
    return result.output
