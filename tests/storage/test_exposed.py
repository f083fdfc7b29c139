"""The data folder is one user's: what others could plant in it, or read of its secrets, stops a start."""

import os
import subprocess
from pathlib import Path

import pytest

from gateway.store import held_folder
from settings.model import load_settings
from storage.folder import DIGEST_SECRET, KEYS, LOCK, OPERATOR_TOKEN, SECRETS, FolderUnusable, refuse_exposed
from tests.support.folder_bytes import bytes_of

ELSEWHERE = "a file of somebody else's"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data of 'ours'"
    folder.mkdir(mode=0o700)
    return folder


def held(folder: Path) -> None:
    settings = load_settings(None, {}, {"data_dir": folder})
    with held_folder(settings.data_dir, settings.sealing):
        pass


def refused(folder: Path) -> str:
    with pytest.raises(FolderUnusable) as raised:
        held(folder)
    return str(raised.value)


def mend(message: str) -> None:
    """Runs the command with which the message ends."""
    subprocess.run(message.split("fix it with: ")[1], shell=True, check=True)


def belonging_to_somebody_else(path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The id of its owner, who is not this user."""
    if os.geteuid() == 0:
        os.chown(path, 12_345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    return path.stat().st_uid


# -- who may write the folder


@pytest.mark.parametrize("mode", [0o775, 0o770, 0o757, 0o777, 0o722, 0o2775])
def test_a_folder_that_others_may_write_is_refused_untouched_with_the_command_that_mends_it(
    folder: Path, mode: int
) -> None:
    folder.chmod(mode)
    message = refused(folder)
    assert message.startswith(f"{folder} can be written by others (mode {mode:04o})")
    assert list(folder.iterdir()) == []

    mend(message)
    held(folder)


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755, 0o2755])
def test_a_folder_that_others_may_only_read_is_used(folder: Path, mode: int) -> None:
    folder.chmod(mode)
    held(folder)
    assert folder.stat().st_mode & 0o7777 == mode


def test_a_folder_that_everybody_shares_is_not_made_anybody_s(folder: Path) -> None:
    """A sticky bit keeps others from deleting, and not from planting; chmod would take it from them."""
    folder.chmod(0o1777)
    message = refused(folder)
    assert "chmod" not in message
    assert f"such as {folder / 'votegate'}" in message
    held(folder / "votegate")


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_a_folder_is_made_for_one_user_whatever_the_umask_is(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        held(folder / "new" / "data")
    finally:
        os.umask(before)
    for made in (folder / "new", folder / "new" / "data"):
        assert made.stat().st_mode & 0o7777 == 0o700
    assert {path.stat().st_mode & 0o7777 for path in (folder / "new" / "data").iterdir()} == {0o600}


def test_a_folder_of_somebody_else_is_refused_untouched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = belonging_to_somebody_else(folder, monkeypatch)
    message = refused(folder)
    assert message.startswith(f"{folder} belongs to user {owner}, and this process is user {os.geteuid()}; ")
    assert list(folder.iterdir()) == []
    if os.getuid() == 0:
        mend(message)
        held(folder)


def test_a_folder_may_be_a_symbolic_link_to_one_of_ours(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    held(tmp_path / "link")
    assert set(bytes_of(folder)) == {LOCK, KEYS}


# -- who may read the secrets


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o604])
def test_a_secret_that_others_may_read_or_write_is_refused(folder: Path, name: str, mode: int) -> None:
    held(folder)
    (folder / name).touch()
    (folder / name).chmod(mode)
    before = bytes_of(folder)
    message = refused(folder)
    assert message.startswith(f"{folder / name} can be read or changed by others (mode {mode:04o})")
    assert bytes_of(folder) == before

    mend(message)
    refuse_exposed(folder)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_secret_for_this_user_alone_is_fine(folder: Path, mode: int) -> None:
    held(folder)
    (folder / KEYS).chmod(mode)
    held(folder)


def test_a_secret_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner could put another in its place."""
    path = folder / OPERATOR_TOKEN
    path.touch(mode=0o600)
    owner = belonging_to_somebody_else(path, monkeypatch)
    message = refused(folder)
    assert f"belongs to user {owner}" in message
    if os.getuid() == 0:
        mend(message)
        held(folder)


def test_everything_that_is_exposed_is_told_at_once_and_mended_by_one_command(folder: Path) -> None:
    folder.chmod(0o777)
    for name in (KEYS, DIGEST_SECRET):
        (folder / name).touch()
        (folder / name).chmod(0o644)
    message = refused(folder)
    assert [message.count(f"{folder / name} can be read") for name in SECRETS] == [1, 1, 0]
    mend(message)
    refuse_exposed(folder)


# -- what was planted before the folder was shut


@pytest.mark.parametrize("name", [LOCK, *SECRETS, "journal-00000000000000000001", f"{KEYS}.tmp"])
def test_a_symbolic_link_under_one_of_our_names_is_refused_and_not_followed(folder: Path, name: str) -> None:
    victim = folder.parent / "victim"
    victim.write_text(ELSEWHERE)
    (folder / name).symlink_to(victim)
    message = refused(folder)
    assert message.startswith(f"{folder / name} is not a file of Votegate's but a symbolic link; ")
    assert victim.read_text() == ELSEWHERE
    assert [path.name for path in folder.iterdir()] == [name]
