"""The disk port: what it makes is new, and what it opens is where its name says."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.disk import OS_DISK
from tests.support.simulated_disk import RecordingDisk, cuts


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    (tmp_path / "victim").write_text("somebody else's")
    return tmp_path / "victim"


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_file_that_is_made_takes_the_place_of_a_planted_link_and_is_not_written_through_it(
    tmp_path: Path, victim: Path, link: Callable[[Path, Path], None]
) -> None:
    path = tmp_path / "new"
    link(victim, path)
    file = OS_DISK.create(path)
    OS_DISK.write(file, b"ours", 0)
    OS_DISK.close(file)
    assert (path.read_bytes(), path.lstat().st_mode & 0o7777) == (b"ours", 0o600)
    assert victim.read_text() == "somebody else's"


def test_a_file_that_is_opened_is_no_symbolic_link(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "link").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        OS_DISK.open(tmp_path / "link")


def test_the_simulated_disk_replaces_a_file_as_the_real_one_does(tmp_path: Path) -> None:
    """Until the folder is synced a power cut may leave the old file, the new one, or none."""
    (tmp_path / "file").write_bytes(b"old")
    disk = RecordingDisk(tmp_path)
    disk.close(disk.create(tmp_path / "file"))
    assert (tmp_path / "file").read_bytes() == b""
    *_, cut = cuts(disk)
    assert [type(change).__name__ for change in cut.unsynced] == ["Unlink", "Create"]
