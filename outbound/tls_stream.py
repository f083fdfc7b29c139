"""TLS to a peer that nobody trusts. Invariant: the peer decides neither how long the event loop is busy nor
how much work is done for it.

A `TlsStream` is a protocol for the transport below it, and a transport for the protocol above it. So TLS
inside the TLS of a proxy is two of them. OpenSSL processes all that it is given in one call. So it gets
complete records that `outbound/tls_records.py` has counted, and the event loop never gives it records that
could keep it busy:

    in the handshake       all complete records at once, in a thread of `HandshakeThreads`
    after the handshake    one record at a time, few in one turn of the loop; those above INLINE_BYTES in a
                           thread

A stream goes through these phases:

    HANDSHAKING -> SECURED    the peer has proven its name
    HANDSHAKING, SECURED -> CLOSED    `abort`, the end of the peer's data, or an error

The transport below may be lost in every phase. The bytes that came before the loss are still processed, and
the protocol above hears of the loss after them. A refused peer ends in an ssl.SSLError, like one with a bad
certificate.

OpenSSL is not shared: while a thread works for the stream (`_working`), nothing else calls it. The stream
does not read from the transport below while it rests, and, after the handshake, while the protocol above has
paused it, a thread works or the next turn of the loop is due. Then the peer cannot send more than the
kernel's buffers hold.
"""

import asyncio
import logging
import os
import ssl
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from functools import partial
from typing import TypeVar, cast

from outbound.tls_records import TlsRecords

T = TypeVar("T")

log = logging.getLogger(__name__)

QUICK_BYTES = 8 * 1024
"""A handshake is quick while the peer has sent at most this much, twice the usual amount. The most expensive
certificates of this size take 3 ms; those of HANDSHAKE_BYTES take 35 ms."""
QUICK_NICE, LONG_NICE = 12, 19
"""The priorities of the threads, see nice(2). On a core that the loop keeps busy, both threads together get
8%, nearly all of it for the quick one: about 180 healthy handshakes a second."""


class HandshakeThreads:
    """Two threads, for quick and for long handshakes. Belongs to the event loop that uses it.

    OpenSSL verifies a certificate chain in one call, and the peer chooses the length of the chain. So the
    steps of handshakes run in threads, without the interpreter's lock. The threads have a low priority: the
    kernel gives them little CPU time while the loop has work. There are two threads because a step cannot be
    interrupted: a long chain delays only other long chains.
    """

    def __init__(self) -> None:
        self._quick = _thread("tls", QUICK_NICE)
        self._long = _thread("tls-long", LONG_NICE)
        self._used: set[ThreadPoolExecutor] = set()

    def run(self, work: Callable[[bytes], T], data: bytes, heard: int) -> "asyncio.Future[T]":
        """Run `work(data)` for a peer that has sent `heard` bytes so far. Cancelling does not stop running
        work."""
        thread = self._quick if heard <= QUICK_BYTES else self._long
        self._used.add(thread)
        return asyncio.get_running_loop().run_in_executor(thread, work, data)

    async def close(self) -> None:
        """End the threads after the work that they have begun."""
        while self._used:
            thread = self._used.pop()
            await asyncio.get_running_loop().run_in_executor(thread, int)  # runs after all other work
            thread.shutdown()


def _thread(name: str, nice: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, name, _stand_back, (nice,))


def _stand_back(nice: int) -> None:
    try:
        os.setpriority(
            os.PRIO_PROCESS, threading.get_native_id(), nice
        )  # on Linux, the priority of this thread alone
    except OSError:  # an error here would break the thread pool, and every exchange over TLS with it
        log.warning("handshakes with receivers take from vote checks: the process may not use setpriority(2)")


INLINE_BYTES = 2 * 1024
"""The largest record for the event loop. One full of tickets takes a millisecond, one with data some
microseconds."""
TURN_BYTES = 4 * 1024
"""The most bytes of records in one turn of the loop."""
READS = 32
REST_SECONDS = 0.01
"""After READS reads for one request, the stream rests after each read. Otherwise a peer that sends byte by
byte would take a turn of the loop for each byte. A usual response takes one or two reads."""
OUTGOING_BYTES = 16 * 1024
"""The most bytes that OpenSSL may send in answer to the records that it got at once."""
_LEAST_BYTES = 256  # the size that even an empty record has in TURN_BYTES, because it takes time as well
_READ_BYTES = 16 * 1024

_Data = list[bytes]
"""Pieces of data for the protocol above. An empty piece is the end."""


class _Phase(Enum):
    """The phases of a stream, see above."""

    HANDSHAKING = auto()
    SECURED = auto()
    CLOSED = auto()


class TlsStream(asyncio.Protocol, asyncio.Transport):
    """The client's end. After `handshake`, `set_protocol` names the protocol above."""

    _below: asyncio.Transport

    def __init__(
        self, context: ssl.SSLContext, name: str, threads: HandshakeThreads, *, is_long: bool = False
    ) -> None:
        """Make a stream to the peer that has to prove its `name`.

        `is_long` allows more records and reads, in proportion to the bytes that have come.
        """
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._ssl = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._records = TlsRecords(is_long=is_long)
        self._above: asyncio.Protocol | None = None
        self._phase = _Phase.HANDSHAKING
        self._handshaken: asyncio.Future[bool] = self._loop.create_future()  # False if it has failed
        self._early: _Data = []  # data that came before there was a protocol above
        self._unsent = b""  # data to send once the thread has finished
        self._working: asyncio.Future[_Data | None] | None = None
        self._again: asyncio.Handle | None = None
        self._reads = 0
        self._resting: asyncio.TimerHandle | None = None
        self._paused = False  # by the protocol above
        self._is_reading = True  # from the transport below
        self._lost = False  # the transport below
        self._error: BaseException | None = None

    async def handshake(self) -> None:
        """Wait until the peer has proven its name. Raises OSError, an ssl.SSLError if TLS is the cause."""
        if not await self._handshaken:
            raise self._error or ConnectionResetError()

    @property
    def is_working(self) -> bool:
        """True while the peer's bytes wait for a thread, or a thread processes them."""
        return self._working is not None

    # -- the transport, for the protocol above ---------------------------------------------------------

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._above = cast(asyncio.Protocol, protocol)
        self._advance_soon()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send a request. Requests are small, so there is no flow control."""
        self._records.expect()
        self._reads = 0
        if self._working is not None:
            self._unsent += data
        elif self._phase is not _Phase.CLOSED:
            self._send(data)

    def abort(self) -> None:
        self._phase = _Phase.CLOSED
        self._records.clear()
        if self._working is not None:
            self._working.cancel()
        if self._resting is not None:
            self._resting.cancel()
        self._below.abort()

    def is_closing(self) -> bool:
        return self._phase is _Phase.CLOSED or self._lost or self._below.is_closing()

    def pause_reading(self) -> None:
        self._paused = True
        self._read_if_wanted()

    def resume_reading(self) -> None:
        self._paused = False
        self._advance_soon()

    # -- the protocol, for the transport below ---------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast(asyncio.Transport, transport)
        self._continue_handshake(b"")  # sends the client's hello, and reads nothing
        self._flush()

    def data_received(self, data: bytes) -> None:
        if self._phase is _Phase.CLOSED:
            return
        self._reads += 1
        if self._reads > READS + self._records.more and self._resting is None:
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

    # -- incoming data ---------------------------------------------------------------------------------

    def _advance(self) -> None:
        """Process as many records as one turn of the loop allows, and then the loss of the transport, if
        any."""
        room = TURN_BYTES
        try:
            while room > 0 and self._may_advance() and (records := self._records.take()):
                if self._phase is _Phase.SECURED and len(records) <= INLINE_BYTES:
                    self._take(self._decrypt(records), len(records))
                    room -= max(len(records), _LEAST_BYTES)
                else:
                    self._hand_over(records)
        except ssl.SSLError as error:
            self._fail(error)
        if room <= 0:
            self._advance_soon()
        self._read_if_wanted()
        waits = self._working or self._again or self._paused
        if self._lost and (self._phase is _Phase.CLOSED or not waits):
            self._end()

    def _advance_soon(self) -> None:
        if self._again is None:
            self._again = self._loop.call_soon(self._advance_again)

    def _advance_again(self) -> None:
        self._again = None
        early, self._early = self._early, []
        self._deliver(early)
        self._advance()

    def _may_advance(self) -> bool:
        if self._phase is _Phase.CLOSED or self._paused or self._early or self._working is not None:
            return False
        return self._above is not None or self._phase is _Phase.HANDSHAKING

    def _rested(self) -> None:
        self._resting = None
        self._read_if_wanted()

    def _read_if_wanted(self) -> None:
        """Pause or resume the transport below. During the handshake, `TlsRecords` bounds the peer's bytes."""
        busy = self._paused or self._working or self._again
        wanted = not (self._resting or (self._phase is _Phase.SECURED and busy))
        if wanted == self._is_reading or self.is_closing():
            return
        self._is_reading = wanted
        if wanted:
            self._below.resume_reading()
        else:
            self._below.pause_reading()

    def _hand_over(self, records: bytes) -> None:
        """Let a thread process the records. Nothing else calls OpenSSL until the thread has finished."""
        if self._phase is _Phase.HANDSHAKING:
            self._working = self._threads.run(self._continue_handshake, records, self._records.heard)
        else:
            self._working = self._threads.run(self._decrypt, records, len(records))
        self._working.add_done_callback(partial(self._handed_back, len(records)))

    def _handed_back(self, size: int, working: "asyncio.Future[_Data | None]") -> None:
        self._working = None
        if self._phase is not _Phase.CLOSED:
            try:
                self._take(working.result(), size)
            except Exception as error:
                self._fail(error)
                if not isinstance(error, ssl.SSLError):
                    raise  # a bug: the loop logs it
        self._advance()

    def _continue_handshake(self, records: bytes) -> _Data | None:
        """Process records of the handshake. Returns None while it goes on, else the data after it.

        Raises ssl.SSLError.
        """
        self._incoming.write(records)
        try:
            self._ssl.do_handshake()
        except ssl.SSLWantReadError:
            return None
        return self._decrypt(b"")

    def _decrypt(self, records: bytes) -> _Data:
        """Process records after the handshake, and return their data. Raises ssl.SSLError."""
        self._incoming.write(records)
        data: _Data = []
        try:
            while self._incoming.pending and (not data or data[-1]):
                data.append(self._ssl.read(_READ_BYTES))
        except ssl.SSLWantReadError:
            pass
        return data

    def _take(self, data: _Data | None, size: int) -> None:
        """Continue with the data from records of this size. Raises ssl.SSLError."""
        self._flush()
        if data is None:
            return
        if self._phase is _Phase.HANDSHAKING:
            self._phase = _Phase.SECURED
            self._records.secured()
            self._handshake_over(secured=True)
        elif not data:
            self._records.silent(size)
        if self._unsent:
            unsent, self._unsent = self._unsent, b""
            self._send(unsent)
        if self._above is None:
            self._early += data
        else:
            self._deliver(data)

    def _deliver(self, data: _Data) -> None:
        for piece in data:
            if self._phase is _Phase.CLOSED or self._above is None:
                return
            if piece:
                self._above.data_received(piece)
            else:
                self._above.eof_received()
                self.abort()

    # -- outgoing data ---------------------------------------------------------------------------------

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
            raise ssl.SSLError("the peer makes OpenSSL send too much")
        if self._outgoing.pending and not self.is_closing():
            self._below.write(self._outgoing.read())

    # -- the end ---------------------------------------------------------------------------------------

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self.abort()

    def _end(self) -> None:
        self._handshake_over(secured=False)
        above, self._above = self._above, None
        if above is not None:
            above.connection_lost(self._error if isinstance(self._error, Exception) else None)

    def _handshake_over(self, *, secured: bool) -> None:
        if not self._handshaken.done():
            self._handshaken.set_result(secured)
