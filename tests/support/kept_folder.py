"""The `snapshot` commands, and a data folder to try them on."""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from server import cli
from storage.folder import KEYS, LOCK, keep_keys
from storage.sealing import Keyring, new_key
from tests.support.folder_bytes import bytes_of, overwrite
from tests.support.gateways import OTHER_USER, running

WARNING = (
    "Anybody who gets these files can read them, and they hold webhook tokens: keep them like secrets.\n"
)
PASSPHRASE = "a passphrase of the tests"


def snapshot(*arguments: object) -> Result:
    """Runs a `snapshot` command, or one of `backup` and `restore`, which are none."""
    before = [] if arguments[0] in {"backup", "restore"} else ["snapshot"]
    return CliRunner().invoke(cli, [*before, *map(str, arguments)])


def done(*arguments: object) -> Result:
    """The command's result; it must succeed."""
    result = snapshot(*arguments)
    assert result.exit_code == 0, result.output
    return result


def process(*arguments: object) -> list[str]:
    """A command in a process of its own."""
    return [sys.executable, "server.py", "snapshot", *map(str, arguments)]


def shown(*arguments: object) -> Any:
    return json.loads(done(*arguments, "--json").stdout)


def refused(*arguments: object) -> str:
    """Run a command that must fail. Return its only line of output, which must not be a traceback."""
    result = snapshot(*arguments)
    assert isinstance(result.exception, SystemExit), repr(result.exception)
    assert (result.exit_code, result.stdout) == (1, "")
    *told, line = result.stderr.splitlines()
    assert line.startswith("Error: ")
    if arguments[0] != "restore":  # it reports secrets first
        assert told == []
    return line.removeprefix("Error: ")


class Kept(NamedTuple):
    """A data folder that a gateway has left, and a backup of it."""

    path: Path
    backup: Path
    digest: str
    position: int
    api_key: str


def left_by_a_gateway(tmp_path: Path) -> Kept:
    path, backup = tmp_path / "data", tmp_path / "votegate.backup"
    with running(path) as gateway:
        key = gateway.list_bot()
        gateway.list_server()
        gateway.cast()
        gateway.done("POST", "/debug/snapshot")
        gateway.cast(OTHER_USER)
        backup.write_bytes(gateway.operate("GET", "/debug/snapshot").content)
        live = gateway.done("GET", "/debug/data.json")
    return Kept(path, backup, live["digest"], live["positions"]["head"], key)


def flip(path: Path, index: int) -> None:
    content = bytearray(path.read_bytes())
    content[index] ^= 1
    overwrite(path, bytes(content))


def without_lock(folder: Path) -> dict[str, bytes]:
    """Return every file of the folder without its lock."""
    return {name: content for name, content in bytes_of(folder).items() if name != LOCK}


def keys_elsewhere(folder: Path) -> Path:
    """A file of keys that open nothing here."""
    folder.mkdir()
    keep_keys(folder, Keyring([new_key()]))
    return folder / KEYS
