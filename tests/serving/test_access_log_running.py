"""serving/access_log.py: it writes in batches, and no stream that it writes to can stop the gateway."""

import asyncio
import errno
import fcntl
import os
import re
import select
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import pytest

from serving import access_log as access
from tests.support.coroutines import run, turns, until
from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.logged_answers import ADDRESS, PATH, Pages, answer, make, written


class Full(Pages):
    """A disk without space, until there is some."""

    is_full = True

    def write(self, page: Any) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "no space")
        return super().write(page)


class Pipe:
    """Has room for a page of memory, so that a write of more waits for its reader."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4_096)
        self.writer: BinaryIO = os.fdopen(writing, "wb")

    def read(self, most: int = 65_536) -> bytes:
        assert select.select([self._reading], [], [], WAIT_SECONDS)[0], "nothing was written"
        return os.read(self._reading, most)

    def read_all(self) -> bytes:
        return b"".join(iter(self.read, b""))

    def close_reader(self) -> None:
        if self._reading != -1:
            os.close(self._reading)
            self._reading = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close_reader()  # first: a write that still waits fails now
    with suppress(BrokenPipeError):
        pipe.writer.close()


def test_what_a_full_disk_did_not_take_is_counted_when_it_takes_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "WAITING", 2)
    pages = Full()
    log = make(pages)
    answer(log, times=3)
    assert written(log, pages) == []
    pages.is_full = False
    answer(log)
    first, second = written(log, pages)
    assert first.endswith(f"200 GET {PATH} {ADDRESS} 1.2ms")
    assert second.endswith("3 answers were not logged")


def test_a_stream_whose_reader_has_gone_or_that_is_closed_disturbs_nobody(pipe: Pipe) -> None:
    log = make(pipe.writer)
    pipe.close_reader()
    for _ in range(3):
        answer(log, times=100)
        run(log.step())
    with suppress(BrokenPipeError):
        pipe.writer.close()
    answer(log)
    run(log.step())


def writers(before: Sequence[threading.Thread]) -> list[threading.Thread]:
    """Return the threads of access logs that have begun since."""
    return [each for each in threading.enumerate() if "access-log" in each.name and each not in before]


async def cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def test_it_writes_again_and_again_and_the_last_batch_when_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access, "WRITE_SECONDS", 0.001)
    pages = Pages()

    async def main() -> None:
        log = make(pages)
        running = asyncio.create_task(log.run())
        for count in (1, 2):
            answer(log)
            await until(lambda: len(pages.pages) == count)  # noqa: B023 (waited for here)
        monkeypatch.setattr(access, "WRITE_SECONDS", WAIT_SECONDS * 2)
        await turns()
        answer(log, "/last")
        await cancelled(running)
        assert "/last" in pages.pages[-1]

    run(main())


def test_a_stop_in_the_middle_of_a_write_loses_nothing(pipe: Pipe) -> None:
    async def main() -> bytes:
        log = make(pipe.writer)
        paths = [f"/{number}" for number in range(1_000)]
        for path in paths[:500]:
            answer(log, path)
        stepping = asyncio.create_task(log.step())
        await turns()
        for path in paths[500:]:
            answer(log, path)
        await cancelled(stepping)  # the pipe is full: the thread is in the middle of it
        running = asyncio.create_task(log.run())
        await turns()
        reading = asyncio.create_task(asyncio.to_thread(pipe.read_all))
        await cancelled(running)
        pipe.writer.close()
        return await reading

    lines = run(main()).decode().splitlines()
    assert [line.split(" ")[6] for line in lines] == [f"/{number}" for number in range(1_000)]


def test_a_reader_that_does_not_read_holds_up_neither_the_loop_nor_a_stop(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access, "WRITE_SECONDS", 0.001)
    monkeypatch.setattr(access, "LAST_SECONDS", 0.001)
    monkeypatch.setattr(access, "WAITING", 1_000)

    async def main() -> bytes:
        before = threading.enumerate()
        log = make(pipe.writer)
        running = asyncio.create_task(log.run())
        answer(log, times=1_000)
        first = await asyncio.to_thread(pipe.read, 1)  # the write has begun
        answer(log, times=1_500)
        await cancelled(running)
        reading = asyncio.create_task(asyncio.to_thread(pipe.read_all))
        await until(lambda: not writers(before))
        pipe.writer.close()
        return first + await reading

    lines = run(main()).decode().splitlines()
    assert len(lines) == 2_001
    assert lines[-1].endswith("500 answers were not logged")


def test_its_lines_and_those_of_the_log_stay_whole_on_the_standard_error() -> None:
    program = f"""
import asyncio, logging, sys
from core.clock import SystemClock
from watchers.redaction import Redactor
from serving.access_log import AccessLog
from serving.log_output import LogOutput, begin_logging
output = LogOutput("text", Redactor(), sys.stderr.buffer)
begin_logging(output, "INFO")
async def main():
    log = AccessLog(SystemClock(), output)
    for _ in range(20):
        for _ in range(200):
            log.answered(200, "GET", {PATH!r}, {ADDRESS!r}, 100_000, 7)
        step = asyncio.create_task(log.step())
        for _ in range(50):
            await asyncio.sleep(0)
            logging.getLogger("other").info("a line")
        await step
asyncio.run(main())
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=WAIT_SECONDS * 2
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    kinds = [re.sub(r"\[\w+\]", "", line.split(" ", 2)[2]) for line in ended.stderr.splitlines()]
    assert kinds.count(f"INFO votegate.access: 200 GET {PATH} {ADDRESS} 0.1ms") == 4_000
    assert kinds.count("INFO other: a line") == 1_000
    assert len(kinds) == 5_000
