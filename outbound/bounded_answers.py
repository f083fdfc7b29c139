"""Bounds for the answers that aiohttp reads. Invariant: the loop's time for an answer is in proportion to its
bytes.

aiohttp bounds the lines of a head, and its callers bound the body and the time. It does not bound interim
answers, chunks, chunk extensions or reads: an answer of one byte a chunk, or one byte a read, takes a hundred
times as long as its bytes do at once. Here each answer may have as many of them as a real one could need, in
proportion to its size. An answer with more loses its connection.
"""

import asyncio
from functools import partial
from typing import Any

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_parser import RawResponseMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

HEAD_BYTES = 32 * 1024
"""The longest head, interim answers included."""
MAX_INTERIM = 8
MAX_HEADERS = 100
"""The most header lines of an answer. aiohttp allows 128."""
FRAMED_BYTES = 4 << 20
"""The longest answer with its framing. Callers allow only shorter bodies."""
FREE = 64
"""The chunks, and the reads, that an answer may have whatever its size."""
BYTES_EACH = 512
"""The bytes that allow one more chunk and one more read. A packet of the network has more."""
SLICE = 4 * 1024
"""The most bytes that the parser gets before the chunks are counted: about 700 chunks."""


class BoundedHandler(ResponseHandler):
    """A connection of aiohttp that counts the parts of each answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._before: StreamReader | None = None
        """The body of the answer before this one."""
        self._bytes = self._head_bytes = self._reads = self._chunks = self._heads = 0

    def set_response_params(self, **params: Any) -> None:
        """Begin with the next answer."""
        super().set_response_params(**{**params, "max_headers": MAX_HEADERS})
        self._before = self._payload
        self._bytes = self._head_bytes = self._reads = self._chunks = self._heads = 0

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """Take a head. aiohttp calls this for each head, also for those of interim answers."""
        self._heads += 1
        super().feed_data(data, size)

    def data_received(self, data: bytes) -> None:
        self._reads += bool(data)
        for start in range(0, max(len(data), 1), SLICE):
            piece = data[start : start + SLICE]
            before = self._chunks_begun()
            super().data_received(piece)
            self._bytes += len(piece)
            if self._payload is self._before or self._payload is EMPTY_PAYLOAD:  # interim answers have none
                self._head_bytes += len(piece)
            self._chunks += max(self._chunks_begun() - before, 0)
            if self._is_beyond():
                self._refuse()
                return

    def _chunks_begun(self) -> int:
        """Return the number of chunks of the body that nobody has read yet."""
        if self._payload is None or self._payload is EMPTY_PAYLOAD:
            return 0
        return len(self._payload._http_chunk_splits or ())

    def _is_beyond(self) -> bool:
        most = FREE + self._bytes // BYTES_EACH
        too_many = self._reads > most or self._chunks > most or self._heads > 1 + MAX_INTERIM
        return too_many or self._head_bytes > HEAD_BYTES or self._bytes > FRAMED_BYTES

    def _refuse(self) -> None:
        error = aiohttp.ClientConnectionError("the answer is made of too many parts")
        if self._payload is not None:
            self._payload.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()


def bounded(loop: asyncio.AbstractEventLoop) -> partial[ResponseHandler]:
    """Return the factory of a connector's connections, in place of aiohttp's own."""
    handler: type[ResponseHandler] = BoundedHandler
    return partial(handler, loop=loop)


class BoundedConnector(aiohttp.TCPConnector):
    """aiohttp's own connector, with bounded answers."""

    def __init__(self) -> None:
        super().__init__()
        self._factory = bounded(self._loop)
