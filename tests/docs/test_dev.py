"""docs/dev.md: its options, keys, names and happenings are those of the command."""

import re

import click

from dev.commands import LONGER_KEYS
from dev.env_file import Credentials, env_lines
from dev.happenings import Happening
from server import cli
from tests.support.gateways import ROOT

DOCUMENT = (ROOT / "docs/dev.md").read_text()


def section(title: str) -> str:
    return DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]


def test_it_names_every_option() -> None:
    command = cli.get_command(click.Context(cli), "dev")
    assert command is not None
    options = {name for each in command.params for name in each.opts}
    assert set(re.findall(r"`(--[a-z-]+)", section("Options"))) == options


def test_it_names_every_key() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", section("Keys"), re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(.)`", row)]
    assert {*named} == {line[0] for line in LONGER_KEYS} | {"?"}


def test_it_names_every_variable_of_the_env_file() -> None:
    lines = env_lines("http://127.0.0.1", "1", Credentials("", ""))
    names = re.findall(r"^\| `(\w+)` \|", section("The demo bot"), re.MULTILINE)
    assert names == [line.partition("=")[0] for line in lines]


def test_it_names_every_happening() -> None:
    tags = {each.__struct_config__.tag for each in Happening.__subclasses__()}
    assert {tag for tag in tags if f"`{tag}`" in section("In a script")} == tags
