"""The serving part of the state benchmark: a gateway under traffic, with and without a snapshot under way."""

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import uvloop

from bench.charts import Report
from bench.fed_gateways import settings_of
from bench.load import asking
from bench.servers import DIGEST_SECRET, OPERATOR
from bench.state_disk import percentile
from core.clock import SystemClock
from gateway.serve import Gateway, serve, tune_interpreter
from serving.timeline import resident_bytes
from storage.disk import Disk

QUIET_SECONDS = 5.0
BEAT_SECONDS = 0.001
PHASES = (
    ("traffic alone", None),
    ("traffic during a snapshot", "/debug/snapshot"),
    ("traffic during a verification", "/debug/verify"),
)


class Seen(NamedTuple):
    """The measurements of the server since the last question."""

    late_ms: float
    """The longest delay of the loop."""
    resident: int
    """Bytes of memory now."""
    peak: int
    """The most bytes of memory."""
    journal_syncs: list[float]
    """The seconds that each sync of the journal took."""


class TimedDisk(Disk):
    """A disk that times the syncs of the journal, for which requests wait."""

    def __init__(self) -> None:
        self.journal_syncs: list[float] = []

    def sync(self, file: int) -> None:
        started = time.perf_counter()
        super().sync(file)
        if threading.current_thread().name.startswith("journal"):
            self.journal_syncs.append(time.perf_counter() - started)


def state_server(pipe: Connection, folder: Path) -> None:
    """Serve the folder, and answer each question through the pipe with a Seen."""
    late_ms, disk = 0.0, TimedDisk()

    async def beat() -> None:
        nonlocal late_ms
        while True:
            asked = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            late_ms = max(late_ms, (time.perf_counter() - asked - BEAT_SECONDS) * 1e3)

    def tell() -> None:
        nonlocal late_ms
        pipe.recv()
        pipe.send(Seen(late_ms, resident_bytes(), _peak_bytes(), disk.journal_syncs[:]))
        late_ms = 0.0
        disk.journal_syncs.clear()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here

    async def started(gateway: Gateway) -> None:
        loop = asyncio.get_running_loop()
        loop.add_reader(pipe.fileno(), tell)
        beating.append(loop.create_task(beat()))
        pipe.send(int(gateway.base_url.rpartition(":")[2]))

    beating: list[asyncio.Task[None]] = []
    tune_interpreter()
    uvloop.run(serve(settings_of(folder), SystemClock(), asyncio.Event(), started, disk))


def _peak_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1_024
    return 0


class _Connection:
    """A connection that is kept open, with one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, body: dict[str, Any]) -> tuple[float, bytes]:
        """Return the seconds until the answer was there, and its body."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        started = time.perf_counter()
        self._writer.write(head.encode() + content)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer_body = await self._reader.readexactly(length)
        if not answer.startswith(b"HTTP/1.1 20"):
            raise AssertionError(answer + answer_body)
        return time.perf_counter() - started, answer_body

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


@asynccontextmanager
async def _connected(port: int) -> AsyncIterator[_Connection]:
    connection = _Connection(*await asyncio.open_connection("127.0.0.1", port))
    try:
        yield connection
    finally:
        await connection.close()


class _Traffic:
    """A load of a hundred votes and two hundred checks a second, which remembers the time of each."""

    def __init__(self, port: int, first_user: int) -> None:
        self._port = port
        self._user = first_user
        self.votes: list[float] = []
        self.checks: list[float] = []

    async def vote(self) -> None:
        async with _connected(self._port) as connection:
            while True:
                self._user += 1
                path = f"/manage/bots/{2 * 10**17 + self._user % 1_000}/votes"
                seconds, _ = await connection.post(path, {"user": str(self._user)})
                self.votes.append(seconds)
                await asyncio.sleep(max(0.01 - seconds, 0))

    async def check(self) -> None:
        async with _connected(self._port) as connection:
            while True:
                path = f"/manage/bots/{10**17}/votes/check"
                seconds, _ = await connection.post(path, {"users": [str(self._user)]})
                self.checks.append(seconds)
                await asyncio.sleep(max(0.005 - seconds, 0))


async def _phases(port: int, pipe: Connection) -> list[tuple[str, ...]]:
    """A row each for a while without anything else, and for the time that a snapshot and a verification of
    the disk take."""
    rows: list[tuple[str, ...]] = []
    async with _connected(port) as operator:
        for number, (label, path) in enumerate(PHASES, 1):
            first_user = number * 10**17
            traffic = _Traffic(port, first_user)
            running = [asyncio.create_task(part()) for part in (traffic.vote, traffic.check)]
            await asyncio.sleep(0.5)
            before = _ask(pipe).resident
            traffic.votes.clear()
            traffic.checks.clear()
            seconds = QUIET_SECONDS
            if path is None:
                await asyncio.sleep(seconds)
            else:
                seconds, _ = await operator.post(path, {})
            seen = _ask(pipe)
            for task in running:
                if task.done():
                    task.result()  # the error that ended it
                task.cancel()
            await asyncio.wait(running)
            rows.append(
                (
                    f"{label}, {seconds:.1f} s",
                    f"{seen.late_ms:.1f}",
                    f"{(seen.peak / before - 1) * 100:.1f}",
                    f"{percentile(seen.journal_syncs, 50) * 1e3:.2f}",
                    f"{percentile(seen.journal_syncs, 99) * 1e3:.2f}",
                    f"{percentile(traffic.votes, 50) * 1e3:.2f}",
                    f"{percentile(traffic.votes, 99) * 1e3:.2f}",
                    f"{percentile(traffic.checks, 99) * 1e3:.2f}",
                )
            )
    return rows


def _ask(pipe: Connection) -> Seen:
    pipe.send("what was seen")
    seen: Seen = pipe.recv()
    return seen


def ready_seconds(folder: Path) -> float:
    """Return the seconds from the start of the process until `/readyz` says 200."""
    command = [sys.executable, "server.py", "serve", "--data-dir", str(folder), "--port", "0"]
    environment = {"VOTEGATE_KEYS__DIGEST_SECRET": DIGEST_SECRET, "VOTEGATE_OPERATOR__TOKEN": OPERATOR}
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        url = next(
            line.split()[line.split().index("on") + 1] for line in _lines(process) if "serving on" in line
        )
        with urllib.request.urlopen(url + "/readyz") as answer:
            answer.read()
        seconds = time.perf_counter() - started
        process.terminate()
    return seconds


def _lines(process: "subprocess.Popen[str]") -> list[str]:
    """Read lines until the process serves."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if "serving on" in line:
            return lines
    raise AssertionError("".join(lines))


def measure_serving(report: Report, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as empty:
        starts = [("on an empty folder", min(ready_seconds(Path(empty)) for _ in range(3)))]
    starts.append(("on the votes", min(ready_seconds(folder) for _ in range(3))))
    report.table(
        "ready",
        "from starting the process to ready",
        ["seconds"],
        [(label, f"{seconds:.2f}") for label, seconds in starts],
    )
    with asking(state_server, folder) as (port, pipe):
        rows = asyncio.run(_phases(port, pipe))
    report.table(
        "snapshot",
        "serving",
        [
            "longest loop stall, ms",
            "memory at its peak, +%",
            "journal fsync p50, ms",
            "journal fsync p99, ms",
            "vote p50, ms",
            "vote p99, ms",
            "check p99, ms",
        ],
        rows,
    )
