"""The TLS records of a peer, split and counted. Invariant: a peer that sends more than an honest one, or asks
for expensive work, is refused before OpenSSL reads it.

The header of a record has its length in the clear (RFC 8446, 5.1), and only OpenSSL can read its content.
So this module counts records and bytes. The caller reports records without data for the application through
`silent`.
"""

import ssl
import struct

from outbound.result import BYTES_EACH

HANDSHAKE_BYTES = 32 * 1024
"""The longest handshake. Most peers send 2 to 6 KiB; with post-quantum signatures, about 20 KiB."""
RECORDS = 128
"""The most records of a handshake, and of the response to a request. A usual response has one or two."""
SILENT_RECORDS = 16
SILENT_BYTES = 8 * 1024
"""The most tickets, key updates, warnings, requests to renegotiate and empty records. OpenSSL would read them
without end, and answers some of them. An honest server sends two tickets of about 250 bytes."""

_HEADER_BYTES = 5
_MOST_BYTES = 16 * 1024 + 2_048  # of a record in TLS 1.2; TLS 1.3 allows less
_TYPES = frozenset(range(20, 24))  # change_cipher_spec, alert, handshake, application_data
_VERSION = 3
_HANDSHAKE = 22
_SERVER_HELLO = 2
_RETRY_RANDOM = bytes.fromhex(
    "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
)  # RFC 8446, 4.1.3
_KEY_SHARE = 51
_FINITE_FIELDS = range(0x100, 0x200)  # RFC 8446, 4.2.7


class TlsRecords:
    """The records of one connection. Every method raises ssl.SSLError to refuse the peer.

    `heard` is the number of bytes that the peer has sent in the handshake. `more` is the number of records
    that a response may have beyond RECORDS, if it may be long.
    """

    def __init__(self, *, is_long: bool = False) -> None:
        self.heard = self.more = 0
        self._is_long = is_long
        self._bytes = 0
        self._backlog = bytearray()
        self._handshaking = True
        self._hello_seen = False
        self._taken = self._silent = self._silent_bytes = 0

    def feed(self, data: bytes) -> None:
        self._backlog += data
        self._bytes += len(data)
        self.more = self._bytes // BYTES_EACH if self._is_long else 0
        if self._handshaking:
            self.heard += len(data)
            if self.heard > HANDSHAKE_BYTES:
                raise ssl.SSLError("the handshake is too long")

    def take(self) -> bytes:
        """Take the next complete record, or all complete records during the handshake. Returns b"" for
        none."""
        end = 0
        while size := self._whole(end):
            self._taken += 1
            if self._taken > RECORDS + self.more:
                raise ssl.SSLError("too many records")
            if not self._hello_seen and self._backlog[end] == _HANDSHAKE:
                _check_hello(bytes(self._backlog[end + _HEADER_BYTES : end + size]))
                self._hello_seen = True
            end += size
            if not self._handshaking:
                break
        records = bytes(self._backlog[:end])
        del self._backlog[:end]
        return records

    def secured(self) -> None:
        """Note the end of the handshake."""
        self._handshaking = False
        self.expect()

    def expect(self) -> None:
        """Begin to count for the next request."""
        self._bytes = self.more = 0
        self._taken = self._silent = self._silent_bytes = 0

    def silent(self, size: int) -> None:
        """Count a record of this size that held no data for the application."""
        self._silent += 1
        self._silent_bytes += size
        if self._silent > SILENT_RECORDS or self._silent_bytes > SILENT_BYTES:
            raise ssl.SSLError("too many records without data")

    def clear(self) -> None:
        self._backlog.clear()

    def _whole(self, at: int) -> int:
        """Return the size of the record that begins at `at`, or 0 while it is incomplete.

        Bytes that are no record are refused at once, as OpenSSL does: the rest might never come.
        """
        header = self._backlog[at : at + _HEADER_BYTES]
        if header and (header[0] not in _TYPES or (len(header) > 1 and header[1] != _VERSION)):
            raise ssl.SSLError("this is not TLS")
        if len(header) < _HEADER_BYTES:
            return 0
        size = _HEADER_BYTES + (header[3] << 8 | header[4])
        if size > _HEADER_BYTES + _MOST_BYTES:
            raise ssl.SSLError("a record is too long")
        return size if len(self._backlog) >= at + size else 0


def _check_hello(hello: bytes) -> None:
    """Refuse every first message except a complete server hello, and a hello that asks for a finite field.

    In TLS 1.3, OpenSSL offers key exchanges over finite fields, and Python cannot turn them off. The largest
    one takes 200 ms. A server can only ask for one with a hello that makes the client repeat its own hello.
    """
    end = 4 + int.from_bytes(hello[1:4], "big")
    if hello[:1] != bytes([_SERVER_HELLO]) or len(hello) < end:
        raise ssl.SSLError("the server sends no hello")
    if hello[6:38] == _RETRY_RANDOM and _group(hello[:end]) in _FINITE_FIELDS:
        raise ssl.SSLError("a key exchange over a finite field")


def _group(hello: bytes) -> int | None:
    """Return the group that a hello asks for (RFC 8446, 4.1.3 and 4.2.8). OpenSSL refuses a malformed
    hello."""
    try:
        at = 39 + hello[38] + 5  # after the session, the cipher suite, the compression and a length
        while at < len(hello):
            kind, length = struct.unpack_from("!HH", hello, at)
            if kind == _KEY_SHARE:
                return int.from_bytes(hello[at + 4 : at + 6], "big")
            at += 4 + length
    except (IndexError, struct.error):
        pass
    return None
