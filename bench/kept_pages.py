"""`make bench-pages`: pages for strangers a second, and vote checks while such pages are served.

    python -m bench.kept_pages [--rounds 5] [--seconds 2]

The same three pages (the first one, a list, a listing) come from four servers in turns: a gateway that keeps
them, one that keeps none, nginx with the packed pages as files, and a server whose answer is always the same.
Heads are those of a browser: three that repeat, or each with a number of its own. A server has one core, and
the load another. The rates are medians of the rounds; beside them is the server's processor time.
"""

import argparse
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

import uvloop

from bench.beside_pages import FIRST_BOT, with_settings
from bench.charts import Report
from bench.fed_gateways import commit, gateway_here
from bench.load import SERVER_CORES, closed_loop, on_cores, paced
from bench.people_pages import SITE, listings, votes
from bench.servers import DIGEST_SECRET, FLOOR, Running, Server, running, votegate
from bench.state import in_process, voters
from bench.tools import require_programs
from bench.wire import seeded
from bench.world import write_requests
from settings.model import load_settings

LISTINGS, VOTES = 1_000, 100_000
CONNECTIONS = 64
ANY = 20_000
"""The requests with a head of their own: more than a gateway knows."""
BESIDE = 500
"""The pages a second beside vote checks."""
PATHS = ("/", "/bots", f"/bots/{FIRST_BOT + 2}")
HEAD = (
    "GET {path} HTTP/1.1\r\nHost: bots.example\r\nConnection: keep-alive\r\n"
    'sec-ch-ua: "Chromium";v="141", "Not?A_Brand";v="8"\r\nsec-ch-ua-mobile: ?0\r\n'
    'sec-ch-ua-platform: "Linux"\r\nUpgrade-Insecure-Requests: 1\r\n'
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 "
    "Safari/537.36\r\nAccept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n"
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1\r\n"
    "Sec-Fetch-Dest: document\r\nReferer: https://bots.example/bots\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\n"
    "Cookie: _ga=GA1.1.{number}.1760000000\r\n\r\n"
)
NGINX = """
daemon off; worker_processes 1; pid {place}/nginx.pid; error_log {place}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 100000000; open_file_cache max=100;
  types {{ }} default_type "text/html; charset=utf-8";
  client_body_temp_path {place}; proxy_temp_path {place}; fastcgi_temp_path {place};
  uwsgi_temp_path {place}; scgi_temp_path {place};
  server {{
    listen 127.0.0.1:{port}; root {place}/files; add_header Content-Encoding gzip;
    {rules}
  }}
}}
"""


def request(path: str, number: int) -> bytes:
    return HEAD.format(path=path, number=number).encode()


def furnish(folder: Path) -> None:
    """Add listings with votes to a data folder."""

    async def main() -> None:
        flags = {"data_dir": folder, "server.port": 0, "keys.digest_secret": DIGEST_SECRET}
        async with gateway_here(load_settings(None, {}, flags)) as gateway:
            now_ms = gateway.clock.now_ms()
            await commit(gateway, listings(LISTINGS, LISTINGS, now_ms, FIRST_BOT))
            await commit(gateway, votes(LISTINGS, now_ms, FIRST_BOT))

    uvloop.run(main())


def asked(connection: socket.socket, path: str, number: int = 0) -> bytes:
    """Ask for a page, and return the whole answer."""
    connection.sendall(request(path, number))
    received = b""
    while True:
        received += connection.recv(1 << 20)
        head, end, body = received.partition(b"\r\n\r\n")
        if end:
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            if len(body) >= int(length):
                assert head.startswith(b"HTTP/1.1 200"), head
                return received


def connected(port: int) -> "closing[socket.socket]":
    return closing(socket.create_connection(("127.0.0.1", port), timeout=30))


@contextmanager
def nginx(place: Path, pages: Mapping[str, bytes]) -> Iterator[Running]:
    """Serve the bodies of answers as files."""
    (place / "files").mkdir()
    for number, answer in enumerate(pages.values()):
        (place / "files" / str(number)).write_bytes(answer.partition(b"\r\n\r\n")[2])
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    rules = " ".join(
        f"location = {path} {{ try_files /{number} =404; }}" for number, path in enumerate(pages)
    )
    (place / "nginx.conf").write_text(NGINX.format(place=place, port=port, rules=rules))
    with on_cores(SERVER_CORES):
        master = subprocess.Popen(["nginx", "-p", str(place), "-c", str(place / "nginx.conf")])
    try:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        children = Path(f"/proc/{master.pid}/task/{master.pid}/children").read_text().split()
        yield Running(port, int(children[0]))
    finally:
        master.send_signal(signal.SIGQUIT)
        master.wait()


def measure_pages(
    report: Report, servers: Mapping[str, Running], heads: Mapping[str, Path], rounds: int, seconds: float
) -> None:
    """Ask each server in turns."""
    rates: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number in range(rounds):
        print(f"pages, round {number + 1} of {rounds}", file=sys.stderr)
        for kind, path in heads.items():
            for name, server in servers.items():
                before = server.cpu_seconds()
                found = closed_loop(server.port, CONNECTIONS, seconds, path)
                us = (server.cpu_seconds() - before) / found.answered * 1e6
                rates.setdefault((kind, name), []).append((found.rate, us))
    rows = [
        (f"{name}; {kind}", *(f"{statistics.median(column):.1f}" for column in zip(*found, strict=True)))
        for (kind, name), found in rates.items()
    ]
    report.table("pages", "pages for strangers", ["a second", "us of the processor"], rows)


def measure_beside(report: Report, gateway: Running, checks: Path, rounds: int, seconds: float) -> None:
    """Ask for votes without pages, and beside pages with known heads and with any."""
    numbers: Mapping[str, Callable[[int], int] | None] = {
        "no pages": None,
        f"{BESIDE} pages/s, known heads": lambda _: 0,
        f"{BESIDE} pages/s, any heads": lambda number: number,
    }
    rates: dict[str, list[float]] = {name: [] for name in numbers}
    for number in range(rounds):
        print(f"beside pages, round {number + 1} of {rounds}", file=sys.stderr)
        for name, head in numbers.items():
            with connected(gateway.port) as connection:

                def visit(
                    at: int, head: Callable[[int], int] | None = head, own: socket.socket = connection
                ) -> None:
                    if head is not None:
                        asked(own, PATHS[at % len(PATHS)], head(at))

                with paced(BESIDE, visit) if head is not None else nullcontext():
                    rates[name].append(closed_loop(gateway.port, CONNECTIONS, seconds, checks).rate)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    first = medians["no pages"]
    rows = [(name, f"{rate:.0f}", f"{rate / first:.2f}") for name, rate in medians.items()]
    report.table("beside", "vote checks", ["a second", "ratio"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.kept_pages")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    require_programs()
    report = Report("pages", "Pages for strangers", f"make bench-pages SECONDS={given.seconds:g}")
    report.text(f"Load of the machine at the start: {os.getloadavg()[0]:.1f}.")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        place = Path(name)
        checks, known, every = place / "checks", place / "known", place / "every"
        write_requests(checks, seeded(place / "data", voters(VOTES)))
        in_process(furnish, place / "data")
        shutil.copytree(place / "data", place / "slow")
        known.write_bytes(b"".join(request(path, 0) for path in PATHS))
        every.write_bytes(b"".join(request(PATHS[number % 3], number) for number in range(1, ANY)))

        def started(server: Server) -> Running:
            return stack.enter_context(running(server, place / f"{len(list(place.iterdir()))}.log"))

        kept = started(with_settings(votegate(place / "data"), "kept", SITE))
        slow = started(with_settings(votegate(place / "slow"), "not kept", {**SITE, "server.kept_bytes": 0}))
        with connected(kept.port) as connection:
            time.sleep(2)  # the start has ended
            pages = {path: asked(connection, path) for path in PATHS}
        with connected(slow.port) as connection:
            asked(connection, PATHS[0])
        (place / "answer").write_bytes(pages[PATHS[0]])
        command = (sys.executable, "-m", "bench.peers.floor", str(place / "answer"))
        servers = {
            "Votegate, kept": kept,
            FLOOR: started(Server(FLOOR, command)),
            "Votegate, made for each request": slow,
        }
        if shutil.which("nginx"):
            servers["nginx, files"] = stack.enter_context(nginx(place, pages))
        measure_pages(
            report, servers, {"known heads": known, "any heads": every}, given.rounds, given.seconds
        )
        measure_beside(report, kept, checks, given.rounds, given.seconds)
    report.text(f"Load of the machine at the end: {os.getloadavg()[0]:.1f}.")
    report.write()


if __name__ == "__main__":
    main()
