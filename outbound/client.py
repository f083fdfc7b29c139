"""The HTTP client. Invariant: an exchange ends within its time, in an `HttpResult`. No peer, resolver or
proxy can delay other exchanges.

One deadline covers the whole exchange, from the look-up of the name to the last byte of the body. `dial`
opens connections where the guard allows it, and `http1` speaks HTTP over them. The pool keeps idle
connections, in a bounded number. It closes a connection that has been idle for too long, because its peer may
be closing it at that moment.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple

from core.clock import NS_PER_SECOND, Clock, SystemClock
from grammars.http_urls import Target, UrlRefused
from grammars.service_urls import TunnelProxy
from outbound.dial import Dialler, Guard
from outbound.http1 import ClientConnection, StaleConnection
from outbound.resolver import Resolver
from outbound.result import READ_BYTES, AtFault, ExchangeFailed, ExchangeProgress, HttpResult
from outbound.slots import Slot

IDLE_SECONDS = 4.0
"""Shorter than the 5 s after which Node closes an idle connection, so that a request seldom meets the
close."""
IDLE_PER_ORIGIN = 64
IDLE_TOTAL = 512

Origin = tuple[str, str, int]
"""Scheme, host and port. The address alone is not enough, because TLS verifies the name."""


class ConnectionPool:
    """Idle connections, in the order in which they became idle. `now_ns` is monotonic time."""

    def __init__(self) -> None:
        self._idle_ns = round(IDLE_SECONDS * NS_PER_SECOND)
        self._idle: dict[ClientConnection, tuple[Origin, int]] = {}  # with the time at which it became idle
        self._of_origin: dict[Origin, list[ClientConnection]] = {}

    def take(self, origin: Origin, now_ns: int) -> ClientConnection | None:
        """Return the connection to the origin that was used last, or None if it has been idle for too
        long."""
        connections = self._of_origin.get(origin)
        if not connections:
            return None
        connection = connections[-1]
        since_ns = self._idle[connection][1]
        self._forget(connection)
        if now_ns - since_ns < self._idle_ns:
            return connection
        connection.abort()
        return None

    def give(self, origin: Origin, connection: ClientConnection, now_ns: int) -> None:
        """Keep an idle connection. If there are too many, close the oldest one."""
        connections = self._of_origin.get(origin, [])
        if len(connections) >= IDLE_PER_ORIGIN:
            self._drop(connections[0])
        elif len(self._idle) >= IDLE_TOTAL:
            self._drop(next(iter(self._idle)))
        self._of_origin.setdefault(origin, []).append(connection)
        self._idle[connection] = origin, now_ns
        connection.on_lost = self._forget

    def sweep(self, now_ns: int) -> float | None:
        """Close the connections that have been idle for too long.

        Returns the seconds until the next sweep is due, or None if no connection is idle.
        """
        while self._idle:
            connection, (_, since_ns) = next(iter(self._idle.items()))
            if now_ns - since_ns < self._idle_ns:
                return (since_ns + self._idle_ns - now_ns) / NS_PER_SECOND
            self._drop(connection)
        return None

    def close(self) -> None:
        """Close all connections."""
        while self._idle:
            self._drop(next(iter(self._idle)))

    def _drop(self, connection: ClientConnection) -> None:
        self._forget(connection)
        connection.abort()

    def _forget(self, connection: ClientConnection) -> None:
        origin, _ = self._idle.pop(connection)
        connections = self._of_origin[origin]
        connections.remove(connection)
        if not connections:
            del self._of_origin[origin]


# -- the client ----------------------------------------------------------------------------------------------

URLS_KEPT = 4_096

_Where = tuple[str, str, str | None]
"""A method, a URL, and the type of the body; None without a body."""
_CLIENT_CLOSED = HttpResult(None, "internal", AtFault.UNKNOWN)
"""The result of an exchange that `close` has ended."""


class _Prepared(NamedTuple):
    """The part of a request that depends on its method, URL and type. `head` ends before the caller's
    headers."""

    target: Target
    origin: Origin
    head: bytes


class HttpClient:
    """Sends requests over one pool of connections. `open_client` makes one."""

    def __init__(
        self,
        guard: Guard,
        dialler: Dialler,
        clock: Clock,
        timeout_seconds: float,
        user_agent: str,
    ) -> None:
        self._check_url = guard.check_url
        # Without the cache, half of the time of an exchange. The guard's answer for a URL never changes.
        self._prepare = lru_cache(URLS_KEPT)(self._prepared)
        self._dialler = dialler
        self._pool = ConnectionPool()
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._fixed_headers = (
            f"User-Agent: {user_agent}",
            "Accept: */*",
            "Accept-Encoding: identity",
            "Connection: keep-alive",
        )
        self._loop = asyncio.get_running_loop()
        self._sweeping: asyncio.TimerHandle | None = None
        self._deadlines: set[asyncio.Timeout] = set()
        self._all_ended = asyncio.Event()
        self._closed = False

    def get(self, url: str, headers: Mapping[str, str]) -> Coroutine[Any, Any, HttpResult]:
        """Ask for a resource."""
        return self._request(("GET", url, None), headers, b"", None)

    def post(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        slot: Slot | None = None,
        content_type: str = "application/json",
    ) -> Coroutine[Any, Any, HttpResult]:
        """Send a body, see `_request`."""
        return self._request(("POST", url, content_type), headers, body, slot)

    async def _request(
        self, where: _Where, headers: Mapping[str, str], body: bytes, slot: Slot | None
    ) -> HttpResult:
        """Send a request. Every failure outside of this program becomes a result.

        The exchange frees `slot` while it resolves a name. The time that it then waits to get the slot back
        does not count against its deadline.
        """
        if self._closed:
            return _CLIENT_CLOSED
        deadline = asyncio.timeout(self._timeout_seconds)
        progress = ExchangeProgress()
        if slot is not None:
            progress.looking_up = partial(self._looking_up, slot, deadline)
        self._deadlines.add(deadline)
        try:
            async with deadline:
                return await self._send(where, headers, body, progress)
        except TimeoutError:
            return _CLIENT_CLOSED if self._closed else HttpResult(None, *progress.hung)
        except ExchangeFailed as failed:
            return HttpResult(None, failed.error, failed.fault)
        except UrlRefused:
            return HttpResult(None, "blocked")
        finally:
            self._end(deadline)

    async def close(self) -> None:
        """End the running exchanges, and return once every socket is closed."""
        self._closed = True
        for deadline in self._deadlines:
            if not deadline.expired():
                deadline.reschedule(self._loop.time())
        if self._deadlines:
            await self._all_ended.wait()
        if self._sweeping is not None:
            self._sweeping.cancel()
        self._pool.close()
        await self._dialler.close()

    @asynccontextmanager
    async def _looking_up(self, slot: Slot, deadline: asyncio.Timeout) -> AsyncIterator[None]:
        slot.look_up()
        try:
            yield
        finally:
            slot.found()
        if not slot.held:
            await self._come_back(slot, deadline)

    async def _come_back(self, slot: Slot, deadline: asyncio.Timeout) -> None:
        """Wait until the slot is held again. The wait moves the deadline."""
        left_seconds = (deadline.when() or 0) - self._loop.time()
        since_ns = self._clock.monotonic_ns()
        arrival: asyncio.Future[None] = self._loop.create_future()
        deadline.reschedule(None)

        def arrived() -> None:
            if not arrival.done():
                arrival.set_result(None)

        try:
            slot.come_back(arrived)
            await arrival
        finally:
            slot.stay_away()
            slot.waited_ns = self._clock.monotonic_ns() - since_ns
        if deadline.when() is None:  # else `close` has set it to now
            deadline.reschedule(self._loop.time() + left_seconds)

    def _end(self, deadline: asyncio.Timeout) -> None:
        self._deadlines.discard(deadline)
        if self._closed and not self._deadlines:
            self._all_ended.set()

    async def _send(
        self, where: _Where, headers: Mapping[str, str], body: bytes, progress: ExchangeProgress
    ) -> HttpResult:
        target, origin, head = self._prepare(where)
        request = _rendered_request(head, headers, body, has_body=where[2] is not None)
        connection = self._pool.take(origin, self._clock.monotonic_ns())
        if connection is not None:
            try:
                return await self._exchange(origin, connection, request)
            except StaleConnection:
                # The peer closed the connection while the request was on its way. It may have read the
                # request, so sending again may send it twice. So may every retry: callers give a request an
                # id by which receivers know a repeat. Without this second try the result would be a failure
                # that nobody has caused.
                pass
        return await self._exchange(origin, await self._dialler.dial(target, progress), request)

    async def _exchange(self, origin: Origin, connection: ClientConnection, request: bytes) -> HttpResult:
        try:
            result = await connection.exchange(request)
        except BaseException:
            connection.abort()
            raise
        if connection.idle:
            self._pool.give(origin, connection, self._clock.monotonic_ns())
            if self._sweeping is None:
                self._sweep()
        return result

    def _sweep(self) -> None:
        next_seconds = self._pool.sweep(self._clock.monotonic_ns())
        self._sweeping = None if next_seconds is None else self._loop.call_later(next_seconds, self._sweep)

    def _prepared(self, where: _Where) -> _Prepared:
        """Check a URL and render the beginning of its requests. Raises UrlRefused."""
        method, url, content_type = where
        target = self._check_url(url)
        lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
        lines += [f"Content-Type: {content_type}"] if content_type is not None else []
        lines += self._fixed_headers
        return _Prepared(target, (target.scheme, target.host, target.port), _rendered(lines))


def _rendered_request(head: bytes, headers: Mapping[str, str], body: bytes, *, has_body: bool) -> bytes:
    lines = [f"{name}: {value}" for name, value in headers.items()]
    if has_body:
        lines.append(f"Content-Length: {len(body)}")
    return b"%b%b\r\n%b" % (head, _rendered(lines), body)


def _rendered(lines: Sequence[str]) -> bytes:
    text = "".join(lines)
    if not text.isprintable():
        raise ValueError("a line break in a header would begin another header")
    return "".join(f"{line}\r\n" for line in lines).encode("ascii")


@cache
def client_tls(_: str | None) -> ssl.SSLContext:
    """Return the TLS settings, made once for each file of authorities: reading such a file takes long."""
    tls = ssl.create_default_context()
    tls.set_alpn_protocols(["http/1.1"])
    # Without the DHE suites of TLS 1.2: there the peer chooses the prime, and a large one takes seconds.
    tls.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    tls.options |= ssl.OP_NO_RENEGOTIATION  # a renegotiation is a handshake at a moment of the peer's choice
    return tls


@asynccontextmanager
async def open_client(
    guard: Guard,
    *,
    timeout_seconds: float,
    user_agent: str,
    proxy: TunnelProxy | None = None,
    name_servers: Sequence[str] = (),
    clock: Clock | None = None,
    read_bytes: int = READ_BYTES,
) -> AsyncIterator[HttpClient]:
    """Open a client that closes with the context, and all its connections with it.

    Args:
        timeout_seconds: the time for a whole exchange.
        proxy: the proxy that every connection goes through, if any.
        name_servers: addresses, or "address:port"; without any, the system's name servers.
        read_bytes: the longest part of a body that is kept.

    Certificates are verified against the system's authorities, or those in the file `SSL_CERT_FILE`.
    """
    tls = client_tls(os.environ.get("SSL_CERT_FILE"))
    resolver = Resolver(name_servers)
    dialler = Dialler(guard, resolver, tls, proxy, read_bytes)
    client = HttpClient(guard, dialler, clock or SystemClock(), timeout_seconds, user_agent)
    try:
        yield client
    finally:
        await client.close()
        await resolver.close()
