"""Uploads, and what they cost a vote check: `python -m bench.uploads [--rounds 5] [--seconds 2]`.

A gateway knows the clips of the tests, which have pictures and a sound. Each upload is a picture
of 640 x 480 pixels, and then a listing that names it, which waits for its review. Rounds go in turns:
vote checks alone, and while fifty clients upload at once, each again as soon as it is answered. The decoder
may run on every core, as on a machine of its own.
"""

import argparse
import io
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image

from bench.load import closed_loop, fixed_rate
from bench.servers import OPERATOR, running, votegate
from bench.state import voters
from bench.wire import seeded
from bench.world import write_requests
from tests.support.media_files import sound

CLIENTS = 50
VOTES = 100_000
CONNECTIONS = 64
CALM_RATE = 2_000
USER = 123456789012345678
BOUNDS = {
    "VOTEGATE_FILES__BYTES_PER_USER": str(1 << 40),
    "VOTEGATE_FILES__UPLOADS_PER_MINUTE": "1000000",
}


def pictures(count: int) -> list[bytes]:
    """Return photos of 640 x 480 pixels, each another one."""
    chance, found = random.Random(0), list[bytes]()
    for _ in range(count):
        small = Image.frombytes("RGB", (16, 12), chance.randbytes(16 * 12 * 3))
        file = io.BytesIO()
        small.resize((640, 480), Image.Resampling.BICUBIC).save(file, "PNG")
        found.append(file.getvalue())
    return found


class Uploader:
    """A client. `latencies` has the seconds from each upload to its listing in the queue of the review."""

    def __init__(self, heard: str) -> None:
        self._heard = heard
        self.latencies: list[float] = []
        self.refused = 0

    def _asked(self, connection: HTTPConnection, path: str, body: bytes) -> dict[str, Any]:
        connection.request("POST", path, body, {"Authorization": f"Bearer {OPERATOR}"})
        answer: dict[str, Any] = msgspec.json.decode(connection.getresponse().read())
        return answer

    def upload(self, connection: HTTPConnection, content: bytes, field: str, user: int = USER) -> str:
        path = f"/manage/files?user={user}&kind=clips&field={field}"
        return str(self._asked(connection, path, content).get("file", {}).get("digest", ""))

    def send(self, connection: HTTPConnection, content: bytes, user: int = USER) -> None:
        begun = time.perf_counter()
        digest = self.upload(connection, content, "pictures", user)
        if not digest:
            self.refused += 1
            return
        named = {"owner_id": str(user), "name": "Clip", "sound": self._heard, "pictures": [digest]}
        answer = self._asked(connection, "/manage/clips", msgspec.json.encode(named))
        assert answer["success"], answer
        self.latencies.append(time.perf_counter() - begun)


@contextmanager
def uploading(uploader: Uploader, port: int, made: list[bytes]) -> Iterator[None]:
    """Upload with so many clients, each for a user of its own, until the context ends."""
    enough = threading.Event()

    def act(number: int) -> None:
        with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            while not enough.is_set():
                uploader.send(connection, made[(number + len(uploader.latencies)) % len(made)], USER + number)

    with ThreadPoolExecutor(CLIENTS) as threads:
        acting = [threads.submit(act, number) for number in range(CLIENTS)]
        try:
            yield
        finally:
            enough.set()
        for each in acting:
            each.result()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.uploads")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    made, rows = pictures(200), list[list[float]]()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        requests = place / "requests"
        write_requests(requests, seeded(place / "data", voters(VOTES)))
        base = votegate(place / "data")
        command = (base.command[0], "-m", "tests.support.eighth_kind.launcher", "serve")
        server = replace(base, command=command, environment={**base.environment, **BOUNDS})
        with running(server, place / "log") as gateway:
            first = Uploader("")
            with closing(HTTPConnection("127.0.0.1", gateway.port, timeout=60)) as connection:
                heard = first.upload(connection, sound(), "sound")
                alone = Uploader(heard)
                for each in made[:100]:
                    alone.send(connection, each)
            busy = Uploader(heard)
            for _ in range(given.rounds):
                calm = fixed_rate(gateway.port, CALM_RATE, CONNECTIONS, given.seconds, requests)
                fast = closed_loop(gateway.port, CONNECTIONS, given.seconds, requests)
                with uploading(busy, gateway.port, made):
                    calm_beside = fixed_rate(gateway.port, CALM_RATE, CONNECTIONS, given.seconds, requests)
                with uploading(Uploader(heard), gateway.port, made):
                    fast_beside = closed_loop(gateway.port, CONNECTIONS, given.seconds, requests)
                rows.append(
                    [calm.p50, calm.p99, calm_beside.p50, calm_beside.p99, fast.rate, fast_beside.rate]
                )
    report(rows, alone, busy)


def report(rows: list[list[float]], alone: Uploader, busy: Uploader) -> None:
    medians = [statistics.median(column) for column in zip(*rows, strict=True)]
    print(f"| medians of {len(rows)} rounds | alone | beside {CLIENTS} uploads at once | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name, before, beside in (
        (f"p50 of a vote check at {CALM_RATE:,}/s, ms", medians[0], medians[2]),
        (f"p99 of a vote check at {CALM_RATE:,}/s, ms", medians[1], medians[3]),
        ("vote checks a second", medians[4], medians[5]),
    ):
        print(f"| {name} | {before:,.2f} | {beside:,.2f} | {beside / before:.2f} |")
    print()
    print("| from upload to the queue of the review, ms | p50 | p99 | number | refused |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, each in (("one client", alone), (f"{CLIENTS} clients at once", busy)):
        sorted_ms = sorted(1_000 * seconds for seconds in each.latencies)
        p50, p99 = sorted_ms[len(sorted_ms) // 2], sorted_ms[len(sorted_ms) * 99 // 100]
        print(f"| {name} | {p50:,.0f} | {p99:,.0f} | {len(sorted_ms)} | {each.refused} |")


if __name__ == "__main__":
    main()
