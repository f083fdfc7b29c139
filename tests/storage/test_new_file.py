"""A file that an operator asked for: whole under its name, or not there."""

import errno
import os
from pathlib import Path

import pytest

from storage.disk import OS_DISK, Disk
from storage.folder import new_file
from tests.support.folder_bytes import bytes_of


class FullAtSync(Disk):
    def sync(self, file: int) -> None:
        del file
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def write(
    path: Path, error: BaseException | None = None, *, force: bool = False, disk: Disk = OS_DISK
) -> None:
    with new_file(path, force=force, disk=disk) as written:
        written.write(b"new")
        if error is not None:
            raise error


def test_a_file_gets_its_name_when_it_is_whole_and_is_for_one_user_only(tmp_path: Path) -> None:
    path = tmp_path / "votegate.backup"
    with new_file(path) as written:
        written.write(b"one ")
        written.write(b"two")
        assert not path.exists()
        assert written.size == 7
    assert path.read_bytes() == b"one two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_there_is_replaced_only_with_force(tmp_path: Path) -> None:
    path = tmp_path / "votegate.backup"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="is there already; name another file, or add --force"):
        write(path)
    assert path.read_bytes() == b"old"
    write(path, force=True)
    assert path.read_bytes() == b"new"


def test_not_even_force_replaces_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("folder", "link"):
        with pytest.raises(FileExistsError, match=r"name another file$"):
            write(tmp_path / name, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "votegate.backup"
    if force:
        path.write_bytes(b"old")
    before = bytes_of(tmp_path)
    for error in (KeyboardInterrupt(), ValueError()):
        with pytest.raises(type(error)):
            write(path, error, force=force)
    with pytest.raises(OSError, match="No space left"):
        write(path, force=force, disk=FullAtSync())
    assert bytes_of(tmp_path) == before


def test_a_file_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "votegate.backup"
    with pytest.raises(FileExistsError), new_file(path):
        path.write_bytes(b"of another process")
    assert bytes_of(tmp_path) == {path.name: b"of another process"}
