"""Answers come in the order of their requests, one exchange at a time. Law: nothing is answered twice, and
nothing that was asked as a whole is left unanswered, whatever comes behind it.

What waits for its turn: exchanges that were parsed together with the one whose turn it is, then a refusal of
what came behind them (nothing is read after that), or else bytes that are not parsed yet.
"""

import logging
from typing import TYPE_CHECKING

from tornado.httputil import HTTPInputError, HTTPServerConnectionDelegate

from wire.channel import NEVER, Channel
from wire.exchange import Exchange
from wire.head import MALFORMED, TOO_SLOW, Refused

if TYPE_CHECKING:
    from wire.server import WireServer

log = logging.getLogger(__name__)

DRAIN_SECONDS = 1.0
"""How long a stop waits for the first request of a connection, or for the rest of a head."""


class Turns(Channel):
    """The exchanges of a connection. What reads bytes tells it of requests, and is told when to go on."""

    __slots__ = (
        "_held",
        "_midway",
        "_plain",
        "_queue",
        "_reading_done",
        "_receiving",
        "_refusal",
        "_target",
        "_turn",
        "fresh",
    )

    def __init__(self, server: "WireServer") -> None:
        super().__init__(server)
        self.fresh = True  # has asked for nothing yet
        self._plain = True  # the next bytes are parsed at once
        self._reading_done = False  # what comes now is no request any more
        self._midway = False  # in a message that has begun and is not complete
        self._target = b""  # of the head that is being parsed
        self._receiving: Exchange | None = None
        self._turn: Exchange | None = None
        self._queue: list[Exchange] = []
        self._refusal: tuple[int, str, bytes] | None = None
        self._held = b""

    @property
    def application(self) -> HTTPServerConnectionDelegate:
        return self._server.application

    @property
    def closing(self) -> bool:
        """Whether no request will be answered after the one whose turn it is."""
        last = not self._queue and not self._held and self._refusal is None
        return last and (self._reading_done or self._at_eof or self._server.draining)

    @property
    def idle(self) -> bool:
        """Whether nothing was asked that is not answered, as far as anybody here can know. A handshake asks
        for nothing: it may never end."""
        if not self.opened:
            return self._silent()
        if self.accepted is not None and self._server.secure:
            return False  # what came with the end of its handshake is read in a moment
        return self._open and self._plain and not self._midway and self._settled()

    def _asks(self) -> None:
        """The first request has come."""
        self.fresh = False
        self._server.admission.asked(self, self._server.idle_deadline)

    def pause_writing(self) -> None:
        self._plain = False
        super().pause_writing()

    def go_on(self) -> None:
        """Reads on, as far as it is its turn."""
        raise NotImplementedError

    def _begin(self, exchange: Exchange) -> None:
        """Raises Refused."""
        self._turn = exchange
        self.set_deadline()
        try:
            exchange.begin()
        except HTTPInputError:
            raise Refused(*MALFORMED) from None

    def exchange_over(self, *, keep_alive: bool) -> None:
        """The answer of the exchange whose turn it is has been written as a whole."""
        if keep_alive:
            self._server.loop.call_soon(self._next)
        else:
            self._turn, self._receiving, self._queue = None, None, []
            self.linger()

    def _next(self) -> None:
        self._turn = None
        self._advance()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._turn is None:
            self._advance()
        else:
            self.go_on()

    def _advance(self) -> None:
        """Begins what is next; a client that does not read has to read first."""
        if not self._open or self._lingering or self._paused:
            return
        if self._queue:
            exchange = self._queue.pop(0)
            try:
                self._begin(exchange)
                self.go_on()
            except Refused as refused:
                self._turn, self._receiving, self._queue = None, None, []
                self._refuse(refused.status, refused.text, exchange.target)
            except Exception:
                log.exception("a request could not be handed over")
                self.abort()
        elif self._refusal is not None:
            self._speak_refusal(*self._refusal)
        else:
            self.set_deadline()
            self.go_on()

    def _refuse(self, status: int, text: str, target: bytes = b"") -> None:
        """Nothing more is read; the refusal is spoken when it is its turn."""
        broken, self._receiving = self._receiving, None
        target = target or (broken.target if broken is not None else self._target)
        self._reading_done, self._plain, self._held = True, False, b""
        turn = self._turn
        if turn is not None and turn is not broken:
            self._refusal = (status, text, target)
            if broken is not None:
                self._queue.remove(broken)
            return
        self._turn = None
        if turn is not None:
            turn.lost()
        if turn is not None and turn.head_written:
            self.abort()
        else:
            self._speak_refusal(status, text, target)

    def linger(self) -> None:
        self._plain, self._reading_done = False, True
        super().linger()

    def _speak_refusal(self, status: int, text: str, target: bytes) -> None:
        self.write(self._server.refusal(status, text, self.remote_ip, target))
        self.linger()

    def set_deadline(self) -> None:
        if self._lingering:
            return
        server = self._server
        if self._paused:
            super().set_deadline()
        elif self._turn is not None:
            receives = self._turn is self._receiving
            self.deadline = server.now + server.limits.body_seconds if receives else NEVER
        elif self._midway or self.fresh:
            self.deadline = server.now + server.limits.header_seconds
        else:
            self.deadline = server.idle_deadline

    def _timed_out(self) -> None:
        if self._lingering:
            self.abort()
        elif self._midway:
            self._refuse(*TOO_SLOW)
        else:
            self.linger()

    def drain(self) -> None:
        """Ends the connection once what was asked over it is answered."""
        if not self._open:
            return
        if self.fresh or (self._midway and self._turn is None):
            self.deadline = self._server.now + DRAIN_SECONDS
        elif self._plain and not self._midway:
            self.linger()
