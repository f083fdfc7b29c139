"""New connections to endpoints. Invariant: the client, or a proxy for it, connects only to addresses that the
guard has allowed, and nothing resolves a name again afterwards.

With a proxy, every connection is a tunnel through it. If the proxy fails, the client never connects directly.
"""

import asyncio
import errno
import socket
import ssl
import weakref
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Protocol, cast

from grammars.http_urls import Target, UrlRefused
from grammars.service_urls import TunnelProxy
from outbound.http1 import ClientConnection
from outbound.proxies import TunnelHandshake
from outbound.resolver import Resolver
from outbound.result import READ_BYTES, TIMED_OUT, AtFault, ExchangeError, ExchangeFailed, ExchangeProgress
from outbound.targets import ip_literal
from outbound.tls_stream import HandshakeThreads, TlsStream

HEAD_START_SECONDS = 0.25  # before the next address is tried as well (RFC 8305, 5)
MAX_ADDRESSES = 8
"""The most addresses of a name that are tried."""

# An endpoint cannot cause these: this machine has run out of something, or has no network.
_OURS = {
    errno.EADDRNOTAVAIL,
    errno.EMFILE,
    errno.ENETDOWN,
    errno.ENETUNREACH,
    errno.ENFILE,
    errno.ENOBUFS,
    errno.ENOMEM,
}

_CONNECT_ERRORS: dict[int, ExchangeError] = {
    errno.ECONNREFUSED: "refused",
    errno.ECONNRESET: "reset",
    errno.ETIMEDOUT: "timeout",
}


class Guard(Protocol):
    """Rules on where connections may lead. Each method raises UrlRefused.

    `check_url` gives the same answer for the same URL every time, so that the client may cache it.
    """

    def check_url(self, url: str) -> Target: ...

    def check_address(self, target: Target, address: str) -> None: ...

    def check_ends(self, ours: str, theirs: str) -> None: ...


class Dialler:
    """Opens connections. Belongs to the event loop in which it is made."""

    def __init__(
        self,
        guard: Guard,
        resolver: Resolver,
        tls: ssl.SSLContext,
        proxy: TunnelProxy | None,
        read_bytes: int = READ_BYTES,
    ) -> None:
        """Make a dialler. `read_bytes`: the longest part of a body that its connections keep."""
        self._guard = guard
        self._resolver = resolver
        self._tls = tls
        self._proxy = proxy
        self._read_bytes = read_bytes
        self._loop = asyncio.get_running_loop()
        self._threads = HandshakeThreads()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    async def dial(self, target: Target, progress: ExchangeProgress) -> ClientConnection:
        """Open a connection. Raises ExchangeFailed, and UrlRefused if the guard forbids it."""
        addresses = await self._addresses(target, progress)
        if self._proxy is None:
            return await self._direct(addresses, target, progress)
        refused = ExchangeFailed("connect")
        for address in addresses:
            try:
                return await self._tunnel(self._proxy, address, target, progress)
            except ExchangeFailed as failed:
                if failed.fault is AtFault.PROXY or failed.error not in {"refused", "connect", "proxy"}:
                    raise
                refused = failed
        raise refused

    async def close(self) -> None:
        """Wait for all sockets to close. The caller has closed or aborted all connections."""
        while any(sock.fileno() != -1 for sock in self._sockets):  # noqa: ASYNC110 (the loop does not report it)
            await asyncio.sleep(0)
        await self._threads.close()

    async def _addresses(self, target: Target, progress: ExchangeProgress) -> list[str]:
        """Return the addresses of the target that the guard allows."""
        if ip_literal(target.host) is not None:
            self._guard.check_address(target, target.host)
            return [target.host]
        progress.hung = ("resolver", AtFault.UNKNOWN)
        async with progress.looking_up():
            found = await self._resolver.resolve(target.host)
        progress.hung = TIMED_OUT
        allowed = [address for address in found if self._allows(target, address)]
        if not allowed:
            raise ExchangeFailed("blocked")
        return allowed[:MAX_ADDRESSES]

    def _allows(self, target: Target, address: str) -> bool:
        try:
            self._guard.check_address(target, address)
        except UrlRefused:
            return False
        return True

    async def _direct(
        self, addresses: Sequence[str], target: Target, progress: ExchangeProgress
    ) -> ClientConnection:
        try:
            sock = await self._connect(addresses, target.port)
        except OSError as error:
            raise _not_connected(error) from None
        self._check_ends(sock)
        connection = ClientConnection(self._loop, self._read_bytes)
        try:
            if target.scheme == "https":
                _, tls = await self._loop.create_connection(partial(self._new_tls, target.host), sock=sock)
                await self._secure(tls, connection, progress)
            else:
                await self._loop.create_connection(lambda: connection, sock=sock)
        except OSError as error:
            raise _not_secured(error) from None
        return connection

    def _check_ends(self, sock: socket.socket) -> None:
        """Close the socket and raise if the guard refuses its two ends."""
        try:
            self._guard.check_ends(sock.getsockname()[0], sock.getpeername()[0])
        except UrlRefused:
            sock.close()
            raise
        except OSError:  # the peer has reset the connection
            sock.close()
            raise ExchangeFailed("reset") from None

    def _new_tls(self, host: str) -> TlsStream:
        return TlsStream(self._tls, host, self._threads, is_long=self._read_bytes > READ_BYTES)

    async def _secure(self, tls: TlsStream, above: asyncio.Protocol, progress: ExchangeProgress) -> None:
        """Complete the handshake, then connect the protocol `above`. Raises OSError.

        If the time runs out while the peer's bytes wait for one of our threads, the peer is not at fault.
        """
        try:
            await tls.handshake()
        except BaseException:
            if tls.is_working:
                progress.hung = ("internal", AtFault.UNKNOWN)
            tls.abort()
            raise
        tls.set_protocol(above)
        above.connection_made(tls)

    async def _tunnel(
        self, proxy: TunnelProxy, address: str, target: Target, progress: ExchangeProgress
    ) -> ClientConnection:
        progress.hung = ("proxy", AtFault.PROXY)
        transport, tunnel = await self._reach(proxy, TunnelHandshake(proxy, address, target.port), progress)
        try:
            progress.hung = ("proxy", AtFault.UNKNOWN)
            await tunnel.opened()
            if transport.is_closing():
                raise ExchangeFailed("reset")
            progress.hung = TIMED_OUT
            connection = ClientConnection(self._loop, self._read_bytes)
            if target.scheme == "https":
                tls = self._new_tls(target.host)
                transport.set_protocol(tls)
                tls.connection_made(transport)
                await self._secure(tls, connection, progress)
            else:
                transport.set_protocol(connection)
                connection.connection_made(transport)
            return connection
        except OSError as error:
            transport.abort()
            raise _not_secured(error) from None
        except BaseException:
            transport.abort()
            raise

    async def _reach(
        self, proxy: TunnelProxy, handshake: TunnelHandshake, progress: ExchangeProgress
    ) -> "tuple[asyncio.Transport, TunnelProtocol]":
        """Connect to the proxy and begin the conversation that opens the tunnel."""
        tunnel = TunnelProtocol(self._loop, handshake)
        try:
            is_name = ip_literal(proxy.host) is None
            addresses = await self._resolver.resolve(proxy.host) if is_name else [proxy.host]
            sock = await self._connect(addresses, proxy.port)
            if proxy.scheme != "https":
                transport, _ = await self._loop.create_connection(lambda: tunnel, sock=sock)
                return transport, tunnel
            _, tls = await self._loop.create_connection(partial(self._new_tls, proxy.host), sock=sock)
            await self._secure(tls, tunnel, progress)
        except (OSError, ExchangeFailed):
            raise ExchangeFailed("proxy", AtFault.PROXY) from None
        return tls, tunnel

    async def _connect(self, addresses: Sequence[str], port: int) -> socket.socket:
        """Return the first socket that connects. Raises the OSError that says most about the endpoint."""
        if len(addresses) == 1:
            return await self._connect_to(addresses[0], port)
        waiting, running = deque(addresses), set[asyncio.Task[socket.socket]]()
        tasks: list[asyncio.Task[socket.socket]] = []
        errors: list[OSError] = []
        winner = None
        try:
            while waiting or running:
                if waiting:
                    tasks.append(asyncio.create_task(self._connect_to(waiting.popleft(), port)))
                    running.add(tasks[-1])
                patience = HEAD_START_SECONDS if waiting else None
                done, running = await asyncio.wait(
                    running, timeout=patience, return_when=asyncio.FIRST_COMPLETED
                )
                for task in done:
                    error = task.exception()
                    if error is None:
                        winner = task
                        return task.result()
                    if not isinstance(error, OSError):
                        raise error
                    errors.append(error)
        finally:
            for task in tasks:
                if task is not winner:
                    task.cancel()
                    task.add_done_callback(_close_late)
        raise min(errors, key=lambda error: error.errno in _OURS)

    async def _connect_to(self, address: str, port: int) -> socket.socket:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        self._sockets.add(sock)
        try:
            sock.setblocking(False)
            await self._loop.sock_connect(sock, (address, port))
        except BaseException:
            sock.close()
            raise
        return sock


class TunnelProtocol(asyncio.Protocol):
    """The protocol of a connection until its tunnel is open. The HTTP connection then replaces it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handshake: TunnelHandshake) -> None:
        self._handshake = handshake
        self._ended = loop.create_future()
        self._failed: ExchangeFailed | None = None

    async def opened(self) -> None:
        """Wait until the tunnel is open. Raises ExchangeFailed."""
        await self._ended
        if self._failed is not None:
            raise self._failed

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.write(self._handshake.opening)

    def data_received(self, data: bytes) -> None:
        if self._failed is not None:
            return
        try:
            reply = self._handshake.receive(data)
        except ExchangeFailed as failed:
            self._fail(failed)
            return
        if reply:
            self._transport.write(reply)
        if self._handshake.is_open:
            self._end()

    def eof_received(self) -> None:
        self.connection_lost(None)

    def connection_lost(self, _: Exception | None) -> None:
        was_open = self._handshake.is_open
        self._fail(ExchangeFailed("reset") if was_open else ExchangeFailed("proxy", AtFault.UNKNOWN))

    def _fail(self, failed: ExchangeFailed) -> None:
        self._failed = self._failed or failed
        self._end()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


def _close_late(connecting: asyncio.Task[socket.socket]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close()


def _not_connected(error: OSError) -> ExchangeFailed:
    if error.errno in _OURS:
        return ExchangeFailed("connect", AtFault.UNKNOWN)
    return ExchangeFailed(_CONNECT_ERRORS.get(error.errno or 0, "connect"))


def _not_secured(error: OSError) -> ExchangeFailed:
    return ExchangeFailed("tls" if isinstance(error, ssl.SSLError) else "reset")
