"""The server that accepts connections and watches them. Invariants: no client is turned away while there is
room or another connection is idle. A lack of file descriptors or memory for sockets stops the accepting for a
moment, and never the serving.

It has the methods of Tornado's HTTPServer (`add_sockets`, `stop`, `close_all_connections`), and runs on any
asyncio loop. It is measured on that of uvloop.
"""

import asyncio
import errno
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable, Iterable
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import NamedTuple, Protocol

from tornado.httputil import HTTPServerConnectionDelegate

from wire.admission import Admission, CountedAs
from wire.channel import UNIX_PEER
from wire.connection import DRAIN_SECONDS, Connection
from wire.exchange import CLOSES, PostRoute
from wire.parser import (
    POST,
    POST_HEADS,
    ConnectionLimits,
    DirectRoute,
    KnownHeads,
    PageRoute,
    UnreadCode,
    path_of,
)

log = logging.getLogger(__name__)

TICK_SECONDS = 0.5
"""The precision of time-outs and of the Date of answers."""
STOP_TICK_SECONDS = 0.05
"""The same while a stop waits for connections."""
CONNECTIONS_AT_ONCE = 16
"""The connections with more slices that go on in one turn of the loop."""
ACCEPTS_AT_ONCE = 64
TURN_SECONDS = 0.002
"""The time for which a new connection waits for a process with fewer connections."""
ROUNDS = 64  # the most calls of `_accept_some` for one socket in a stop
RETRY_SECONDS = 0.2
WARN_SECONDS = 10
TLS_SHUTDOWN_SECONDS = 86_400  # the connection has its own deadlines, which know whether the client reads
EXHAUSTED = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}

Refuser = Callable[[int, UnreadCode, str, bytes], bytes]
"""Returns the answer to a request that gets no further, from its header lines on. Takes the status, a code,
the client's address, and the known part of the target's path."""


class BesideRoutes(NamedTuple):
    """The routes without the application, beside that of vote checks."""

    posts: PostRoute | None = None
    pages: PageRoute | None = None


NO_ROUTES = BesideRoutes()


class Turns(Protocol):
    """Shares connections among processes that accept from one socket."""

    @property
    def others_accept(self) -> bool:
        """True if another process accepts connections."""

    def is_our_turn(self, connections: int, /) -> bool:
        """Return true if this process, with so many connections, is to take the next one."""

    def has(self, connections: int, /) -> None:
        """Note how many connections this process has."""

    def accepts(self, *, is_accepting: bool) -> None:
        """Note whether this process accepts connections."""


class _StatusLines(dict[int, bytes]):
    """Status line and Date by status."""

    def __missing__(self, status: int) -> bytes:
        date = formatdate(usegmt=True)
        line = self[status] = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nDate: {date}\r\n".encode()
        return line


class WireServer:
    def __init__(
        self,
        application: HTTPServerConnectionDelegate,
        limits: ConnectionLimits,
        refusal: Refuser,
        direct: DirectRoute | None = None,
        tls: Callable[[], ssl.SSLContext] | None = None,
        counted_as: CountedAs = lambda peer: peer,
        beside: BesideRoutes = NO_ROUTES,
    ) -> None:
        """`tls` gives the context of the next connection."""
        self.application = application
        self.posts = beside.posts
        self.limits = limits
        self.direct = self._direct = direct
        self.pages = self._pages = beside.pages
        self.ending = self.draining = False
        self.status_lines: dict[int, bytes] = _StatusLines()
        self.known = KnownHeads()
        self.known_posts = KnownHeads(POST, POST_HEADS)
        self.admission = Admission(limits.connections, limits.connections_per_address, counted_as)
        self._refusal = refusal
        self._tls = tls
        self.turns: Turns | None = None
        """Set if other processes accept from the same sockets, too."""
        self._waiting: asyncio.TimerHandle | None = None  # for another process to take a connection
        self._listening: list[socket.socket] = []
        self._accepting = False
        self._warn_at = 0.0
        self._connections: set[Connection] = set()
        self._opening: set[asyncio.Task[None]] = set()
        self._later: OrderedDict[Connection, None] = OrderedDict()  # with more to parse, in their order
        self._round: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._empty = asyncio.Event()
        shortest = min(limits.header_seconds, limits.body_seconds, limits.idle_seconds, limits.write_seconds)
        self._tick_seconds = min(TICK_SECONDS, shortest / 4)

    def add_sockets(self, sockets: Iterable[socket.socket]) -> None:
        """Serve listening sockets in the running loop."""
        self.begin()
        self._listening = list(sockets)
        for listening in self._listening:
            listening.setblocking(False)
        if self.turns is not None:
            self.turns.accepts(is_accepting=True)
        self._accept_on()

    def begin(self) -> None:
        """Begin in the running loop, without sockets yet."""
        if self._timer is None:
            self.loop = asyncio.get_running_loop()
            self._tick()

    def leave_to_application(self, *, is_left: bool) -> None:
        """Give all requests to the application, or those of the direct routes back to them."""
        self.direct = None if is_left else self._direct
        self.pages = None if is_left else self._pages

    def end_soon(self) -> None:
        """Let each answer be the last of its connection, and say so. Connections are still accepted."""
        self.ending = True

    def stop(self) -> None:
        """Accept the connections that wait, unless other processes do, and then no more. Each ends once its
        requests are answered."""
        self.end_soon()
        if self.turns is not None:
            self.turns.accepts(is_accepting=False)
        if self.turns is None or not self.turns.others_accept:
            for listening in self._listening:
                for _ in range(ROUNDS):
                    if not self._accept_some(listening, ACCEPTS_AT_ONCE):
                        break
        self._accept_off()
        if self._waiting is not None:
            self._waiting.cancel()
        for listening in self._listening:
            listening.close()
        self._listening = []
        self.draining = True
        for connection in list(self._connections):
            connection.drain()
        self._end_timer()
        self._tick_seconds = min(self._tick_seconds, STOP_TICK_SECONDS)
        self._tick()
        self.loop.call_later(DRAIN_SECONDS, self._end_handshakes)
        self._tell_if_empty()

    async def finished(self) -> None:
        """Wait for the end of the last connection, after `stop`."""
        await self._empty.wait()

    async def close_all_connections(self) -> None:
        """End the connections that are left, after `stop`."""
        for connection in list(self._connections):
            connection.abort()
        await self._empty.wait()
        self._end_timer()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _end_handshakes(self) -> None:
        for connection in self._connections:
            if not connection.opened:
                connection.abort()

    # For connections.

    @property
    def now(self) -> float:
        return self.loop.time()

    @property
    def secure(self) -> bool:
        return self._tls is not None

    def refusal(self, status: int, code: UnreadCode, client: str, target: bytes) -> bytes:
        said = self._refusal(status, code, client, path_of(target))
        return self.status_lines[status] + CLOSES + said

    def tally(self) -> dict[str, int]:
        """Return how many connections are open, were refused, and were closed to make room for others."""
        admission = self.admission
        return {
            "open": len(self._connections),
            "refused": admission.refused,
            "closed_for_others": admission.ended,
        }

    def go_on_later(self, connection: Connection) -> None:
        self._later[connection] = None
        if self._round is None:
            self._round = self.loop.call_soon(self._go_round)

    def _go_round(self) -> None:
        self._round = None
        for _ in range(min(len(self._later), CONNECTIONS_AT_ONCE)):
            connection, _ = self._later.popitem(last=False)
            connection.go_on()
        if self._later and self._round is None:
            self._round = self.loop.call_soon(self._go_round)

    def disconnected(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if self.turns is not None:
            self.turns.has(len(self._connections))
        self.admission.left(connection)
        self._tell_if_empty()
        if not self._accepting and self._waiting is None:
            self._accept_on()  # there may be descriptors again

    def _tell_if_empty(self) -> None:
        if self.draining and not self._connections:
            self._empty.set()

    # Accepting.

    def _accept_on(self) -> None:
        self._accepting = True
        for listening in self._listening:
            self.loop.add_reader(listening, self._accept, listening)

    def _accept_off(self) -> None:
        self._accepting = False
        for listening in self._listening:
            self.loop.remove_reader(listening)

    def _accept(self, listening: socket.socket) -> None:
        """Accept waiting connections, as far as it is the turn of this process."""
        turns = self.turns
        if turns is None:
            self._accept_some(listening, ACCEPTS_AT_ONCE)
            return
        for _ in range(ACCEPTS_AT_ONCE):
            if not turns.is_our_turn(len(self._connections)):
                self._accept_off()
                self._waiting = self.loop.call_later(TURN_SECONDS, self._accept_one)
                return
            if not self._accept_some(listening, 1):
                return

    def _accept_one(self) -> None:
        """Accept a connection that no other process has taken, although it was its turn."""
        self._waiting = None
        for listening in self._listening:
            self._accept_some(listening, 1)
        self._accept_on()

    def _accept_some(self, listening: socket.socket, most: int) -> bool:
        """Accept waiting connections. Return True when there may be more."""
        for _ in range(most):
            try:
                accepted, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                if error.errno in EXHAUSTED:
                    if self.now >= self._warn_at:
                        log.warning("accepting no connections for a moment: %s", error.strerror)
                        self._warn_at = self.now + WARN_SECONDS
                    self._accept_off()
                    self.loop.call_later(RETRY_SECONDS, self._accept_on)
                else:  # an error of the connection before it was accepted (accept(2))
                    log.info("a connection was not accepted: %s", error.strerror)
                return False
            connection = Connection(self)
            peer = address[0] if isinstance(address, tuple) else UNIX_PEER
            if not self.admission.admits(connection, peer, self.now, self.idle_deadline):
                accepted.close()
                continue
            self._connections.add(connection)
            if self.turns is not None:
                self.turns.has(len(self._connections))
            connection.accepted = accepted
            opening = self.loop.create_task(self._open(accepted, connection))
            self._opening.add(opening)
            opening.add_done_callback(partial(self._opened, accepted, connection))
        return True

    async def _open(self, accepted: socket.socket, connection: Connection) -> None:
        context = self._tls() if self._tls is not None else None
        handshake_seconds, shutdown_seconds = (
            (self.limits.header_seconds, TLS_SHUTDOWN_SECONDS) if context is not None else (None, None)
        )
        try:
            accepted.setblocking(False)
            if accepted.family != socket.AF_UNIX:
                accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self.loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=context,
                ssl_handshake_timeout=handshake_seconds,
                ssl_shutdown_timeout=shutdown_seconds,
            )
        except OSError as error:  # a failed handshake among them
            log.debug("a connection was not opened: %r", error)

    def _opened(self, accepted: socket.socket, connection: Connection, opening: "asyncio.Task[None]") -> None:
        self._opening.discard(opening)
        connection.accepted = None
        if not connection.opened:
            accepted.close()
            self.disconnected(connection)

    # Time.

    def _tick(self) -> None:
        self._timer = self.loop.call_later(self._tick_seconds, self._tick)
        now = self.now
        self.idle_deadline = now + self.limits.idle_seconds
        self.status_lines.clear()
        for connection in [each for each in self._connections if each.deadline <= now]:
            connection.expired()
        if self.draining:
            for connection in list(self._connections):
                connection.hasten()
        self.admission.step(now)
