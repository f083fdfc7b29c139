"""The data of the benchmarks: the bots, their votes, and callers that every server knows.

Votegate gets them through its own API, on a data folder that holds the other votes already; the peers get
them as a file.
"""

import http.client
import json
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CALLERS = 1_000
FIRST_USER = 3 * 10**17
"""The users of callers are below it. The other voters of peers are behind it, those of Votegate as in
bench/state_disk.py."""
LIMIT = 1_000_000_000
WINDOW_SECONDS = 300
VOTED_MS = 86_400_000
RATELIMIT = ("limit", "remaining", "reset", "policy")


class Caller(NamedTuple):
    """A bot that asks about one of its voters."""

    bot: str
    key: str
    user: str

    @property
    def request(self) -> bytes:
        return (
            f"GET /bots/{self.bot}/voters/{self.user} HTTP/1.1\r\n"
            f"Host: localhost\r\nAuthorization: {self.key}\r\n\r\n"
        ).encode()


def post(connection: http.client.HTTPConnection, operator: str, path: str, body: Mapping[str, object]) -> Any:
    """Make a management call that must succeed, and return the body."""
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {operator}"})
    answer = connection.getresponse()
    content = json.loads(answer.read())
    if answer.status not in {200, 201}:
        raise AssertionError(f"{path}: {content}")
    return content


def list_bots(port: int, operator: str, refs: Sequence[str]) -> None:
    """List bots and approve them."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for ref in refs:
        form = {
            "id": ref.partition("/")[2],
            "owner_id": str(FIRST_USER),
            "name": "A bot of the benchmark",
            "short_description": "A bot that only exists to be asked about",
            "description": "A bot that only exists to be asked about, as often as it can be.",
            "categories": ["Utility"],
        }
        post(connection, operator, "/manage/bots", form)
        post(connection, operator, f"/manage/{ref}/approve", {})
    connection.close()


def add_callers(port: int, operator: str, voters: Sequence[tuple[str, int]]) -> list[Caller]:
    """Give bots all over the listings a key and a voter, in an order that no cache predicts."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    callers = []
    for number, (ref, _) in enumerate(voters[:: max(len(voters) // CALLERS, 1)][:CALLERS]):
        user = str(FIRST_USER - number - 1)
        key = post(connection, operator, f"/manage/{ref}/keys", {"name": "bench"})["key"]
        post(connection, operator, f"/manage/{ref}/votes", {"user": user})
        callers.append(Caller(ref.partition("/")[2], key, user))
    connection.close()
    random.Random(1).shuffle(callers)
    return callers


def check_work(port: int, caller: Caller) -> None:
    """Raise AssertionError if a server does less than it is measured for."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for key, status in ((caller.key, 200), (caller.key[::-1], 401)):
        path = f"/bots/{caller.bot}/voters/{caller.user}"
        connection.request("GET", path, headers={"Authorization": key})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        knows = status != 200 or (content["voted"], content["vote"]) == (True, 1)
        counts = status != 200 or all(answer.getheader(f"ratelimit-{name}") for name in RATELIMIT)
        if answer.status != status or not knows or not counts:
            raise AssertionError(f"{answer.status} {answer.getheaders()} {content}")
    connection.close()


def write_requests(path: Path, callers: Sequence[Caller]) -> None:
    path.write_bytes(b"".join(caller.request for caller in callers))


def write_world(
    path: Path, secret: str, voters: Sequence[tuple[str, int]], callers: Sequence[Caller]
) -> None:
    """Write the file that bench.peers.work and bench/peers/express read."""
    world = {
        "secret": secret,
        "limit": LIMIT,
        "window_seconds": WINDOW_SECONDS,
        "voted_ms": VOTED_MS,
        "bots": [(ref.partition("/")[2], count) for ref, count in voters],
        "first_user": str(FIRST_USER),
        "at_ms": int(time.time() * 1_000),
        "callers": callers,
    }
    path.write_text(json.dumps(world))
