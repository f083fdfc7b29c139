"""`rotate-key`: a new sealing key, and no file that does not open any more."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from journal.frames import decode_header
from journal.segments import list_segments
from server import cli
from snapshot.files import SnapshotReader, list_snapshots
from snapshot.recovery import recover
from storage.folder import KEYS, Folder, kept_keys
from storage.sealing import KEY_BYTES, Keyring, keyring_of, new_key
from tests.support.folder_bytes import overwrite
from tests.support.gateways import BOT, running
from tests.support.memory_ledger import empty_state


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VOTEGATE_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that a gateway has left."""
    with running(tmp_path / "data") as gateway:
        gateway.list_bot()
        gateway.cast()
    return tmp_path / "data"


def rotate_key(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, ["rotate-key", "--data-dir", str(folder), *arguments])


def rotated(folder: Path, *arguments: str) -> Any:
    result = rotate_key(folder, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(folder: Path, *arguments: str) -> str:
    """The one line with which the command ends; the keys are as they were."""
    before = (folder / KEYS).read_bytes() if (folder / KEYS).exists() else None
    result = rotate_key(folder, *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert ((folder / KEYS).read_bytes() if (folder / KEYS).exists() else None) == before
    (line,) = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def ids(folder: Path) -> list[str]:
    """The ids of the keys that the folder keeps, newest first."""
    return [key_id.hex() for key_id in kept_keys(folder, needed=True).key_ids]


def sealed_with(folder: Path) -> set[str]:
    segments = [decode_header(path.read_bytes()).key_id for _, path in list_segments(folder)]
    snapshots = [SnapshotReader(path).header.key_id for _, path in list_snapshots(folder)]
    return {key_id.hex() for key_id in [*segments, *snapshots]}


def assert_opens(folder: Path) -> None:
    recovered = recover(Folder(folder, kept_keys(folder, needed=True)), empty_state)
    assert len(recovered.state.votes) == 1


def replace_files(folder: Path) -> None:
    """Starts until no file from before is left."""
    for count in (7, 8):
        with running(folder) as gateway:
            gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": count})
            gateway.done("POST", "/debug/snapshot")


def test_a_new_key_is_the_newest_and_the_older_ones_stay(folder: Path) -> None:
    (first,) = ids(folder)
    one = rotated(folder)
    two = rotated(folder)
    assert ids(folder) == [two["newest"], one["newest"], first]
    assert (one["older"], two["older"]) == ([first], [one["newest"], first])
    assert len({first, one["newest"], two["newest"]}) == 3
    assert_opens(folder)


def test_the_next_start_seals_with_the_new_key_and_reads_what_is_older(folder: Path) -> None:
    newest = rotated(folder)["newest"]
    assert newest not in sealed_with(folder)
    with running(folder) as gateway:
        assert gateway.done("GET", "/debug/overview.json")["counts"]["votes"] == 1
        gateway.list_server()
    assert newest in sealed_with(folder)


def test_no_key_is_ever_printed_and_the_file_is_for_one_user_only(folder: Path) -> None:
    result = rotate_key(folder, "--prune")
    text = (folder / KEYS).read_text()
    keys = text.split()
    assert len(keys) == 2
    for key in keys:
        assert key not in result.output
        assert key.rstrip("=") not in result.output
    assert all(key_id in result.stdout for key_id in ids(folder))
    assert (folder / KEYS).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.glob("*.tmp")) == []


def test_pruning_keeps_the_keys_that_a_file_needs(folder: Path) -> None:
    (first,) = ids(folder)
    between = rotated(folder)["newest"]

    pruned = rotated(folder, "--prune")

    assert pruned["dropped"] == [between]
    assert ids(folder) == [pruned["newest"], first]
    assert_opens(folder)


def test_pruning_drops_a_key_when_the_last_file_it_sealed_is_gone(folder: Path) -> None:
    (first,) = ids(folder)
    newest = rotated(folder)["newest"]
    replace_files(folder)
    assert sealed_with(folder) == {newest}

    result = rotate_key(folder, "--prune")

    assert ids(folder)[1:] == [newest]
    assert f"keys dropped: {first}" in result.stdout
    assert "Backups sealed with them open only with a sealing.keys that still has them." in result.stderr
    assert_opens(folder)


@pytest.mark.parametrize("kind", ["segment", "snapshot"])
def test_a_single_file_is_enough_to_keep_its_key(folder: Path, tmp_path: Path, kind: str) -> None:
    (first,) = ids(folder)
    found = list_segments(folder) if kind == "segment" else list_snapshots(folder)
    only = tmp_path / "only"
    only.mkdir()
    for path in [found[0][1], folder / KEYS]:
        shutil.copy(path, only)
    (only / "journal-00000000000000000001-70.torn").write_bytes(b"torn")
    assert rotated(only, "--prune")["older"] == [first]


def test_torn_bytes_without_their_segment_keep_no_key(folder: Path) -> None:
    (first,) = ids(folder)
    rotated(folder)
    replace_files(folder)
    (folder / "journal-00000000000000000001-70.torn").write_bytes(b"torn")
    assert rotated(folder, "--prune")["dropped"] == [first]


def test_nothing_is_pruned_when_a_file_does_not_tell_its_key(folder: Path) -> None:
    path = list_segments(folder)[0][1]
    overwrite(path, path.read_bytes()[:10])
    line = refused(folder, "--prune")
    assert line.startswith(f"{path} does not tell which key it needs (the segment header is incomplete);")
    assert len(rotated(folder)["older"]) == 1


def test_keys_are_added_while_a_gateway_runs_and_dropped_when_it_has_stopped(tmp_path: Path) -> None:
    with running(tmp_path / "data"):
        line = refused(tmp_path / "data", "--prune")
        (first,) = ids(tmp_path / "data")
        assert rotated(tmp_path / "data")["older"] == [first]
    assert f"is in use by another process (pid {os.getpid()}); stop it" in line


def test_keys_of_the_settings_are_changed_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (folder / KEYS).read_text()
    monkeypatch.setenv("VOTEGATE_SEALING__KEYS", text)
    line = refused(folder)
    assert (
        "put a new key (32 bytes in base64) before the old ones in sealing.keys, separated by a space" in line
    )
    assert text.strip() not in line
    assert len(new_key()) == KEY_BYTES
    assert keyring_of(f"{Keyring([new_key()]).to_text()} {text}").key_ids[1:] == keyring_of(text).key_ids


def test_a_folder_without_keys_is_refused_and_not_made(tmp_path: Path) -> None:
    line = refused(tmp_path / "data")
    assert line == f"{tmp_path / 'data' / KEYS} is missing; the first start of a gateway creates it"
    assert not (tmp_path / "data").exists()


def test_keys_that_cannot_be_read_are_refused_and_left_alone(folder: Path) -> None:
    (folder / KEYS).write_text("not a key\n")
    assert str(folder / KEYS) in refused(folder)
