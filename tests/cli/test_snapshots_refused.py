"""`snapshot`: how each command ends when it cannot do its work, in one line that says what to do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from storage.folder import KEYS
from tests.support.folder_bytes import bytes_of
from tests.support.gateways import ROOT, WAIT_SECONDS, running
from tests.support.kept_folder import Kept, done, flip, keys_elsewhere, refused, snapshot, without_lock

pytestmark = pytest.mark.usefixtures("no_settings_around")


def test_a_folder_that_a_gateway_holds_is_refused_with_what_to_do(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running(data) as gateway:
        gateway.list_bot()
        verify = refused("verify", "--data-dir", data)
        export = refused("export", tmp_path / "out", "--format", "csv", "--data-dir", data)
        shutil.copytree(data, tmp_path / "copy")
        restore = refused("restore", tmp_path / "copy", "--data-dir", data)
    assert f"{data} is in use by another process (pid {os.getpid()});" in verify
    assert "POST /debug/verify" in verify
    assert "GET /debug/snapshot" in export
    assert restore.endswith("is there already; restore into a new or an empty data_dir")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [["inspect"], ["verify"], ["export", "/tmp/no-export", "--format", "csv"]]
)
def test_a_folder_that_holds_nothing_is_refused_and_not_made(tmp_path: Path, arguments: list[str]) -> None:
    line = refused(*arguments, "--data-dir", tmp_path / "data")
    assert line == f"{tmp_path / 'data'} contains no journal and no snapshots; name another with --data-dir"
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("command", [["inspect"], ["verify"], ["restore"], ["export", "out", "--from"]])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "photo.jpg").write_bytes(b"something else entirely")
    arguments = [tmp_path / "out" if word == "out" else word for word in command]
    options = ["--format", "csv"] if command[0] == "export" else []
    line = refused(*arguments, tmp_path / "photo.jpg", *options, "--data-dir", tmp_path / "data")
    assert line == f"{tmp_path / 'photo.jpg'} is not a snapshot"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["inspect", "verify", "restore"])
def test_a_file_that_is_not_there_is_refused_by_its_name(tmp_path: Path, command: str) -> None:
    assert str(tmp_path / "gone") in refused(command, tmp_path / "gone", "--data-dir", tmp_path / "data")


@pytest.mark.parametrize("command", [["verify"], ["restore"], ["export", "out", "--format", "csv", "--from"]])
def test_a_backup_of_another_folder_needs_its_keys(kept: Kept, tmp_path: Path, command: list[str]) -> None:
    wrong = keys_elsewhere(tmp_path / "elsewhere")
    arguments = [tmp_path / "out" if word == "out" else word for word in command]
    for keys in ([], ["--keys-file", wrong]):
        line = refused(*arguments, kept.backup, "--data-dir", tmp_path / "new", *keys)
        assert line.startswith(f"{kept.backup} is sealed with key ")
        assert "--keys-file" in line
    (tmp_path / "none").write_text("not a key")
    line = refused(*arguments, kept.backup, "--data-dir", tmp_path / "new", "--keys-file", tmp_path / "none")
    assert line.partition(";")[0] == f"{tmp_path / 'none'} is not a list of sealing keys"


def test_a_folder_with_data_is_not_restored_into(kept: Kept) -> None:
    before = without_lock(kept.path)
    line = refused("restore", kept.backup, "--data-dir", kept.path)
    assert line.endswith("is there already; restore into a new or an empty data_dir")
    assert without_lock(kept.path) == before


def test_a_damaged_source_leaves_no_folder(kept: Kept, tmp_path: Path) -> None:
    out, new = tmp_path / "out", tmp_path / "new"
    done("export", out, "--format", "csv", "--data-dir", kept.path)
    (out / "votes.csv").unlink()
    flip(kept.backup, -1)
    assert "votes.csv is missing" in refused("restore", out, "--data-dir", new, "--allow-missing")
    keys = ["--keys-file", kept.path / KEYS, "--allow-missing"]
    line = refused("restore", kept.backup, "--data-dir", new, *keys)
    assert "is damaged at byte" in line
    assert not new.exists()


def test_a_restore_that_is_refused_makes_nothing_and_says_all_that_is_missing_at_once(
    kept: Kept, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    for there in (False, True):  # whether the folder is there already
        line = refused("restore", kept.backup, "--data-dir", new)
        assert line.startswith(f"{kept.backup} is sealed with key ")
        told = snapshot("restore", kept.backup, "--data-dir", new).stderr
        assert told.startswith(f"{new} needs these secrets:\n")
        assert told.count("  MISSING: ") == 3
        assert "gone does not exist" in refused("restore", tmp_path / "gone", "--data-dir", new)
        assert (list(new.iterdir()) == []) if there else not new.exists()
        new.mkdir(exist_ok=True)


def test_a_restore_says_what_is_wrong_with_the_source_and_with_the_folder_at_once(
    kept: Kept, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "journal-00000000000000000001").touch()
    line = refused("restore", kept.backup, "--data-dir", new)
    assert f"{new / 'journal-00000000000000000001'} is there already" in line
    assert f"{kept.backup} is sealed with key " in line


def test_nobody_is_told_to_put_secrets_into_a_folder_that_is_the_wrong_one(
    kept: Kept, tmp_path: Path
) -> None:
    wrong = tmp_path / "photos"
    wrong.mkdir()
    (wrong / "beach.jpg").touch()
    line = refused("restore", kept.backup, "--data-dir", wrong)
    assert f"{wrong / 'beach.jpg'} is not a file of Votegate's" in line
    assert "secrets:" not in snapshot("restore", kept.backup, "--data-dir", wrong).stderr


@pytest.mark.parametrize("command", ["inspect", "verify", "restore"])
def test_a_pipe_is_refused_and_not_waited_for(kept: Kept, tmp_path: Path, command: str) -> None:
    pipe, data = tmp_path / "pipe", tmp_path / "new"
    os.mkfifo(pipe)
    line = refused(command, pipe, "--data-dir", data)
    assert line.startswith(f"{pipe} is a pipe or a folder; name a file")
    data.mkdir(mode=0o700)
    os.mkfifo(data / KEYS)
    assert f"{data / KEYS} is empty" in refused(command, kept.backup, "--data-dir", data)


def test_a_restore_into_a_folder_with_a_damaged_key_is_refused_and_makes_nothing(
    kept: Kept, tmp_path: Path
) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / KEYS).touch(mode=0o600)
    (new / KEYS).write_text("not a key")
    line = refused("restore", kept.backup, "--data-dir", new, "--keys-file", kept.path / KEYS)
    assert line.startswith(f"{new / KEYS}: a sealing key is 32 bytes in base64")
    assert set(bytes_of(new)) == {KEYS}


def test_an_export_goes_into_an_empty_folder_that_can_be_written(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    export = ("export", "--format", "csv", "--data-dir", kept.path)
    assert "is not empty" in refused(*export, tmp_path)
    assert "is in the data folder" in refused(*export, kept.path / "out")
    assert refused(*export, tmp_path / "file" / "out").startswith("nothing was exported: ")
    assert refused(*export, tmp_path / "file").startswith("nothing was exported: ")
    done("verify", "--data-dir", kept.path)


def test_a_full_disk_is_told_in_one_line_and_leaves_nothing(kept: Kept, tmp_path: Path) -> None:
    """The kernel refuses to let a file grow, as a full disk does."""
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300)); from server import cli; cli()"
    )
    keys = ["--keys-file", kept.path / KEYS, "--allow-missing"]
    for arguments in (
        ["snapshot", "export", tmp_path / "out", "--format", "ndjson", "--data-dir", kept.path],
        ["restore", kept.backup, "--data-dir", tmp_path / "new", *keys],
        ["backup", tmp_path / "again", "--data-dir", kept.path],
    ):
        command = [sys.executable, "-c", limited, *map(str, arguments)]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=WAIT_SECONDS)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.splitlines()[-1].startswith("Error: nothing was ")
        assert "Traceback" not in ended.stderr
    assert list((tmp_path / "out").iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"data", "out", kept.backup.name}


def test_settings_that_are_not_valid_end_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOTEGATE_SERVER__PORT", "http")
    result = snapshot("verify", "--data-dir", tmp_path)
    assert result.exit_code == 2
    assert "server.port" in result.stderr
