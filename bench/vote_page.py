"""Votes cast on the vote page beside votes cast through the management API, and vote checks beside both.

    python -m bench.vote_page [--votes 200] [--rounds 5] [--seconds 2]

One gateway has one core, and its journal waits for the disk. Rounds go in turns. All load comes from one
address, and as fast as it is answered. So the guards of the vote page are set to where they never act, and
the cooldown to a millisecond: then every request casts a vote. A busy machine moves rates more than it moves
the gateway's processor time by vote, so both are here.
"""

import argparse
import json
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from pathlib import Path

from bench.beside_pages import CONNECTIONS, FIRST_BOT, PEOPLE, VOTES, furnish, once, report, with_settings
from bench.load import closed_loop, paced
from bench.people_pages import FIRST, SITE, value_of
from bench.servers import OPERATOR, Running, running, votegate
from bench.state import in_process, voters
from bench.wire import seeded
from bench.world import write_requests

APPROVED = 99
"""The bots of bench.people_pages that are approved before the first one that is not."""
REQUESTS = 10_000
NEVER = 1_000_000_000
OPEN_TO_LOAD = {
    "votes.cooldown_seconds": 0.001,
    "votes.per_minute_of_user": NEVER,
    "votes.per_minute_of_address": NEVER,
    "votes.accounts_per_address": NEVER,
    "votes.burst_per_minute": NEVER,
}

Request = Callable[[int], bytes]
"""A function from a number to a request."""


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


def cast(server: Running, seconds: float, requests: Path, share: float) -> dict[str, float]:
    """Cast votes as fast as they are answered. `share` is the part of the requests that casts one."""
    before = server.cpu_seconds()
    measured = closed_loop(server.port, CONNECTIONS, seconds, requests)
    us = (server.cpu_seconds() - before) / (measured.answered * share) * 1e6
    return {
        "votes a second": measured.rate * share,
        "us of the processor a vote": us,
        "votes a second of the processor": 1e6 / us,
        "p50 of a request, ms": measured.p50,
        "p99 of a request, ms": measured.p99,
    }


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


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.vote_page")
    parser.add_argument("--votes", type=float, default=200, help="a second, beside vote checks")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    given = parser.parse_args()
    made: dict[str, tuple[Request, float]] = {
        "management API": (through_api, 1),
        "vote page": (pressed, 1),
        "vote page, and the page that follows": (pressed_and_seen, 0.5),
    }
    votes: dict[str, list[dict[str, float]]] = {name: [] for name in made}
    beside: dict[str, Request | None] = {
        "checks alone": None,
        f"{given.votes:g} votes/s through the API": through_api,
        f"{given.votes:g} votes/s on the page": pressed,
    }
    checks: dict[str, list[dict[str, float]]] = {name: [] for name in beside}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        asked = place / "checks"
        write_requests(asked, seeded(place / "data", voters(VOTES)))
        in_process(furnish, place / "data")
        for name, (make, _) in made.items():
            (place / name).write_bytes(b"".join(map(make, range(REQUESTS))))
        server = with_settings(votegate(place / "data"), "with pages", {**SITE, **OPEN_TO_LOAD})
        with running(server, place / "log") as gateway:
            with socket.create_connection(("127.0.0.1", gateway.port)) as connection:
                assert answered(connection, pressed_and_seen(1)) == 200  # it reads all templates
            for _ in range(given.rounds):
                for name, (_, share) in made.items():
                    votes[name].append(cast(gateway, given.seconds, place / name, share))
                for name, caster in beside.items():
                    if caster is None:
                        checks[name].append(once(gateway, given.seconds, asked))
                        continue
                    with casting(gateway.port, caster, given.votes):
                        checks[name].append(once(gateway, given.seconds, asked))
    report(votes)
    report(checks)


if __name__ == "__main__":
    main()
