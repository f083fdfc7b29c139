"""A gateway for the tests of a bot: it keeps what is pushed, and knows the votes that a test gives it."""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

PATH = re.compile("/bots/(?P<bot>[^/]+)/(?:(?P<stats>stats)|voters/(?P<user>[^/]+))/?")
DAY_MS = 24 * 60 * 60 * 1_000
LIMITS = {
    "server_count": (10_000_000, "Server count must be between 0 and 10 Million."),
    "command_count": (1_000, "Commands count must be between 0 and 1,000."),
}
"""The greatest value of each count, and the refusal of any other value."""


class Push(NamedTuple):
    """The counts of a push. None: not pushed."""

    server_count: int | None
    command_count: int | None


class _Answer(NamedTuple):
    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str]


class FakeGateway:
    """Serves the two endpoints for one bot, on a port of 127.0.0.1. It has no rate limits.

    with FakeGateway() as gateway:
        client = Client(gateway.key, gateway.bot_id, gateway.url)
    """

    def __init__(
        self, *, key: str = "vg_key_of_the_fake_gateway", bot_id: str = "111111111111111111"
    ) -> None:
        self.key = key
        self.bot_id = bot_id
        self.pushes: list[Push] = []
        """The accepted pushes, oldest first."""
        self._votes: dict[str, list[int]] = {}
        self._failures: deque[_Answer] = deque()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "FakeGateway":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The base address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def vote(self, user_id: str, *, hours_ago: float = 0) -> None:
        """Let a user vote for the bot."""
        self._votes.setdefault(user_id, []).append(int((time.time() - hours_ago * 3_600) * 1_000))

    def fail_next(self, status: int, text: str = "The test asked for it.", **headers: str) -> None:
        """Answer the next request with an error: `fail_next(429, retry_after="30")`."""
        body = {"success": False, "error": text, "status": status}
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        self._failures.append(_Answer(status, body, names))

    def _answer(self, method: str, path: str, key: str | None, body: bytes) -> _Answer:
        """Return the next failure that a test has asked for, or else the answer to the request."""
        if self._failures:
            return self._failures.popleft()
        found = PATH.fullmatch(path)
        if found is None:
            return _refusal(404, "Not found.", code="no_such_path")
        allowed = "PATCH" if found["stats"] else "GET"
        if method != allowed:
            return _refusal(405, f"Method not allowed. Use {allowed}.")
        if key is None:
            return _refusal(401, "Authorization header is required.")
        if found["bot"] != self.bot_id:
            return _refusal(404, "Bot not found.")
        if key != self.key:
            return _refusal(401, "Invalid API key.")
        return self._pushed(body) if found["stats"] else self._status_of(found["user"])

    def _pushed(self, body: bytes) -> _Answer:
        try:
            counts = json.loads(body)
        except ValueError:
            return _refusal(400, "The body must be valid JSON in UTF-8.")
        if not isinstance(counts, dict):
            return _refusal(400, "The body must be a JSON object.")
        if not any(name in counts for name in LIMITS):
            return _refusal(400, "One of the following fields is required: command_count, server_count.")
        for name, (most, text) in LIMITS.items():
            if name in counts and not (type(counts[name]) is int and 0 <= counts[name] <= most):
                return _refusal(400, text)
        self.pushes.append(Push(counts.get("server_count"), counts.get("command_count")))
        return _Answer(200, {"success": True}, {})

    def _status_of(self, user_id: str) -> _Answer:
        if not re.fullmatch("[0-9]{17,20}", user_id):
            return _refusal(400, "The user id must be a snowflake: 17 to 20 digits.")
        votes = self._votes.get(user_id, [])
        last = max(votes, default=None)
        voted = last is not None and last > time.time() * 1_000 - DAY_MS
        return _Answer(200, {"voted": voted, "vote": len(votes), "lastVote": last}, {})


def _refusal(status: int, text: str, **more: str) -> _Answer:
    return _Answer(status, {"success": False, "error": text, "status": status, **more}, {})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, gateway: FakeGateway, *args: Any) -> None:
        self._gateway = gateway
        super().__init__(*args)

    def do_GET(self) -> None:
        self._answer()

    def do_PATCH(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        answer = self._gateway._answer(self.command, self.path, self.headers.get("authorization"), body)
        content = json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
