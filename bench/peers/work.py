"""The work of every peer in Python for a vote check. Peers differ in their framework alone.

A peer is a program: it is given a file that describes its bots, their votes and who asks for them, and prints
where it serves. It needs its framework and the standard library, because it may run in `.venv/peers`.
"""

import gc
import hashlib
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

IDLE_SECONDS = 75
BACKLOG = 4_096


class Checked(NamedTuple):
    status: int
    content: dict[str, object]
    headers: dict[str, str]


class Work:
    """Keys, a fixed window per bot, and votes in a dict of dicts."""

    def __init__(self, world: dict[str, Any]) -> None:
        self._secret = world["secret"].encode()
        self._limit: int = world["limit"]
        self._window_seconds: int = world["window_seconds"]
        self._policy = f"{self._limit};w={self._window_seconds}"
        self._voted_ms: int = world["voted_ms"]
        first, at_ms = int(world["first_user"]), world["at_ms"]
        self._votes: dict[str, dict[str, tuple[int, int]]] = {
            bot: {str(first + i): (1, at_ms) for i in range(count)} for bot, count in world["bots"]
        }
        self._bot_of: dict[str, str] = {}
        for bot, key, user in world["callers"]:
            self._bot_of[self._digest(key)] = bot
            self._votes[bot][user] = (1, at_ms)
        self._windows: dict[str, tuple[float, int]] = {}

    def check(self, bot: str, user: str, key: str | None) -> Checked:
        if key is None or self._bot_of.get(self._digest(key)) != bot:
            return Checked(401, {"success": False, "error": "Invalid API key.", "status": 401}, {})
        now = time.time()
        allowed, headers = self._take(bot, now)
        if not allowed:
            return Checked(429, {"success": False, "error": "Too many requests.", "status": 429}, headers)
        vote, last_ms = self._votes[bot].get(user, (0, None))
        voted = last_ms is not None and now * 1_000 - last_ms < self._voted_ms
        return Checked(200, {"voted": voted, "vote": vote, "lastVote": last_ms}, headers)

    def _digest(self, key: str) -> str:
        return hashlib.blake2b(key.encode(), key=self._secret, digest_size=32).hexdigest()

    def _take(self, bot: str, now: float) -> tuple[bool, dict[str, str]]:
        started, used = self._windows.get(bot, (now, 0))
        if now - started >= self._window_seconds:
            started, used = now, 0
        self._windows[bot] = (started, used + 1)
        return used < self._limit, {
            "ratelimit-limit": str(self._limit),
            "ratelimit-remaining": str(max(self._limit - used - 1, 0)),
            "ratelimit-reset": str(int(started + self._window_seconds - now) + 1),
            "ratelimit-policy": self._policy,
        }


def given_work() -> Work:
    """Return the work that the file of the command line describes."""
    work = Work(json.loads(Path(sys.argv[1]).read_text()))
    gc.collect()
    gc.freeze()  # a collection that walks a million votes again and again would be an unfair peer
    return work


def listening() -> socket.socket:
    """Open a socket, and say its address on standard output."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=BACKLOG)
    listener.setblocking(False)
    print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    return listener
