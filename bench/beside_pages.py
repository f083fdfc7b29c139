"""The cost of pages for people to a vote check: rounds without them, with them, and while they are served.

    python -m bench.beside_pages [--pages 50] [--rounds 7] [--seconds 2]

Two gateways run on equal data folders, one of them without `web.public_url`. Rounds go in turns. A gateway's
processor time by check counts, because a busy machine moves it less than a rate; while pages are served, the
time of the pages is in it. A closed loop leaves nothing for the pages but what it loses itself. The latencies
are those of a fixed rate, at which the processor has time for both.
"""

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import uvloop

from bench.fed_gateways import commit, gateway_here
from bench.load import closed_loop, fixed_rate, paced
from bench.people_pages import OWNER, SITE, listings, people, value_of
from bench.servers import DIGEST_SECRET, Running, Server, running, votegate
from bench.state import in_process, voters
from bench.wire import seeded
from bench.world import write_requests
from settings.model import load_settings

CONNECTIONS = 64
VOTES = 100_000
PEOPLE = 1_000
FIRST_BOT = 3 * 10**17
BOT = f"/bots/{FIRST_BOT + 2}/manage"
PAGES = ("/", "/me", BOT, f"{BOT}/profile", f"{BOT}/keys")
CALM_RATE = 2_000
"""Vote checks a second at the fixed rate."""


def furnish(folder: Path) -> None:
    """Add people, their sessions and their bots to a data folder."""

    async def main() -> None:
        flags = {"data_dir": folder, "server.port": 0, "keys.digest_secret": DIGEST_SECRET}
        async with gateway_here(load_settings(None, {}, flags)) as gateway:
            now_ms = gateway.clock.now_ms()
            await commit(gateway, listings(PEOPLE, PEOPLE, now_ms, FIRST_BOT))
            await commit(gateway, people(PEOPLE, gateway.digester.digest, now_ms))

    uvloop.run(main())


def with_settings(server: Server, name: str, settings: Mapping[str, object]) -> Server:
    """Return the server under another name, with further settings, such as `SITE` for pages for people."""
    further = {f"VOTEGATE_{key.replace('.', '__').upper()}": str(value) for key, value in settings.items()}
    return replace(server, name=name, environment={**server.environment, **further})


@contextmanager
def visited(port: int, pages: float) -> Iterator[None]:
    """Ask for so many pages a second, until the context ends."""
    headers = {"Cookie": f"__Host-votegate-session={value_of(OWNER)}", "Accept": "text/html"}

    def visit(number: int) -> None:
        page = PAGES[number % len(PAGES)]
        connection.request("GET", page, headers=headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, (page, answer.status)

    with closing(HTTPConnection("127.0.0.1", port, timeout=30)) as connection, paced(pages, visit):
        yield


def once(server: Running, seconds: float, requests: Path) -> dict[str, float]:
    """Ask for votes, as fast as they are answered and at the fixed rate."""
    before = server.cpu_seconds()
    busy = closed_loop(server.port, CONNECTIONS, seconds, requests)
    us = (server.cpu_seconds() - before) / busy.answered * 1e6
    calm = fixed_rate(server.port, CALM_RATE, CONNECTIONS, seconds, requests)
    return {
        "us of the processor a check": us,
        "checks a second": busy.rate,
        f"p50 at {CALM_RATE:,}/s, ms": calm.p50,
        f"p99 at {CALM_RATE:,}/s, ms": calm.p99,
    }


def report(rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> None:
    """Print the medians of the rounds, and their ratios to those of the first column."""
    columns = list(rounds.values())
    names = [*rounds, *(f"ratio: {name}" for name in [*rounds][1:])]
    print(f"\n| medians of {len(columns[0])} rounds | {' | '.join(names)} |")
    print(f"| --- | {' | '.join('---:' for _ in names)} |")
    for what in columns[0][0]:
        medians = [statistics.median(each[what] for each in column) for column in columns]
        ratios = [f"{each / medians[0]:.2f}" for each in medians[1:]]
        shown = [f"{each:,.{0 if each >= 100 else 2 if each >= 10 else 3}f}" for each in medians]
        print(f"| {what} | {' | '.join((*shown, *ratios))} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.beside_pages")
    parser.add_argument("--pages", type=float, default=50, help="a second")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    asked = f"{given.pages:g} pages/s"
    rounds: dict[str, list[dict[str, float]]] = {"without pages": [], "nobody asks": [], asked: []}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        requests = place / "requests"
        write_requests(requests, seeded(place / "plain", voters(VOTES)))
        in_process(furnish, place / "plain")
        shutil.copytree(place / "plain", place / "site")
        with (
            running(votegate(place / "plain"), place / "plain.log") as plain,
            running(with_settings(votegate(place / "site"), "with pages", SITE), place / "site.log") as site,
        ):
            for _ in range(given.rounds):
                rounds["without pages"].append(once(plain, given.seconds, requests))
                rounds["nobody asks"].append(once(site, given.seconds, requests))
                with visited(site.port, given.pages):
                    rounds[asked].append(once(site, given.seconds, requests))
    report(rounds)


if __name__ == "__main__":
    main()
