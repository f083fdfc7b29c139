"""`make bench-state SCALE=10`: the costs of a platform at three sizes, of which the last has the scale.

Each size is a data folder of its own (`bench/state_folder.py`) and a gateway on it, with pages for people. A
time of the processor is that of the gateway. A start is from the start of the process.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from bench.beside_pages import with_settings
from bench.charts import Report
from bench.people_pages import SITE
from bench.servers import OPERATOR, Running, running, votegate
from bench.state_folder import FIRST_VOTER, LAST_NAME, Scale, write_folder

VOTES = 3_000
"""The votes before a part is written: those of half a minute at 100 votes a second."""
SERVES_SECONDS = 120
AUTHORIZED = {"Authorization": f"Bearer {OPERATOR}"}


class Snapshot(NamedTuple):
    """The costs of a snapshot."""

    bytes: int
    seconds: float
    cpu_seconds: float


class Size(NamedTuple):
    """The costs at one size."""

    written_bytes: int
    written_seconds: float
    ready_seconds: float
    page_seconds: float
    """From the start until the first page is there."""
    found_seconds: float
    """From the start until a search finds the last listing."""
    start_cpu_seconds: float
    """The processor's time until then."""
    again_seconds: float
    """From a second start, with the files of the first one, until then."""
    again_cpu_seconds: float
    resident: int
    """The bytes of memory then."""
    whole: Snapshot
    part: Snapshot
    erase_cpu_seconds: float
    debug_cpu_seconds: float


class Asker:
    """A client of a gateway."""

    def __init__(self, gateway: Running) -> None:
        self._gateway = gateway
        self._connection = HTTPConnection("127.0.0.1", gateway.port)

    def done(self, method: str, path: str, body: object = None) -> bytes:
        """Return the content of an answer that must be a success."""
        content = self.asked(method, path, body)
        if content is None:
            raise AssertionError(f"{method} {path}")
        return content

    def asked(self, method: str, path: str, body: object = None) -> bytes | None:
        """Return the content of an answer; None if it is no success."""
        self._connection.request(method, path, json.dumps(body) if body is not None else None, AUTHORIZED)
        answer = self._connection.getresponse()
        content = answer.read()
        return content if answer.status < 300 else None

    def cpu_seconds(self, method: str, path: str) -> float:
        before = self._gateway.cpu_seconds()
        self.done(method, path)
        return self._gateway.cpu_seconds() - before

    def part(self) -> Snapshot:
        started, before = time.perf_counter(), self._gateway.cpu_seconds()
        taken: dict[str, Any] = json.loads(self.done("POST", "/debug/snapshot"))
        cpu = self._gateway.cpu_seconds() - before
        return Snapshot(taken["bytes"], time.perf_counter() - started, cpu)

    def whole(self) -> Snapshot:
        """Read a backup, which is copied as a whole snapshot is."""
        started, before = time.perf_counter(), self._gateway.cpu_seconds()
        self._connection.request("GET", "/debug/snapshot", headers=AUTHORIZED)
        answer, size = self._connection.getresponse(), 0
        while piece := answer.read(1 << 20):
            size += len(piece)
        cpu = self._gateway.cpu_seconds() - before
        return Snapshot(size, time.perf_counter() - started, cpu)


def measured(place: Path, scale: Scale) -> Size:
    folder, log = place / "data", place / "log"
    started = time.perf_counter()
    written = write_folder(folder, scale)
    written_seconds = time.perf_counter() - started
    server = with_settings(votegate(folder), "with pages", SITE)
    started = time.perf_counter()
    with running(server, log, seconds=SERVES_SECONDS) as gateway:
        ready, page, found = _start_seconds(Asker(gateway), started)
        resident, cpu, asker = gateway.resident(), gateway.cpu_seconds(), Asker(gateway)
        whole = asker.whole()
        _vote(asker, scale, VOTES)
        part = asker.part()
        erase = asker.cpu_seconds("DELETE", f"/manage/users/{FIRST_VOTER}")
        debug = asker.cpu_seconds("GET", "/debug/overview.json")
    started = time.perf_counter()
    with running(server, log, seconds=SERVES_SECONDS) as gateway:
        *_, again = _start_seconds(Asker(gateway), started)
        again_cpu = gateway.cpu_seconds()
    starts = (ready, page, found, cpu, again, again_cpu)
    return Size(written, written_seconds, *starts, resident, whole, part, erase, debug)


def _start_seconds(asker: Asker, started: float) -> tuple[float, float, float]:
    seconds = []
    for path, holds in (
        ("/readyz", b""),
        ("/", b"<html"),
        (f"/servers.json?q={LAST_NAME}", LAST_NAME.encode()),
    ):
        while (content := asker.asked("GET", path)) is None or holds not in content:
            time.sleep(0.05)
        seconds.append(time.perf_counter() - started)
    ready, page, found = seconds
    return ready, page, found


def _vote(asker: Asker, scale: Scale, count: int) -> None:
    """Cast votes, half of them for the huge bots."""
    chance, refs = random.Random(count), [ref for ref, _ in scale.voters()]
    for number in range(count):
        ref = refs[number % 10] if number % 2 else chance.choice(refs)
        asker.asked(
            "POST", f"/manage/{ref}/votes", {"user": str(FIRST_VOTER + chance.randrange(scale.users))}
        )


ROWS: Sequence[tuple[str, Callable[[Size], str]]] = (
    ("the folder, MB", lambda size: f"{size.written_bytes / 1e6:.0f}"),
    ("writing it, s", lambda size: f"{size.written_seconds:.0f}"),
    ("ready, s", lambda size: f"{size.ready_seconds:.1f}"),
    ("the first page, s", lambda size: f"{size.page_seconds:.1f}"),
    ("every listing is found, s", lambda size: f"{size.found_seconds:.1f}"),
    ("until then, s of the processor", lambda size: f"{size.start_cpu_seconds:.1f}"),
    ("every listing is found at the second start, s", lambda size: f"{size.again_seconds:.1f}"),
    ("until then, s of the processor", lambda size: f"{size.again_cpu_seconds:.1f}"),
    ("memory with pages and their index, MB", lambda size: f"{size.resident / 1e6:.0f}"),
    ("a whole snapshot, MB", lambda size: f"{size.whole.bytes / 1e6:.1f}"),
    ("a whole snapshot, s of the processor", lambda size: f"{size.whole.cpu_seconds:.2f}"),
    (f"a part after {VOTES:,} votes, MB", lambda size: f"{size.part.bytes / 1e6:.2f}"),
    ("a part, s of the processor", lambda size: f"{size.part.cpu_seconds:.2f}"),
    ("erasing a user, s of the processor", lambda size: f"{size.erase_cpu_seconds:.2f}"),
    ("the operator's overview, s of the processor", lambda size: f"{size.debug_cpu_seconds:.2f}"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.state_sizes")
    parser.add_argument("--scale", type=float, default=10)
    factor = parser.parse_args().scale
    scales = [Scale(factor / share) for share in (100, 10, 1)]
    sizes = []
    for scale in scales:
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            sizes.append(measured(Path(name), scale))
        print(f"{scale.listings:,} listings: {sizes[-1]}", flush=True)
    last = scales[-1]
    title = f"State: up to {last.listings:,} listings with {last.votes:,} votes of {last.users:,} users"
    report = Report("state-sizes", title, f"make bench-state SCALE={factor:g}")
    report.table(
        "sizes",
        "listings",
        [f"{scale.listings:,}" for scale in scales],
        [(label, *(text_of(size) for size in sizes)) for label, text_of in ROWS],
    )
    report.write()


if __name__ == "__main__":
    main()
