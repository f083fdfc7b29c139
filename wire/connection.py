"""One client's connection: its bytes become requests, and its answers go back in their order. Invariant:
every complete request is answered once, whatever comes behind it.

A connection joins four parts. Its own state is the phase that they are in together (`phases.py`):

    parser    bytes in, events out (`parser.py`)
    channel   the socket: flow control and its end (`channel.py`)
    exchange  the request whose turn it is, and those behind it that came in the same slice (`exchange.py`)
    server    limits, the application, the direct route, the time (`ServerSide`)

A request that the direct route answers takes one call from its last byte to `transport.write`: no task, no
future, no Tornado object. Every other request becomes an exchange with the application, one at a time. Bytes
that come too early stay unparsed, and all that are more than one read stay in the socket.

Three things wait for their turn: the exchanges that were parsed together with the present one, then a refusal
of the bytes behind them (nothing is read after that), or else bytes that are not parsed yet.

Bytes are parsed in slices, and a slice ends behind the first head in it. So a client that sends many requests
at once has a few of them answered, and then other clients have their turn (`WireServer.go_on_later`).
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from tornado.httputil import HTTPInputError, HTTPServerConnectionDelegate

from wire.admission import Admission
from wire.channel import Channel, Reading, unread
from wire.exchange import CLOSES, JOINED_BYTES, Exchange, PostRoute
from wire.parser import (
    HEAD_END,
    MALFORMED,
    POST,
    POSTS_TARGET_AT,
    SLICE_BYTES,
    START,
    TARGET_AT,
    BodyPart,
    ConnectionLimits,
    DirectRoute,
    HeadPart,
    KnownHeads,
    Malformed,
    PageRoute,
    RequestEnd,
    RequestHead,
    RequestParser,
    Unread,
    Unreadable,
    UnreadCode,
)
from wire.phases import Phase, Step, after

# Names of their own: Python 3.11 calls two functions to look up a member in its enum. Tuples, because a set
# would call the hash, which is a Python function too.
OPENING, FRESH, IDLE, HEAD, HELD = Phase.OPENING, Phase.FRESH, Phase.IDLE, Phase.HEAD, Phase.HELD
BODY, ANSWERING, LAST = Phase.BODY, Phase.ANSWERING, Phase.LAST
LINGERING, CLOSED = Phase.LINGERING, Phase.CLOSED
AT_ONCE = (IDLE, FRESH, HEAD)
"""The phases in which bytes are parsed at once: nothing has its turn."""
READS = (*AT_ONCE, BODY, ANSWERING, HELD)
"""The phases in which bytes are kept: they may be a request."""
ENDED = (OPENING, LINGERING, CLOSED)
"""The phases in which nothing begins."""

log = logging.getLogger(__name__)

TOO_SLOW: Unreadable = (408, "too_slow")
SLICES_AT_ONCE = 4
"""The slices of one connection that are parsed before other connections have their turn."""
LINGER_SECONDS = 1.0
"""The time that a client has to close first, once our side is shut down."""
DRAIN_SECONDS = 0.5
"""The time that a stop waits for the next request of a connection, or for the rest of a head."""
NEVER = float("inf")
"""The deadline of a connection that may take any time."""


class ServerSide(Protocol):
    """The server, as its connections need it."""

    application: HTTPServerConnectionDelegate
    posts: PostRoute | None
    limits: ConnectionLimits
    direct: DirectRoute | None
    pages: PageRoute | None
    known: KnownHeads
    known_posts: KnownHeads
    admission: Admission
    status_lines: dict[int, bytes]
    ending: bool
    """Each answer is to be the last of its connection."""
    draining: bool
    """Connections end soon unless they bring another request."""
    loop: asyncio.AbstractEventLoop
    idle_deadline: float
    """The deadline of a connection that becomes idle now."""

    @property
    def now(self) -> float: ...
    @property
    def secure(self) -> bool: ...
    def refusal(self, status: int, code: UnreadCode, client: str, target: bytes) -> bytes:
        """Return the whole answer to a request that gets no further."""

    def go_on_later(self, connection: "Connection", /) -> None:
        """Call `go_on` once after others have had their turn, however often this is called."""

    def disconnected(self, connection: "Connection", /) -> None: ...


@dataclass(slots=True, eq=False, repr=False)
class Connection(asyncio.Protocol):
    """The protocol of one accepted socket, TLS or not.

    `deadline` is a time of the loop; the server watches it.
    """

    _server: ServerSide
    _phase: Phase = OPENING
    _parser: RequestParser = field(init=False)
    _channel: Channel = field(init=False)  # once it is open
    _send: Callable[[bytes], None] = field(init=False)  # of the channel
    accepted: socket.socket | None = None  # while it is being opened
    remote_ip: str = ""
    protocol: str = "http"
    deadline: float = NEVER
    _held: bytearray = field(default_factory=bytearray)  # not parsed yet
    _receiving: Exchange | None = None  # whose body is arriving
    _turn: Exchange | None = None
    _queue: list[Exchange] = field(default_factory=list)  # behind it
    _refusal: tuple[int, UnreadCode, bytes] | None = None  # behind these

    def __post_init__(self) -> None:
        self._parser = RequestParser(self._server.limits)

    # Phases.

    def _step(self, step: Step) -> None:
        self._phase = after(self._phase, step)

    @property
    def opened(self) -> bool:
        """True from the moment when the loop reports the connection."""
        return self._phase is not OPENING

    @property
    def application(self) -> HTTPServerConnectionDelegate:
        return self._server.application

    @property
    def posts(self) -> PostRoute | None:
        return self._server.posts

    @property
    def status_lines(self) -> Mapping[int, bytes]:
        return self._server.status_lines

    @property
    def closing(self) -> bool:
        """No request will be answered after the one whose turn it is."""
        if self._queue or self._held or self._refusal is not None:
            return False
        return self._phase is LAST or self.at_eof or self._server.ending

    @property
    def idle(self) -> bool:
        """Every complete request is answered, as far as this process can know.

        A handshake, or a part of a request, may never end. An answer that the kernel has held for a while
        does not count: the kernel sends it after our end too, and the client may never take it.
        """
        if not self.opened:
            descriptor = -1 if self.accepted is None else self.accepted.fileno()
            return descriptor < 0 or not unread(descriptor)  # closed: its handshake has just failed
        if self.accepted is not None and self._server.secure:
            return False  # bytes that came with the end of its handshake are read in a moment
        phase, turn = self._phase, self._turn
        if phase is LINGERING:
            return not self._channel.closed and not self._channel.unsent
        if self._held or (phase not in AT_ONCE and phase is not BODY):
            return False
        if turn is not None and (turn.blocked or turn.head_written):
            return False  # the application keeps the rest waiting, or has begun its answer
        limits = self._server.limits
        patience = {IDLE: limits.idle_seconds, BODY: limits.body_seconds}.get(phase, limits.header_seconds)
        since, now = self.deadline - patience, self._server.idle_deadline - limits.idle_seconds
        for_a_while = since <= now - LINGER_SECONDS
        return self._channel.quiet and (for_a_while or self._channel.delivered)

    @property
    def at_eof(self) -> bool:
        return self._channel.reading is Reading.ENDED

    # From the loop: asyncio.Protocol.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._channel = channel = Channel(transport, self._server.loop)
        self._send = channel.send  # saves the hot path a look-up
        self.remote_ip = channel.peer
        if channel.secure:
            self.protocol = "https"
        self._step(Step.OPENED)
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        phase = self._phase
        if (phase is IDLE or phase is FRESH) and len(data) <= SLICE_BYTES:
            if self._recognised(data):
                return
            if data.find(HEAD_END, 0, -1) < 0:  # one slice: no head ends before its last byte
                self._parse(data)
                return
        if phase in READS:
            self._held += data
            self.go_on()

    def eof_received(self) -> bool:
        """Note that the client sends no more. Its complete requests are answered."""
        self._channel.reading = Reading.ENDED
        if self._phase in ENDED or self._channel.secure:
            return False  # uvloop's TLS ends both ways at once
        if self._phase is BODY and not self._waiting:
            self._give_up()
            return True
        if self._turn is not None:
            self._turn.no_more()
        return self._waiting or self._phase in (ANSWERING, LAST)

    def pause_writing(self) -> None:
        self._channel.block()
        self._server.admission.unread(self, self._server.now)
        if self._phase is IDLE or self._phase is HEAD:
            self._step(Step.HOLD)
        self._set_deadline()

    def resume_writing(self) -> None:
        self._channel.unblock()
        self._server.admission.reads(self)
        self._set_deadline()
        if self._turn is None:
            self._advance()
        else:
            self.go_on()

    def connection_lost(self, error: Exception | None) -> None:
        self._step(Step.GONE)
        self._channel.lost(error)
        turn, self._turn, self._receiving, self._queue = self._turn, None, None, []
        self._held.clear()
        self._parser.close()
        if turn is not None:
            turn.lost()
        self._server.disconnected(self)

    # Bytes.

    def _recognised(self, data: bytes) -> bool:
        """Answer one request whose head is known, or whose answer is kept. Return False if it is none."""
        server = self._server
        direct = server.direct
        if not data.startswith(START):
            return data.startswith(POST) and self._posted(data)
        if direct is not None:
            end = data.find(b" ", TARGET_AT)
            head = data[end:], self.remote_ip
            caller = server.known.get(head)
            if caller is not None:
                status = self._answer(direct, data[TARGET_AT:end], caller)
                if status == 401:  # the key is no longer valid
                    server.known.pop(head)
                if status is not None:
                    return True
        pages = server.pages
        return pages is not None and self._answered_by(pages, data)

    def _posted(self, data: bytes) -> bool:
        """Begin a post whose head is known. Return False if the bytes are not that request and no more."""
        server, posts = self._server, self._server.posts
        at, end = data.find(b" ", POSTS_TARGET_AT), data.find(HEAD_END) + len(HEAD_END)
        named = server.known_posts.get((data[at:end], self.remote_ip))
        if posts is None or named is None or len(data) - end != int(named.get(b"content-length", b"0")):
            return False
        target = data[POSTS_TARGET_AT:at]
        exchange = Exchange(self, RequestHead("POST", target, "1.1", [], keep_alive=True, plain=None))
        delegate = posts.take(target, named, exchange)
        if delegate is None:
            return False
        self._turn = exchange
        self._step(Step.TURN)
        self._step(Step.WHOLE)
        server.admission.asked(self, server.idle_deadline)
        self._set_deadline()
        exchange.begin_whole(delegate, data[end:])
        return True

    def learn_post(self, data: bytes, target: bytes, named: Mapping[bytes, bytes]) -> None:
        """Keep the head of a post that succeeded. `data` is the slice with the end of its head."""
        self._server.known_posts.learn(data, target, self.remote_ip, named)

    def _answer(self, direct: DirectRoute, target: bytes, caller: Any) -> int | None:
        """Return the status, if the direct route has an answer."""
        answer = direct.answer(target, caller)
        if answer is None:
            return None
        status, rest = answer
        server = self._server
        if self._phase is FRESH:
            self._asked()
        self.deadline = server.idle_deadline
        if server.ending and self.closing:
            self._send(server.status_lines[status] + CLOSES + rest)
            self.linger()
        else:
            self._send(server.status_lines[status] + rest)  # may set another deadline
        return status

    def _asked(self) -> None:
        """Note the first request of the connection, which is answered directly."""
        self._step(Step.DIRECT)
        self._server.admission.asked(self, self._server.idle_deadline)

    def _answered_by(self, pages: PageRoute, data: bytes) -> bool:
        """Answer a request with an answer that is kept, if there is one."""
        found = pages.answer(data, self.remote_ip)
        if found is None:
            return False
        status, rest, body = found
        server = self._server
        if self._phase is FRESH:
            self._asked()
        self.deadline = server.idle_deadline
        is_last = server.ending and self.closing
        line = server.status_lines[status] + CLOSES if is_last else server.status_lines[status]
        if len(body) <= JOINED_BYTES:
            self._send(b"".join((line, rest, body)))
        else:  # not copied: many clients may be reading it
            self._send(line + rest)
            self._send(body)
        if is_last:
            self.linger()
        return True

    def go_on(self) -> None:
        """Parse the held bytes whose turn it is. Read on when none are left."""
        if self._phase in ENDED:
            return
        self._settle()
        for _ in range(SLICES_AT_ONCE):
            if not self._held or not self._takes_bytes:
                break
            self._take_slice()
        if self._held and self._takes_bytes:
            self._server.go_on_later(self)
        if self._phase not in READS:
            self._held.clear()
        if self._held:
            self._hold()
            self._channel.stop_reading()
        else:
            self._channel.read_on()
            self._end_if_over()

    def _take_slice(self) -> None:
        size = _slice_of(self._held)
        data = bytes(self._held[:size])
        del self._held[:size]
        if self._phase is not IDLE or not self._recognised(data):
            self._parse(data)

    @property
    def _takes_bytes(self) -> bool:
        """It is the turn of the next bytes, and they can be taken."""
        if self._phase is BODY and self._turn is not None:
            return not self._turn.blocked and not self._channel.blocked
        return self._phase in AT_ONCE

    @property
    def holds_bytes(self) -> bool:
        return bool(self._held)

    @property
    def _waiting(self) -> bool:
        """Something waits behind the exchange whose turn it is."""
        return bool(self._held or self._queue or self._refusal)

    def _settle(self) -> None:
        """Take the steps that follow from the other machines when no exchange has its turn any more."""
        if self._phase is HELD and not self._channel.blocked:
            self._step(Step.FREE)
        if self._phase is IDLE and self._parser.midway:
            self._step(Step.HEAD_PART)

    def _hold(self) -> None:
        """Let bytes wait while others have their turn."""
        if self._phase is IDLE:
            self._step(Step.HOLD)
        elif self._phase is FRESH:  # empty lines without end count as a part of its head
            self._step(Step.HEAD_PART)

    def _end_if_over(self) -> None:
        """End a connection over which no other request will come."""
        if self.at_eof and not self._waiting:
            if self._phase in (IDLE, FRESH):
                self.linger()
            elif self._phase in (HEAD, BODY):
                self._give_up()
        elif self._server.draining:
            self.drain()

    def _give_up(self) -> None:
        """End in the middle of a request: the rest of it will never come."""
        if self._turn is not None and self._turn.head_written:
            self.abort()  # so that the client sees that its answer is not whole
        else:
            self.linger()

    # Events of the parser.

    def _parse(self, data: bytes) -> None:
        try:
            for event in self._parser.feed(data):
                if isinstance(event, RequestHead):  # first: most events are one of these two
                    self._take_head(event, data)
                elif isinstance(event, RequestEnd):
                    self._take_end()
                else:
                    self._take(event)
        except Exception:
            log.exception("a request could not be handed over")
            self.abort()

    def _take(self, event: BodyPart | HeadPart | Unread | Malformed) -> None:
        match event:
            case BodyPart(content):
                if self._receiving is not None:
                    self._receiving.body(content)
            case HeadPart():
                if self._phase is IDLE or self._phase is FRESH:
                    self._step(Step.HEAD_PART)
                self._set_deadline()
            case Unread(rest):
                self._held[:0] = rest
                self._server.go_on_later(self)
            case Malformed(status, code, target):
                if self._phase in READS:  # else a refusal or an early answer is the last
                    self._refuse(status, code, target)

    def _take_head(self, head: RequestHead, data: bytes) -> None:
        """Answer a request directly, or give it to the application. `data` is the slice that brought it."""
        server, phase = self._server, self._phase
        direct = server.direct
        if head.plain is not None and direct is not None and (phase is IDLE or phase is FRESH):
            caller = direct.caller(head.plain, self.remote_ip)
            status = self._answer(direct, head.target, caller) if caller is not None else None
            if status is not None:
                if status < 400:
                    server.known.learn(data, head.target, self.remote_ip, caller)
                return
        if phase not in READS:
            return
        exchange = self._receiving = Exchange(self, head, data)
        if self._turn is None:
            self._begin(exchange)
        else:
            self._queue.append(exchange)

    def _take_end(self) -> None:
        receiving, self._receiving = self._receiving, None
        if receiving is None:  # it was answered directly, or an answer before it was the last
            return
        if receiving is self._turn:
            self._step(Step.WHOLE)
            self._server.admission.asked(self, self._server.idle_deadline)
        if not receiving.keep_alive:
            self._step(Step.NO_MORE)
        receiving.complete()
        self._set_deadline()

    # Turns.

    def _begin(self, exchange: Exchange) -> None:
        self._turn = exchange
        self._step(Step.TURN)
        if exchange.whole:
            self._step(Step.WHOLE)
        self._set_deadline()
        try:
            exchange.begin()
        except HTTPInputError:
            self._turn, self._receiving, self._queue = None, None, []
            self._refuse(*MALFORMED, exchange.target)

    def exchange_over(self, *, keep_alive: bool, at_once: bool = False) -> None:
        """Go on after the exchange whose turn it is: its whole answer is written."""
        if keep_alive and at_once:
            self._next()
        elif keep_alive:
            self._server.loop.call_soon(self._next)
        else:
            self._turn, self._receiving, self._queue = None, None, []
            self.linger()

    def _next(self) -> None:
        if self._phase in ENDED:
            return
        self._turn = None
        self._step(Step.ANSWERED)
        self._advance()

    def _advance(self) -> None:
        """Begin the next exchange, refusal or bytes. A client that does not read has to read first."""
        if self._phase in ENDED:
            return
        if self._channel.blocked:
            self._hold()
        elif self._queue:
            try:
                self._begin(self._queue.pop(0))
            except Exception:
                log.exception("a request could not be handed over")
                self.abort()
            self.go_on()
        elif self._refusal is not None:
            self._speak_refusal(*self._refusal)
        else:
            self._settle()
            self._set_deadline()
            self.go_on()

    def _refuse(self, status: int, code: UnreadCode, target: bytes) -> None:
        """Read nothing more, and write the refusal when it is its turn."""
        if self._phase in ENDED:
            return
        broken, self._receiving = self._receiving, None
        turn = self._turn
        self._held.clear()
        if turn is not None and turn is not broken:
            self._refusal = (status, code, target)
            self._step(Step.NO_MORE)
            if broken is not None:
                self._queue.remove(broken)
            return
        self._turn = None
        if turn is not None:
            turn.lost()
        if turn is not None and turn.head_written:
            self.abort()
        else:
            self._speak_refusal(status, code, target)

    def _speak_refusal(self, status: int, code: UnreadCode, target: bytes) -> None:
        self.write(self._server.refusal(status, code, self.remote_ip, target))
        self.linger()

    def write(self, data: bytes) -> "asyncio.Future[None]":
        return self._channel.write(data)

    # Deadlines.

    def _set_deadline(self) -> None:
        """Set the deadline of the present phase."""
        server, phase = self._server, self._phase
        if phase in ENDED:
            return
        if self._channel.blocked:
            self._wait_for_reader()
        elif phase is BODY:
            self.deadline = server.now + server.limits.body_seconds
            server.admission.begins(self, server.now)
        elif phase is ANSWERING or phase is LAST:
            self.deadline = NEVER
        elif phase is FRESH or phase is HEAD:
            self.deadline = server.now + server.limits.header_seconds
            server.admission.begins(self, server.now)
        else:
            self.deadline = server.idle_deadline
        if server.draining:
            self.drain()

    def _wait_for_reader(self) -> None:
        self._channel.watch()
        self.deadline = self._server.now + self._server.limits.write_seconds

    def expired(self) -> None:
        """End the connection after its deadline, or give it more time."""
        channel = self._channel
        if self._phase is CLOSED or channel.closed:
            return
        if not channel.blocked and not channel.unsent:
            self._time_out()
        elif channel.progressed:
            self._wait_for_reader()
        else:
            self.abort()

    def _time_out(self) -> None:
        if self._phase is LINGERING:
            self.abort()
        elif self._parser.midway:
            self._refuse(*TOO_SLOW, self._parser.target)
        elif not self._channel.quiet:
            return  # its next request is here, and read in a moment
        elif self._server.draining:
            self.abort()  # it has every answer: a stop need not wait for it to close first
        else:
            self.linger()

    # The end.

    def drain(self) -> None:
        """End the connection once its requests are answered.

        A request may be on its way, and its client would not know its outcome. So a silent connection ends a
        moment later. A request that comes in the meantime is answered, and its answer says that it is the
        last.
        """
        if self._phase in AT_ONCE or (self._phase is HELD and self._parser.midway):
            self.deadline = min(self.deadline, self._server.now + DRAIN_SECONDS)

    def linger(self) -> None:
        """Close once everything is sent; give the client a moment to close first."""
        if self._phase in ENDED:
            return
        self._step(Step.LAST_WORD)
        self._held.clear()
        self.deadline = self._server.now + LINGER_SECONDS
        self._server.admission.begins(self, self._server.now)
        self._channel.linger()

    def hasten(self) -> None:
        """Close if only the client's own close is waited for, and the client has received every answer."""
        if self._phase is LINGERING and self._channel.quiet and not self._channel.unsent:
            self.abort()

    def abort(self) -> None:
        """Close now, opened or not, and drop everything that is not sent yet."""
        if self._phase is OPENING:
            if self.accepted is not None:
                # The loop then meets the end of a client. The opening is not cancelled: uvloop never reports
                # the end of a connection that was cancelled just before or after it reported its beginning.
                with contextlib.suppress(OSError):  # the client has gone
                    self.accepted.shutdown(socket.SHUT_RDWR)
        elif self._phase is not CLOSED:
            self._step(Step.GONE)
            self._channel.abort()

    def make_room(self) -> None:
        """End now. An idle client loses nothing, and an unread one the answers that it left."""
        self.deadline = NEVER
        self.abort()


def _slice_of(data: bytearray) -> int:
    """Return how many of these bytes are parsed together: at most those to the end of the first head."""
    end = data.find(HEAD_END, 0, SLICE_BYTES)
    return end + len(HEAD_END) if end >= 0 else min(len(data), SLICE_BYTES)
