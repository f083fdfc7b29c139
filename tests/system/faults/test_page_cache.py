"""A sync that failed, as Linux has it: the kernel takes the pages for written, the disk lacks them."""

import asyncio
import errno
import os
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.failures import Unavailable
from journal.journal import Journal
from journal.segments import JournalReader, list_segments
from storage.disk import Disk
from storage.folder import Folder
from tests.support.coroutines import run
from tests.support.journals import KEYS, POLICY


class PageCache(Disk):
    """Files hold what was written; `on_disk` what a power cut would leave of it."""

    def __init__(self) -> None:
        self.fails = False
        """The next sync fails, and those behind it find nothing to do."""
        self._dirty: dict[int, list[tuple[int, bytes]]] = {}
        self._on_disk: dict[int, bytearray] = {}

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        written = super().write(file, content, offset)
        pages = self._dirty.setdefault(os.fstat(file).st_ino, [])
        pages.append((offset, bytes(content[:written])))
        return written

    def sync(self, file: int) -> None:
        number = os.fstat(file).st_ino
        pages = self._dirty.pop(number, [])
        if self.fails:
            self.fails = False
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        content = self._on_disk.setdefault(number, bytearray())
        for offset, page in pages:
            content.extend(bytes(max(offset + len(page) - len(content), 0)))
            content[offset : offset + len(page)] = page

    def cut_power(self, folder: Path) -> None:
        for _, path in list_segments(folder):
            path.write_bytes(self._on_disk.get(path.stat().st_ino, b""))


def start(folder: Folder) -> tuple[Journal, list[bytes]]:
    reader = JournalReader(folder)
    records = [record for _, record in reader.records(0)]
    journal = Journal(folder, reader.tail, POLICY, SystemClock())
    journal.begin()
    return journal, records


@pytest.mark.parametrize("rotated", [False, True])
def test_a_start_writes_the_bytes_of_a_failed_sync_again_before_it_adds_to_them(
    tmp_path: Path, rotated: bool
) -> None:
    disk = PageCache()
    folder = Folder(tmp_path, KEYS, disk)

    async def fail() -> None:
        journal, _ = start(folder)
        running = asyncio.create_task(journal.run())
        await journal.durable(journal.append(b"acknowledged"))
        if rotated:
            journal.rotate()
            await journal.durable(journal.append(b"in the next segment"))
        disk.fails = True
        with pytest.raises(Unavailable):
            await journal.durable(journal.append(b"never acknowledged"))
        with pytest.raises(OSError, match="Input/output error"):
            await running

    async def go_on() -> list[bytes]:
        journal, records = start(folder)
        running = asyncio.create_task(journal.run())
        await journal.durable(journal.append(b"after the restart"))
        await journal.close()
        await running
        return [*records, b"after the restart"]

    run(fail())
    expected = run(go_on())
    disk.cut_power(tmp_path)
    assert start(folder)[1] == expected
