"""storage/disk.py: how much may still be written to the disk of the data folder."""

import asyncio
import os
from pathlib import Path

import pytest

from storage.disk import DiskSpace


def test_the_free_space_is_what_the_file_system_tells(tmp_path: Path) -> None:
    space = DiskSpace(tmp_path, lambda: 1)
    assert space.free_bytes is None
    asyncio.run(space.step())
    found = os.statvfs(tmp_path)
    assert 0 < (space.free_bytes or 0) <= found.f_blocks * found.f_frsize


def test_space_that_the_file_system_does_not_tell_is_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    space = DiskSpace(folder, lambda: 1)
    asyncio.run(space.step())
    folder.rmdir()
    with pytest.raises(FileNotFoundError):
        asyncio.run(space.step())
    assert space.free_bytes is None
