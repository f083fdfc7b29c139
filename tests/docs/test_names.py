"""Names in the documents: the settings, files, commands and make targets that they name exist."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest

from core.rows import WebhookEvent
from server import cli
from settings.model import Settings
from tests.support.gateways import ROOT
from tests.support.given_settings import leaves

DOCUMENTS = [path for pattern in ("*.md", "docs/*.md", "deploy/*.md") for path in sorted(ROOT.glob(pattern))]
SETTINGS = {name for name, _ in leaves(Settings())}
SECTIONS = {name.partition(".")[0] for name in SETTINGS}
GROUPS = {name.rpartition(".")[0] for name in SETTINGS}
OTHER_NAMES = {*get_args(WebhookEvent), "redis.conf"}
"""Names that look like settings."""
LATER = {"kinds/stickers.py"}
"""Files that a walk in CONTRIBUTING.md creates."""
NAME = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)`")
FILE = re.compile(r"`((?:[a-z_]+/)+[\w.-]+\.(?:py|html|md|yml|yaml))`")
COMMAND = re.compile(r"(?:votegate|server\.py) admin ([a-z][a-z-]+(?: [a-z][a-z-]+)*)")
TARGET = re.compile(r"`make ([a-z-]+)")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


of_documents = pytest.mark.parametrize("path", DOCUMENTS, ids=relative)


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command that has no commands itself."""
    context = click.Context(command)
    if not isinstance(command, click.Group):
        yield words
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, (*words, name))


COMMANDS = {*commands(cli)}
BEGUN = {words[:count] for words in COMMANDS for count in range(len(words) + 1)}


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path.name != "CHANGELOG.md"], ids=relative)
def test_every_setting_exists(path: Path) -> None:
    """The changelog also names settings that are gone."""
    named = {name for name in NAME.findall(path.read_text()) if name.partition(".")[0] in SECTIONS}
    files = {name for name in named if name.endswith((".py", ".md", ".yaml", ".keys", ".token"))}
    assert named - SETTINGS - GROUPS - OTHER_NAMES - files == set()


@of_documents
def test_every_file_exists(path: Path) -> None:
    named = {name for name in FILE.findall(path.read_text()) if name not in LATER}
    beside = {room.name for room in ROOT.iterdir() if room.is_dir()}
    assert [name for name in named if name.split("/")[0] in beside and not (ROOT / name).is_file()] == []


@of_documents
def test_every_admin_command_exists(path: Path) -> None:
    """Words after a whole command are its arguments, or the next words of a sentence."""
    named = [("admin", *words.split()) for words in COMMAND.findall(path.read_text())]
    whole = [any(given[:count] in COMMANDS for count in range(2, len(given) + 1)) for given in named]
    assert [
        given for given, is_whole in zip(named, whole, strict=True) if not is_whole and given not in BEGUN
    ] == []


@of_documents
def test_every_make_target_exists(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(TARGET.findall(path.read_text())) - targets == set()
