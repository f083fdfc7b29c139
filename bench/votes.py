"""Votes cast through the management API and on the vote page, beside Express with Redis.

Then vote checks beside votes.

    python -m bench.votes [--beside 200] [--rounds 5] [--seconds 2] [--other FOLDER]

Each server has one core, with all of its processes. Redis, on that of Express, writes each command to disk
before it answers (`appendfsync always`), as our journal does. Express does the least that a site needs
(bench/peers/express/votes.js): no fleet, no log, no guards, no numbers by day, no webhook.

Rounds go in turns. All load comes from one address, and as fast as it is answered. So the guards of the vote
page are set to where they never act, and the cooldown to a millisecond: then every request casts a vote. Then
each server gets half of its own rate, and the latency counts from the moment at which a vote was due. A busy
machine moves rates more than it moves the processor time of a vote, so both are here.
"""

import argparse
import json
import math
import socket
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple

from bench.beside_pages import CONNECTIONS, FIRST_BOT, PEOPLE, VOTES, once, report, with_settings
from bench.load import SERVER_CORES, closed_loop, fixed_rate, on_cores, paced
from bench.people_pages import FIRST, SITE, value_of
from bench.servers import OPERATOR, PEERS, ROOT, Running, Server, running, votegate
from bench.state import voters
from bench.wire import seeded
from bench.world import write_requests
from tests.support.redis_server import RedisServer

APPROVED = 99
"""The bots of bench.people_pages that are approved before the first one that is not."""
REQUESTS = 10_000
NEVER = 1_000_000_000
COOLDOWN_MS = 1
OPEN_TO_LOAD = {
    "votes.cooldown_seconds": COOLDOWN_MS / 1_000,
    "votes.per_minute_of_user": NEVER,
    "votes.per_minute_of_address": NEVER,
    "votes.accounts_per_address": NEVER,
    "votes.burst_per_minute": NEVER,
}

FURNISH = """
import sys
from pathlib import Path
from bench.beside_pages import furnish
furnish(Path(sys.argv[1]))
"""

Request = Callable[[int], bytes]
"""A function from a number to a request."""


class Casting(NamedTuple):
    """A way to cast votes.

    Args:
        made: makes the requests.
        servers: the processes that take the votes; the first one answers.
        share: the part of the requests that casts a vote.
        is_small: true if every answer is small and whole at once, so that it can be had at a fixed rate.
    """

    made: Request
    servers: tuple[Running, ...]
    share: float = 1
    is_small: bool = True


def voter_and_bot(number: int) -> tuple[str, str]:
    """Return a user and the bot to vote for. No two votes that are under way at once are the same."""
    return str(FIRST + number % PEOPLE), f"bots/{FIRST_BOT + 1 + number % APPROVED}"


def through_api(number: int) -> bytes:
    user, bot = voter_and_bot(number)
    body = json.dumps({"user": user})
    return (
        f"POST /manage/{bot}/votes HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {OPERATOR}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()


def pressed(number: int) -> bytes:
    return _of_browser("POST", number, "Sec-Fetch-Site: same-origin\r\nContent-Length: 0\r\n")


def pressed_and_seen(number: int) -> bytes:
    """Return a press of the button, or for an odd number the page that follows it."""
    return _of_browser("GET", number // 2, "") if number % 2 else pressed(number // 2)


def _of_browser(method: str, number: int, further: str) -> bytes:
    user, bot = voter_and_bot(number)
    return (
        f"{method} /{bot}/vote HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n"
        f"Cookie: __Host-votegate-session={value_of(user)}\r\n{further}\r\n"
    ).encode()


def cast(casting: Casting, seconds: float, requests: Path) -> dict[str, float]:
    """Cast votes as fast as they are answered."""
    before = sum(each.cpu_seconds() for each in casting.servers)
    measured = closed_loop(casting.servers[0].port, CONNECTIONS, seconds, requests)
    used = sum(each.cpu_seconds() for each in casting.servers) - before
    us = used / (measured.answered * casting.share) * 1e6
    return {
        "votes a second": measured.rate * casting.share,
        "us of the processor a vote": us,
        "votes a second of the processor": 1e6 / us,
        "p50 of a request, ms": measured.p50,
        "p99 of a request, ms": measured.p99,
    }


def at_half(casting: Casting, rate: float, seconds: float, requests: Path) -> dict[str, float]:
    """Cast votes at half of a rate."""
    if not casting.is_small:
        return {f"{name} at half the rate, ms": math.nan for name in ("p50", "p99")}
    measured = fixed_rate(casting.servers[0].port, rate / 2, CONNECTIONS, seconds, requests)
    return {"p50 at half the rate, ms": measured.p50, "p99 at half the rate, ms": measured.p99}


def answered(connection: socket.socket, request: bytes) -> int:
    """Send a request, read the whole answer, and return its status."""
    connection.sendall(request)
    answer = HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


@contextmanager
def casting(port: int, made: Request, rate: float) -> Iterator[None]:
    """Cast votes at that rate, until the context ends."""

    def cast_one(number: int) -> None:
        status = answered(connection, made(number))
        assert status in {201, 303}, status

    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, paced(rate, cast_one):
        yield


@contextmanager
def with_redis(place: Path) -> Iterator[tuple[Running, Running]]:
    """Run Express with its Redis, on the core of servers."""
    with on_cores(SERVER_CORES):
        redis = RedisServer(place, "--appendonly", "yes", "--appendfsync", "always").start()
    try:
        express = Server(
            "Express 4, ioredis, Redis",
            ("node", str(PEERS / "express" / "votes.js"), redis.url, OPERATOR, str(COOLDOWN_MS)),
            {"NODE_ENV": "production"},
        )
        with running(express, place / "express.log") as peer:
            yield peer, Running(redis.port, redis.process_id)
    finally:
        redis.close()


@contextmanager
def with_gateway(data: Path, tree: Path) -> Iterator[Running]:
    """Run a gateway of a checkout. Its own program puts people and bots into the folder."""
    server = with_settings(votegate(data, tree), "with pages", {**SITE, **OPEN_TO_LOAD})
    subprocess.run([server.command[0], "-c", FURNISH, str(data)], cwd=tree, check=True)
    with running(server, data.with_suffix(".log")) as gateway:
        with socket.create_connection(("127.0.0.1", gateway.port)) as connection:
            assert answered(connection, pressed_and_seen(1)) == 200  # it reads all templates
        yield gateway


def measured_in_turns(ways: Mapping[str, Casting], rounds: int, seconds: float, place: Path) -> None:
    """Cast votes in each way, in turns, and report it."""
    for name, way in ways.items():
        (place / name).write_bytes(b"".join(map(way.made, range(REQUESTS))))
    found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(cast(way, seconds, place / name))
    for number in range(rounds):
        for name, way in ways.items():
            rate = statistics.median(each["votes a second"] for each in found[name])
            found[name][number] |= at_half(way, rate, seconds, place / name)
    report(found)


def measured_beside(gateway: Running, rate: float, rounds: int, seconds: float, asked: Path) -> None:
    """Ask for votes while some are cast, and report it."""
    beside: dict[str, Request | None] = {
        "checks alone": None,
        f"{rate:g} votes/s through the API": through_api,
        f"{rate:g} votes/s on the page": pressed,
    }
    checks: dict[str, list[dict[str, float]]] = {name: [] for name in beside}
    for _ in range(rounds):
        for name, made in beside.items():
            if made is None:
                checks[name].append(once(gateway, seconds, asked))
                continue
            with casting(gateway.port, made, rate):
                checks[name].append(once(gateway, seconds, asked))
    report(checks)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.votes")
    parser.add_argument("--beside", type=float, default=200, help="votes a second, beside vote checks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--other", type=Path, help="another checkout, measured in turns with this one")
    given = parser.parse_args()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        asked = place / "checks"
        write_requests(asked, seeded(place / "own", voters(VOTES)))
        ways = {"Express 4, ioredis, Redis": Casting(through_api, stack.enter_context(with_redis(place)))}
        trees = {"": ROOT} | ({" of the other": given.other.resolve()} if given.other else {})
        for whose, tree in trees.items():
            servers = (stack.enter_context(with_gateway(place / (whose.strip() or "own"), tree)),)
            ways[f"management API{whose}"] = Casting(through_api, servers)
            ways[f"vote page{whose}"] = Casting(pressed, servers)
        ours = ways["vote page"].servers
        ways["vote page, and the page that follows"] = Casting(pressed_and_seen, ours, 0.5, is_small=False)
        measured_in_turns(ways, given.rounds, given.seconds, place)
        measured_beside(ours[0], given.beside, given.rounds, given.seconds, asked)


if __name__ == "__main__":
    main()
