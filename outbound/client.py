"""Webhooks over HTTP. Law: an exchange ends, within its time, in an `HttpResult`; and whatever a peer, the
resolver or the proxy does, the others do not notice.

One deadline covers all of it, from the look-up of the name to the last byte of the body. `dial` opens
connections where the guard allows it, `exchange` speaks HTTP over one, `pool` keeps the idle ones.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, lru_cache, partial

from core.clock import Clock, SystemClock
from core.urls import Target, UrlRefused
from outbound.dial import Dialler, Guard
from outbound.failures import ExchangeFailed, ExchangeProgress
from outbound.http1 import ClientConnection, StaleConnection
from outbound.pool import IDLE_SECONDS, ConnectionPool, Origin
from outbound.proxies import read_proxy
from outbound.resolver import Resolver
from outbound.result import Fault, HttpResult
from outbound.slots import Slot

URLS_KEPT = 4_096

_CUT_OFF = HttpResult(None, "internal", Fault.UNKNOWN)
"""Of an exchange that the end of its sender came before."""


class HttpClient:
    """Sends over one pool of connections; `open_client` makes it."""

    def __init__(
        self,
        guard: Guard,
        dialler: Dialler,
        pool: ConnectionPool,
        clock: Clock,
        timeout_seconds: float,
        user_agent: str,
    ) -> None:
        # Half of what a post costs, else: a guard is pure, so what it allowed once it allows.
        self._check_url = lru_cache(URLS_KEPT)(guard.check_url)
        self._dialler = dialler
        self._pool = pool
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._fixed_headers = (
            "Content-Type: application/json",
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

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes, slot: Slot | None = None
    ) -> HttpResult:
        """Sends a webhook. Whatever goes wrong outside of this program is an answer.

        The slot is given up while a name is looked up. What it waits for afterwards is not counted.
        """
        if self._closed:
            return _CUT_OFF
        deadline = asyncio.timeout(self._timeout_seconds)
        progress = (
            ExchangeProgress(partial(self._looking_up, slot, deadline))
            if slot is not None
            else ExchangeProgress()
        )
        self._deadlines.add(deadline)
        try:
            async with deadline:
                return await self._post(url, headers, body, progress)
        except TimeoutError:
            return _CUT_OFF if self._closed else HttpResult(None, *progress.hung)
        except ExchangeFailed as failed:
            return HttpResult(None, failed.error, failed.fault)
        except UrlRefused:
            return HttpResult(None, "blocked")
        finally:
            self._end(deadline)

    async def close(self) -> None:
        """Ends the exchanges under way, and returns when every socket is closed."""
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
        """Returns when the slot is held again; the deadline is as far away as before."""
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
        if deadline.when() is None:  # else `close` wants it to end now
            deadline.reschedule(self._loop.time() + left_seconds)

    def _end(self, deadline: asyncio.Timeout) -> None:
        self._deadlines.discard(deadline)
        if self._closed and not self._deadlines:
            self._all_ended.set()

    async def _post(
        self, url: str, headers: Mapping[str, str], body: bytes, progress: ExchangeProgress
    ) -> HttpResult:
        target = self._check_url(url)
        request = self._request(target, headers, body)
        key = target.scheme, target.host, target.port
        connection = self._pool.take(key, self._clock.monotonic_ns())
        if connection is not None:
            try:
                return await self._exchange(key, connection, request)
            except StaleConnection:
                # The peer closed it while the request was on its way, and may have read the request first.
                # To send it again at once may be to send it twice; but so may any retry, and receivers tell
                # repeats by the webhook's id. Not to, would be a failure that nobody is to blame for.
                pass
        return await self._exchange(key, await self._dialler.dial(target, progress), request)

    async def _exchange(self, key: Origin, connection: ClientConnection, request: bytes) -> HttpResult:
        try:
            answer = await connection.exchange(request)
        except BaseException:
            connection.abort()
            raise
        if connection.idle:
            self._pool.give(key, connection, self._clock.monotonic_ns())
            if self._sweeping is None:
                self._sweep()
        return answer

    def _sweep(self) -> None:
        next_seconds = self._pool.sweep(self._clock.monotonic_ns())
        self._sweeping = None if next_seconds is None else self._loop.call_later(next_seconds, self._sweep)

    def _request(self, target: Target, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = [
            f"POST {target.path} HTTP/1.1",
            f"Host: {target.authority}",
            *self._fixed_headers,
            *[f"{name}: {value}" for name, value in headers.items()],
            f"Content-Length: {len(body)}",
        ]
        if not all(map(str.isprintable, lines)):
            raise ValueError("a header with a line break would be two")
        return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body


@cache
def _client_tls(_: str | None) -> ssl.SSLContext:
    """One for each file of authorities that the environment may name: to read them takes a while."""
    tls = ssl.create_default_context()
    tls.set_alpn_protocols(["http/1.1"])
    # Not the DHE suites of TLS 1.2: the peer chooses the prime, and a large one takes seconds.
    tls.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")
    tls.options |= ssl.OP_NO_RENEGOTIATION  # it would be a handshake again, and the peer would say when
    return tls


@asynccontextmanager
async def open_client(
    guard: Guard,
    *,
    timeout_seconds: float,
    user_agent: str,
    proxy: str | None = None,
    name_servers: Sequence[str] = (),
    clock: Clock | None = None,
    idle_seconds: float = IDLE_SECONDS,
) -> AsyncIterator[HttpClient]:
    """A sender that ends with the context, with all that it has open.

    `timeout_seconds` covers a whole exchange. `proxy` is a URL as `read_proxy` takes it, else ProxyRefused is
    raised; `name_servers` are addresses, "address:port" if need be, and the system's if there are none.
    Certificates are verified against the system's authorities, or those of the file `SSL_CERT_FILE`.
    """
    tls = _client_tls(os.environ.get("SSL_CERT_FILE"))
    through = read_proxy(proxy) if proxy is not None else None
    resolver = Resolver(name_servers)
    dialler = Dialler(guard, resolver, tls, through)
    pool = ConnectionPool(idle_seconds)
    sender = HttpClient(guard, dialler, pool, clock or SystemClock(), timeout_seconds, user_agent)
    try:
        yield sender
    finally:
        await sender.close()
        await resolver.close()
