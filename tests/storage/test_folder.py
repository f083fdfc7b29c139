"""The data folder: one process at a time, and secrets that are made once."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from journal.segments import list_segments
from snapshot.files import list_snapshots
from storage.folder import (
    KEYS,
    UNFINISHED,
    FolderUnusable,
    keep_keys,
    kept_keys,
    kept_secret,
    locked,
    refuse_foreign_files,
    remove_unfinished,
    what_to_do,
)
from storage.sealing import new_key
from tests.support.folder_bytes import bytes_of
from tests.support.gateways import ROOT
from tests.support.journals import on
from tests.support.watched_disk import WatchedDisk

READ_WITHOUT_CODECS = """
import sys
from pathlib import Path
from storage.folder import kept_secret
def gone(name, *_):
    if name.startswith("encodings."):
        raise FileNotFoundError(2, "No such file or directory", name)
sys.meta_path.insert(0, type("Gone", (), {"find_spec": staticmethod(gone)}))
print(kept_secret(Path(sys.argv[1]), "secret", lambda: "another"))
"""
"""Read a secret where the files of codecs are gone, as when somebody has emptied the binary's own folder."""

LOCK_IN_ANOTHER_PROCESS = """
import sys
from pathlib import Path
from storage.folder import FolderUnusable, locked
try:
    with locked(Path(sys.argv[1])):
        print("locked")
except FolderUnusable as error:
    print(error)
"""


def lock_elsewhere(folder: Path) -> str:
    """Lock the folder in another process and return what it gets."""
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


def test_a_secret_that_cannot_be_read_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("kept\n")
    command = [sys.executable, "-c", READ_WITHOUT_CODECS, str(tmp_path)]
    read = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (tmp_path / "secret").read_text() == "kept\n", read
    assert read.stdout == "kept\n", read


def test_a_secret_is_for_one_user_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept_secret(tmp_path, "secret", lambda: "a secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_secret_is_on_disk_before_it_is_used(tmp_path: Path, disk: WatchedDisk) -> None:
    kept_secret(tmp_path, "secret", lambda: "a secret")
    assert disk.synced == ["secret.tmp", tmp_path.name]
    assert disk.durable_bytes(tmp_path / "secret") == len("a secret\n")


@pytest.mark.parametrize("written_bytes", [None, 3])
def test_a_secret_for_which_there_is_no_space_leaves_nothing_behind(
    tmp_path: Path, disk: WatchedDisk, written_bytes: int | None
) -> None:
    disk.fill_up(written_bytes)
    with pytest.raises(OSError, match="No space left"):
        kept_secret(tmp_path, "secret", lambda: "a secret")
    assert list(tmp_path.iterdir()) == []

    disk.make_room()
    assert kept_secret(tmp_path, "secret", lambda: "a secret") == "a secret"


def test_a_secret_that_a_killed_process_was_making_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "secret.tmp").write_text("half a secret that is longer than the")
    assert kept_secret(tmp_path, "secret", lambda: "whole") == "whole"
    assert bytes_of(tmp_path) == {"secret": b"whole\n"}


def test_a_secret_may_be_put_there_by_hand(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("  by hand \n")
    assert kept_secret(tmp_path, "secret", lambda: "made") == "by hand"


@pytest.mark.parametrize("content", ["", "\n", "  \n"])
def test_an_empty_secret_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content)
    with pytest.raises(FolderUnusable, match=f"{path} is empty; restore it"):
        kept_secret(tmp_path, "secret", lambda: "made")
    assert path.read_text() == content


def test_a_secret_that_is_no_ascii_text_is_refused_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes("sécret".encode())
    with pytest.raises(FolderUnusable, match=str(path)):
        kept_secret(tmp_path, "secret", lambda: "made")


def test_a_link_planted_where_a_secret_is_made_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """The target of the link keeps its bytes, and never gets the secret."""
    victim = tmp_path / "victim"
    victim.write_text("somebody else's")
    (tmp_path / f"{KEYS}{UNFINISHED}").symlink_to(victim)
    made = kept_keys(tmp_path, needed=False)
    assert victim.read_text() == "somebody else's"
    assert not (tmp_path / KEYS).is_symlink()
    assert kept_keys(tmp_path, needed=True).to_text() == made.to_text()


def test_a_file_that_somebody_holds_open_where_a_secret_is_made_does_not_get_it(tmp_path: Path) -> None:
    """Mode 0600 of a new file means nothing to who has made the file before."""
    with (tmp_path / "secret.tmp").open("w+") as planted:
        kept_secret(tmp_path, "secret", lambda: "a secret")
        assert planted.read() == ""
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


def test_a_secret_that_is_a_symbolic_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("a secret")
    (tmp_path / "secret").symlink_to("elsewhere")
    with pytest.raises(OSError, match="symbolic links") as raised:
        kept_secret(tmp_path, "secret", lambda: "made")
    assert "it is a symbolic link" in what_to_do(raised.value, tmp_path)


def test_a_lock_that_is_a_symbolic_link_is_refused_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("somebody else's")
    (tmp_path / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links") as raised, locked(tmp_path):
        pass
    assert f"{tmp_path / 'lock'}: it is a symbolic link" in what_to_do(raised.value, tmp_path)
    assert victim.read_text() == "somebody else's"


def test_a_lock_that_is_a_hard_link_is_refused_and_its_file_is_left_as_it_is(tmp_path: Path) -> None:
    folder, precious = tmp_path / "data", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("somebody else's")
    os.link(precious, folder / "lock")
    with pytest.raises(FolderUnusable) as refused, locked(folder):
        pass
    assert str(refused.value) == (
        f"{folder / 'lock'} is a hard link: its file has another name; delete {folder / 'lock'}"
    )
    assert precious.read_text() == "somebody else's"


def test_a_pipe_in_the_place_of_a_secret_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / KEYS)
    with pytest.raises(FolderUnusable, match=r"sealing\.keys is empty"):
        kept_keys(tmp_path, needed=True)


def test_sealing_keys_are_made_once_and_then_kept_for_one_user_only(tmp_path: Path) -> None:
    made = kept_keys(tmp_path, needed=False)
    assert len(made.key_ids) == 1
    assert kept_keys(tmp_path, needed=True).to_text() == made.to_text()
    assert stat.S_IMODE((tmp_path / KEYS).stat().st_mode) == 0o600


def test_no_two_folders_have_the_same_sealing_key(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    one, other = [kept_keys(folder, needed=False) for folder in folders]
    assert one.newest != other.newest


def test_sealing_keys_that_are_needed_are_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(FolderUnusable, match=f"{tmp_path / KEYS} is missing.*restore it"):
        kept_keys(tmp_path, needed=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("needed", [False, True])
@pytest.mark.parametrize("content", ["", "secretly-not-a-key", "c2VjcmV0bHk="])
def test_damaged_sealing_keys_are_refused_left_alone_and_not_shown(
    tmp_path: Path, content: str, needed: bool
) -> None:
    (tmp_path / KEYS).write_text(content)
    with pytest.raises(FolderUnusable, match=f"{tmp_path / KEYS}.*restore it") as raised:
        kept_keys(tmp_path, needed=needed)
    assert bytes_of(tmp_path) == {KEYS: content.encode()}
    assert not content or content not in str(raised.value)


def test_kept_keys_are_replaced_durably_and_for_one_user_only(tmp_path: Path, disk: WatchedDisk) -> None:
    before = kept_keys(tmp_path, needed=False)
    disk.synced.clear()

    keep_keys(tmp_path, before.with_newest(new_key()))

    after = kept_keys(tmp_path, needed=True)
    assert after.key_ids[1:] == before.key_ids
    assert disk.synced == [KEYS + UNFINISHED, tmp_path.name]
    assert stat.S_IMODE((tmp_path / KEYS).stat().st_mode) == 0o600


def test_kept_keys_that_cannot_be_replaced_stay(tmp_path: Path, disk: WatchedDisk) -> None:
    before = kept_keys(tmp_path, needed=False)
    disk.fill_up(after_bytes=10)
    with pytest.raises(OSError, match="No space left"):
        keep_keys(tmp_path, before.with_newest(new_key()))
    assert bytes_of(tmp_path) == {KEYS: before.to_text().encode() + b"\n"}


N = "00000000000000000001"
OURS = [
    "lock",
    KEYS,
    "key-digest.secret",
    "operator.token",
    f"journal-{N}",
    f"snapshot-{N}",
    f"journal-{N}-48.torn",
    "lost+found",
]


@pytest.mark.parametrize("name", [*OURS, *(name + UNFINISHED for name in OURS[1:6])])
def test_a_folder_with_our_files_is_ours(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    refuse_foreign_files(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        ".bashrc",
        f"journal-{N}0",
        f"journal-{N}.bak",
        "journal-" + "٠" * 20,
        f"journal-{N}\n",
        f"snapshot-{N}-48.torn",
        "lock.tmp",
        "something.tmp",
        "xsealing.keys",
        "sealing_keys",
    ],
)
def test_a_folder_with_anything_else_is_refused_by_its_name_and_left_alone(tmp_path: Path, name: str) -> None:
    for path in (tmp_path / name, tmp_path / f"journal-{N}", tmp_path / "zzz"):
        path.touch()
    before = bytes_of(tmp_path)
    with pytest.raises(FolderUnusable, match="is not a file of Votegate's") as raised:
        refuse_foreign_files(tmp_path)
    assert str(raised.value).startswith(ascii(str(tmp_path / name))[1:-1] + " ")
    assert bytes_of(tmp_path) == before


@pytest.mark.parametrize("name", [f"journal-{N}", f"snapshot-{N}", "sealing.keys", "lock"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("nowhere")])
def test_anything_but_a_file_is_refused_under_any_of_our_names(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    make(tmp_path / name)
    with pytest.raises(FolderUnusable, match=f"{name} is not a file of Votegate's"):
        refuse_foreign_files(tmp_path)
    assert list_segments(tmp_path) == list_snapshots(tmp_path) == []


def test_only_unfinished_files_are_removed(tmp_path: Path) -> None:
    for name in OURS:
        (tmp_path / name).touch()
    for name in OURS[1:6]:
        (tmp_path / (name + UNFINISHED)).touch()
    remove_unfinished(on(tmp_path))
    assert sorted(bytes_of(tmp_path)) == sorted(OURS)
