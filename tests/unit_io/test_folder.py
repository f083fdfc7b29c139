"""The data folder: one process at a time, and secrets that are made once."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from journal.folder import FolderUnusable, kept_secret, locked, sync_folder
from tests.gateway import ROOT
from tests.unit_io.disk import Disk

LOCK_IN_ANOTHER_PROCESS = """
import sys
from pathlib import Path
from journal.folder import FolderUnusable, locked
try:
    with locked(Path(sys.argv[1])):
        print("locked")
except FolderUnusable as error:
    print(error)
"""


def lock_elsewhere(folder: Path) -> str:
    """What another process gets that tries to lock the folder."""
    command = [sys.executable, "-c", LOCK_IN_ANOTHER_PROCESS, str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def test_a_folder_in_use_is_refused_to_another_process_with_the_pid_of_the_owner(tmp_path: Path) -> None:
    with locked(tmp_path):
        answer = lock_elsewhere(tmp_path)
    assert answer == (
        f"{tmp_path} is in use by another process (pid {os.getpid()}); stop it, or choose another data_dir"
    )


def test_a_folder_in_use_is_refused_within_the_process_too(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(FolderUnusable, match="is in use"), locked(tmp_path):
        pass


def test_an_owner_that_left_no_pid_is_called_unknown(tmp_path: Path) -> None:
    with locked(tmp_path):
        (tmp_path / "lock").write_bytes(b"")
        assert "(pid unknown)" in lock_elsewhere(tmp_path)


def test_a_folder_is_free_again_when_its_owner_has_left(tmp_path: Path) -> None:
    with locked(tmp_path):
        pass
    assert lock_elsewhere(tmp_path) == "locked"


def test_a_folder_is_free_again_when_its_owner_has_failed(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path):
        raise RuntimeError
    assert lock_elsewhere(tmp_path) == "locked"


def test_a_refused_process_leaves_the_owner_its_lock(tmp_path: Path) -> None:
    with locked(tmp_path):
        lock_elsewhere(tmp_path)
        assert "is in use" in lock_elsewhere(tmp_path)


def test_a_secret_is_made_once_and_then_kept(tmp_path: Path) -> None:
    made = iter(["first", "second"])
    assert kept_secret(tmp_path, "secret", lambda: next(made)) == "first"
    assert kept_secret(tmp_path, "secret", lambda: next(made)) == "first"
    assert next(made) == "second"


def test_a_secret_is_for_one_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept_secret(tmp_path, "secret", lambda: "a secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_secret_is_on_disk_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    kept_secret(tmp_path, "secret", lambda: "a secret")
    assert disk.synced == ["secret", tmp_path.name]
    assert disk.durable_bytes(tmp_path / "secret") == len("a secret\n")


def test_a_secret_may_be_put_there_by_hand(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("  by hand \n")
    assert kept_secret(tmp_path, "secret", lambda: "made") == "by hand"


@pytest.mark.parametrize("content", ["", "\n", "  \n"])
def test_an_empty_secret_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content)
    with pytest.raises(FolderUnusable, match=f"{path} is empty; restore it, or delete it to make a new one"):
        kept_secret(tmp_path, "secret", lambda: "made")
    assert path.read_text() == content


def test_a_secret_that_is_no_ascii_text_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes("sécret".encode())
    with pytest.raises(FolderUnusable, match=str(path)):
        kept_secret(tmp_path, "secret", lambda: "made")


def test_the_entries_of_a_folder_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(monkeypatch)
    sync_folder(tmp_path)
    assert disk.synced == [tmp_path.name]
