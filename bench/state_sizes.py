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
from urllib.parse import quote

from bench.beside_pages import with_settings
from bench.charts import Report
from bench.people_pages import SITE
from bench.search import Texts, misspelled
from bench.servers import OPERATOR, Running, running, votegate
from bench.state_folder import FIRST_VOTER, LAST_NAME, Scale, write_folder
from kinds.bots import CATEGORIES
from search.list_orders import SORTS

VOTES = 3_000
"""The votes before a part is written: those of half a minute at 100 votes a second."""
SERVES_SECONDS = 120
LISTS = 12
ASKED = 600
"""Searches, and pages of lists."""
IDLE_CPU_SECONDS = 0.1
"""A gateway that uses less in a second has nothing left to do."""
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
    again_page_seconds: float
    """From a second start, with the files of the first one, until the first page is there."""
    again_seconds: float
    """From the second start until a search finds the last listing."""
    again_cpu_seconds: float
    resident: int
    """The bytes of memory then."""
    whole: Snapshot
    part: Snapshot
    search_p99_ms: float
    orders_cpu_seconds: float
    """For the first look at each of twelve lists, which makes its order."""
    list_p99_ms: float
    erase_cpu_seconds: float
    debug_cpu_seconds: float
    longest_stall_ms: float
    """The longest delay of the loop: in a minute of the first gateway, or since the start of the second."""


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

    def longest_stall_ms(self) -> float:
        overview: dict[str, Any] = json.loads(self.done("GET", "/debug/overview.json"))
        return float(overview["loop_lag_ms"]["max"])

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
        _wait_until_idle(gateway)  # it writes the search index
        whole = asker.whole()
        _vote(asker, scale, VOTES)
        part = asker.part()
        search = _p99_ms(asker, _searches())
        before = gateway.cpu_seconds()
        _p99_ms(asker, _lists()[:LISTS])
        making = gateway.cpu_seconds() - before
        lists = _p99_ms(asker, _lists())
        erase = asker.cpu_seconds("DELETE", f"/manage/users/{FIRST_VOTER}")
        debug = asker.cpu_seconds("GET", "/debug/overview.json")
        stall = asker.longest_stall_ms()
    started = time.perf_counter()
    with running(server, log, seconds=SERVES_SECONDS) as gateway:
        _, again_page, again = _start_seconds(Asker(gateway), started)
        again_cpu = gateway.cpu_seconds()
        stall = max(stall, Asker(gateway).longest_stall_ms())
    starts = (ready, page, found, cpu, again_page, again, again_cpu)
    return Size(
        written, written_seconds, *starts, resident, whole, part, search, making, lists, erase, debug, stall
    )


def _wait_until_idle(gateway: Running) -> None:
    before = -1.0
    while (now := gateway.cpu_seconds()) - before > IDLE_CPU_SECONDS:
        before = now
        time.sleep(1)


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


def _searches() -> Sequence[str]:
    """Return searches for rare and for frequent words, for two of them, and for misspelled ones."""
    texts, chance = Texts(1), random.Random(2)
    often, seldom = texts.words[:20], texts.words[2_000:]
    words = [
        text
        for _ in range(ASKED // 4)
        for text in (
            chance.choice(seldom),
            chance.choice(often),
            f"{chance.choice(often)}+{chance.choice(often)}",
            misspelled(chance.choice(seldom), chance),
        )
    ]
    return [f"/bots.json?q={text}" for text in words]


def _lists() -> Sequence[str]:
    """Return the addresses of twelve lists, in turn."""
    lists = [f"/{kind}.json?sort={sort}" for kind in ("bots", "servers") for sort in SORTS]
    lists += [
        f"/bots.json?category={quote(each)}"
        for each in sorted(filter(None, CATEGORIES))[: LISTS - len(lists)]
    ]
    return lists * (ASKED // len(lists))


def _p99_ms(asker: Asker, paths: Sequence[str]) -> float:
    """Ask for each path, one after the other. Nothing is kept: each has a query of its own."""
    found = []
    for number, path in enumerate(paths):
        started = time.perf_counter()
        asker.done("GET", f"{path}&n={number}")
        found.append((time.perf_counter() - started) * 1_000)
    return sorted(found)[len(found) * 99 // 100]


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
    ("the first page at the second start, s", lambda size: f"{size.again_page_seconds:.1f}"),
    ("every listing is found at the second start, s", lambda size: f"{size.again_seconds:.1f}"),
    ("until then, s of the processor", lambda size: f"{size.again_cpu_seconds:.1f}"),
    ("memory with pages and their index, MB", lambda size: f"{size.resident / 1e6:.0f}"),
    ("a whole snapshot, MB", lambda size: f"{size.whole.bytes / 1e6:.1f}"),
    ("a whole snapshot, s of the processor", lambda size: f"{size.whole.cpu_seconds:.2f}"),
    (f"a part after {VOTES:,} votes, MB", lambda size: f"{size.part.bytes / 1e6:.2f}"),
    ("a part, s of the processor", lambda size: f"{size.part.cpu_seconds:.2f}"),
    ("p99 of a search, ms", lambda size: f"{size.search_p99_ms:.1f}"),
    ("making the orders of twelve lists, s of the processor", lambda size: f"{size.orders_cpu_seconds:.1f}"),
    ("p99 of twelve lists in turn, ms", lambda size: f"{size.list_p99_ms:.1f}"),
    ("the longest stall of the loop, ms", lambda size: f"{size.longest_stall_ms:.1f}"),
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
