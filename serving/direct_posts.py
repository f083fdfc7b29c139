"""Posts without Tornado: votes that are cast, checked or pressed.

Invariant: the answer, the log, the counts and the checks are those of a Tornado handler.

A vote takes a tenth of a millisecond, and Tornado's handler takes as much again. So posts to some paths are
answered here, if nothing about them is unusual (`wire.parser.post_fields`): the path has no query and no
escapes, and the body is not too large. Tornado gets everything else, such as every other method of these
paths. The endpoint is the same, and so is what becomes of its errors.
"""

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from tornado.httputil import HTTPMessageDelegate

from handlers.reply import Reply
from handlers.request import Request
from handlers.route import Resource
from ratelimit.address import client_address
from serving.application import HTTPS_ALONE, ApplicationPolicy, bug, reply_of
from serving.direct import next_number, rendered, request_id
from serving.traffic import EndpointTraffic

log = logging.getLogger(__name__)

METHOD = "POST"
_PARAMETER = re.compile(r"\\\{\w+\\\}")
_ID = "([0-9A-Za-z_-]+)"
"""The ids of paths that are answered here: no character of them is written in two ways."""
LONGEST_LENGTH = 9
"""The most digits of a length that is read here."""


class Asking(Protocol):
    """A request whose turn it is, as `wire/` has it."""

    @property
    def peer(self) -> str: ...
    def answer(self, status: int, rest: bytes) -> None: ...
    def close(self) -> None: ...


class _Headers(Mapping[str, str]):
    """The fields of a request, found in any case. No name is among them twice."""

    __slots__ = ("_named",)

    def __init__(self, named: Mapping[bytes, bytes]) -> None:
        self._named = named

    def __getitem__(self, name: str) -> str:
        return self._named[name.lower().encode("latin-1")].decode("latin-1")

    def get(self, name: str, default: Any = None) -> Any:  # a third of the time of that of Mapping
        value = self._named.get(name.lower().encode("latin-1"))
        return value.decode("latin-1") if value is not None else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower().encode("latin-1") in self._named

    def __iter__(self) -> Iterator[str]:
        return (name.decode("latin-1").title() for name in self._named)

    def __len__(self) -> int:
        return len(self._named)


class _Route(NamedTuple):
    resource: Resource
    counts: EndpointTraffic


class DirectPosts:
    """The posts to some resources. Each has one parameter in its path."""

    def __init__(self, resources: Sequence[Resource], policy: ApplicationPolicy) -> None:
        self.policy = policy
        self.more = b"Strict-Transport-Security: %b\r\n" % HTTPS_ALONE.encode() if policy.is_https else b""
        self._routes = [_Route(each, policy.traffic.of(each.name(METHOD))) for each in resources]
        patterns = (f"({_PARAMETER.sub(_ID, re.escape(each.path))})" for each in resources)
        self._pattern = re.compile("|".join(patterns).encode())

    def take(
        self, target: bytes, named: Mapping[bytes, bytes], exchange: Asking
    ) -> HTTPMessageDelegate | None:
        """Return the delegate of a post; None if Tornado is to answer it."""
        found = self._pattern.fullmatch(target)
        if found is None or found.lastindex is None:
            return None
        length = named.get(b"content-length", b"0")
        if len(length) > LONGEST_LENGTH or int(length) > self.policy.max_body_bytes:
            return None
        # Each path is a group, and behind it comes that of its id.
        route, its_id = self._routes[found.lastindex // 2], found[found.lastindex + 1].decode()
        return _Post(self, route, its_id, target.decode(), _Headers(named), exchange)


class _Post(HTTPMessageDelegate):
    """One post: reads it, calls its endpoint, and sends the reply."""

    def __init__(
        self,
        posts: DirectPosts,
        route: _Route,
        its_id: str,
        path: str,
        headers: Mapping[str, str],
        exchange: Asking,
    ) -> None:
        self._posts = posts
        self._policy = policy = posts.policy
        self._route = route
        self._its_id = its_id
        self._path = path
        self._headers = headers
        self._exchange = exchange
        self._address = client_address(exchange.peer, headers.get("X-Forwarded-For"), policy.trusted_proxies)
        self._number = next_number()
        self._began_ns = policy.clock.monotonic_ns()
        self._pieces: list[bytes] = []
        self._is_left = False  # the client is gone
        self._task: asyncio.Task[None] | None = None
        policy.running.begin(self)  # before anything can end the request

    def data_received(self, chunk: bytes) -> None:
        self._pieces.append(chunk)

    def finish(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    def on_connection_close(self) -> None:
        self._policy.running.end(self)
        self._is_left = True
        self._policy.share.give_up(self)

    async def _run(self) -> None:
        try:
            await self._policy.share.steps(self, self._answer())
        except asyncio.CancelledError:  # the program ends
            self._exchange.close()
            raise
        finally:
            self._policy.running.end(self)

    async def _answer(self) -> None:
        if self._is_left:  # before its turn came
            return
        its_id = request_id(self._number)
        try:
            self._send(await reply_of(self._route.resource, self._request_value(), its_id))
        except Exception:
            log.exception("a request failed: %s %s", METHOD, self._path)
            self._send(bug(its_id))

    def _request_value(self) -> Request:
        return Request(
            method=METHOD,
            path=self._path,
            params=(self._its_id,),
            query={},
            headers=self._headers,
            address=self._address,
            body=b"".join(self._pieces),
            max_body_bytes=self._policy.max_body_bytes,
        )

    def _send(self, reply: Reply) -> None:
        """Count the reply, log it, and send it. Sent last: the next request of the connection may follow."""
        policy, number = self._policy, self._number
        rest = rendered(reply, number, self._posts.more)
        taken_ns = policy.clock.monotonic_ns() - self._began_ns
        self._route.counts.add(reply.status, taken_ns)
        if policy.answered is not None:
            policy.answered(reply.status, METHOD, self._path, self._address, taken_ns, number)
        self._exchange.answer(reply.status, rest)
