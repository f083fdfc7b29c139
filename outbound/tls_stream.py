"""TLS to a stranger. Law: the peer chooses neither how long the loop is held nor how much is done for it.

A `TlsStream` is a protocol to the transport below it and a transport to the protocol above, so that TLS in
the TLS of a proxy is the same thing twice. OpenSSL works without a break at what it is given. So it gets
whole records, as `outbound/tls_records.py` lets them through, and none on the loop that could keep it busy:

    of a handshake   all that have come, in a thread (`outbound/handshakes.py`)
    behind it        one at a time and a few in a turn of the loop; those above INLINE_BYTES in a thread

A peer that is refused ends in an ssl.SSLError, as one does whose certificate proves nothing.
"""

import asyncio
import ssl
from functools import partial
from typing import cast

from outbound.handshakes import HandshakeThreads
from outbound.tls_records import TlsRecords

INLINE_BYTES = 2 * 1024
"""Full of tickets, a record of this size takes a millisecond; with an answer in it, some microseconds."""
TURN_BYTES = 4 * 1024
READS = 32
REST_SECONDS = 0.01
"""A peer that has been read from so often for one request rests between reads: bytes that come one by one are
a turn of the loop each, and then some hundred a second. A usual answer comes in one or two reads."""
OUTGOING_BYTES = 16 * 1024
"""The most that records given to OpenSSL at once may have it answer."""
_LEAST_BYTES = 256  # what a record counts for in a turn, however small: it is work too
_READ_BYTES = 16 * 1024

Said = list[bytes]


class TlsStream(asyncio.Protocol, asyncio.Transport):
    """The client's end. Once `handshake` has returned, `set_protocol` says who is above."""

    _below: asyncio.Transport

    def __init__(self, context: ssl.SSLContext, name: str, threads: HandshakeThreads) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._records = TlsRecords()
        self._above: asyncio.Protocol | None = None
        self._secured = False
        self._over = self._loop.create_future()  # the handshake, well or not
        self._early: Said = []  # what came before there was somebody above
        self._unsent = b""  # what was to be sent while a thread was at work
        self._working: asyncio.Future[Said | None] | None = None
        self._again: asyncio.Handle | None = None
        self._reads = 0
        self._resting: asyncio.TimerHandle | None = None
        self._held = False  # by the one above
        self._is_reading = True
        self._closed = False  # by us
        self._lost = False  # by the one below
        self._error: BaseException | None = None

    async def handshake(self) -> None:
        """Returns when the peer has proven its name. Raises OSError, an ssl.SSLError if TLS is to blame."""
        await self._over
        if not self._secured:
            raise self._error or ConnectionResetError()

    @property
    def is_working(self) -> bool:
        """What the peer has said waits for a thread, or is looked at in one."""
        return self._working is not None

    # -- the transport, for the protocol above ---------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._above = cast(asyncio.Protocol, protocol)
        self._advance_soon()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Nobody is asked to wait: what is written is a request, and few bytes."""
        self._records.expect()
        self._reads = 0
        if self._working is not None:
            self._unsent += data
        elif not self._closed:
            self._send(data)

    def abort(self) -> None:
        self._closed = True
        self._records.clear()
        if self._working is not None:
            self._working.cancel()
        if self._resting is not None:
            self._resting.cancel()
        self._below.abort()

    def is_closing(self) -> bool:
        return self._closed or self._lost or self._below.is_closing()

    def pause_reading(self) -> None:
        self._held = True
        self._read_if_wanted()

    def resume_reading(self) -> None:
        self._held = False
        self._advance_soon()

    # -- the protocol, for the transport below ---------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast(asyncio.Transport, transport)
        self._look_at(b"")  # says our hello; nothing in it is the peer's
        self._flush()

    def data_received(self, data: bytes) -> None:
        if self._closed:
            return
        self._reads += 1
        if self._reads > READS and self._resting is None:
            self._resting = self._loop.call_later(REST_SECONDS, self._rested)
        try:
            self._records.feed(data)
        except ssl.SSLError as error:
            self._fail(error)
        else:
            self._advance()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self._error = self._error or error
        self._advance()

    # -- what comes ------------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Shows OpenSSL what fits in a turn of the loop. The end comes behind all that came before it."""
        room = TURN_BYTES
        try:
            while room > 0 and self._may_advance() and (records := self._records.take()):
                if self._secured and len(records) <= INLINE_BYTES:
                    self._take(self._look_at(records), len(records))
                    room -= max(len(records), _LEAST_BYTES)
                else:
                    self._hand_over(records)
        except ssl.SSLError as error:
            self._fail(error)
        if room <= 0:
            self._advance_soon()
        self._read_if_wanted()
        waits = self._working or self._again or self._held
        if self._lost and (self._closed or not waits):
            self._end()

    def _advance_soon(self) -> None:
        if self._again is None:
            self._again = self._loop.call_soon(self._advance_again)

    def _advance_again(self) -> None:
        self._again = None
        early, self._early = self._early, []
        self._tell(early)
        self._advance()

    def _may_advance(self) -> bool:
        if self._closed or self._held or self._early or self._working is not None:
            return False
        return self._above is not None or not self._secured

    def _rested(self) -> None:
        self._resting = None
        self._read_if_wanted()

    def _read_if_wanted(self) -> None:
        """What is not read, the peer cannot send. A handshake needs no such bound: it has its own."""
        wanted = not (self._resting or (self._secured and (self._held or self._working or self._again)))
        if wanted == self._is_reading or self.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._below.resume_reading()
        else:
            self._below.pause_reading()

    def _hand_over(self, records: bytes) -> None:
        """Shows them to OpenSSL in a thread. Nothing else touches OpenSSL until they are handed back."""
        heard = len(records) if self._secured else self._records.heard
        self._working = self._threads.run(self._look_at, records, heard)
        self._working.add_done_callback(partial(self._handed_back, len(records)))

    def _handed_back(self, size: int, working: "asyncio.Future[Said | None]") -> None:
        self._working = None
        if not self._closed:
            try:
                self._take(working.result(), size)
            except Exception as error:
                self._fail(error)
                if not isinstance(error, ssl.SSLError):
                    raise  # a bug: the loop's log has it
        self._advance()

    def _look_at(self, records: bytes) -> Said | None:
        """What they say to the one above, the end as an empty piece; None while the handshake goes on.

        Raises ssl.SSLError.
        """
        self._incoming.write(records)
        said: Said = []
        try:
            if not self._secured:
                self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return None
        try:
            while self._incoming.pending and (not said or said[-1]):
                said.append(self._ssl.read(_READ_BYTES))
        except ssl.SSLWantReadError:
            pass
        return said

    def _take(self, said: Said | None, size: int) -> None:
        """Goes on with what OpenSSL has made of records of this size. Raises ssl.SSLError."""
        self._flush()
        if said is None:
            return
        if not self._secured:
            self._secured = True
            self._records.secured()
            self._over_now()
        elif not said:
            self._records.silent(size)
        if self._unsent:
            unsent, self._unsent = self._unsent, b""
            self._send(unsent)
        if self._above is None:
            self._early += said
        else:
            self._tell(said)

    def _tell(self, said: Said) -> None:
        for piece in said:
            if self._closed or self._above is None:
                return
            if piece:
                self._above.data_received(piece)
            else:
                self._above.eof_received()
                self.abort()

    # -- what goes -------------------------------------------------------------------------------------

    def _send(self, data: bytes | bytearray | memoryview) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[self._ssl.write(left) :]
            self._flush()
        except ssl.SSLError as error:
            self._fail(error)

    def _flush(self) -> None:
        if self._outgoing.pending > OUTGOING_BYTES:
            raise ssl.SSLError("too much to answer")
        if self._outgoing.pending and not self.is_closing():
            self._below.write(self._outgoing.read())

    # -- the end ---------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.abort()

    def _end(self) -> None:
        self._over_now()
        above, self._above = self._above, None
        if above is not None:
            above.connection_lost(self._error if isinstance(self._error, Exception) else None)

    def _over_now(self) -> None:
        if not self._over.done():
            self._over.set_result(None)
