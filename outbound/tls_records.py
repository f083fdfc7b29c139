"""The records of TLS that a peer sends, cut apart and counted. Law: pure; a peer that sends more than an
honest one would, or asks for what costs more, is refused before OpenSSL sees it.

A record says its length in the clear (RFC 8446, 5.1), and nothing else that could be counted: what is in it
only OpenSSL knows. So records are counted here, and those that held nothing are reported by `silent`.
"""

import ssl
import struct

HANDSHAKE_BYTES = 32 * 1024
"""Until the handshake is over. A usual peer sends 2 to 6 KiB; with signatures that resist quantum computers,
some 20."""
RECORDS = 128
"""Of a handshake, and of what comes for a request: an answer has one or two."""
SILENT_RECORDS = 16
SILENT_BYTES = 8 * 1024
"""Of tickets, key updates, warnings, requests to renegotiate, empty records: OpenSSL reads them for ever, and
answers some. An honest server sends two tickets of some 250 bytes."""

_HEADER_BYTES = 5
_MOST_BYTES = 16 * 1024 + 2_048  # in a record, as TLS 1.2 has it; TLS 1.3 has less
_TYPES = frozenset(range(20, 24))  # change_cipher_spec, alert, handshake, application_data
_VERSION = 3
_HANDSHAKE = 22
_SERVER_HELLO = 2
_RETRY = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")  # RFC 8446, 4.1.3
_KEY_SHARE = 51
_FINITE_FIELDS = range(0x100, 0x200)  # RFC 8446, 4.2.7


class TlsRecords:
    """Every method raises ssl.SSLError for a peer that is to be refused. `heard` is the handshake's bytes."""

    def __init__(self) -> None:
        self.heard = 0
        self._backlog = bytearray()
        self._handshaking = True
        self._greeted = False
        self._taken = self._silent = self._silent_bytes = 0

    def feed(self, data: bytes) -> None:
        self._backlog += data
        if self._handshaking:
            self.heard += len(data)
            if self.heard > HANDSHAKE_BYTES:
                raise ssl.SSLError("the handshake is too long")

    def take(self) -> bytes:
        """The next record that has come whole, or all of them while handshaking; empty for none."""
        end = 0
        while size := self._whole(end):
            self._taken += 1
            if self._taken > RECORDS:
                raise ssl.SSLError("too many records")
            if not self._greeted and self._backlog[end] == _HANDSHAKE:
                _check_greeting(bytes(self._backlog[end + _HEADER_BYTES : end + size]))
                self._greeted = True
            end += size
            if not self._handshaking:
                break
        records = bytes(self._backlog[:end])
        del self._backlog[:end]
        return records

    def secured(self) -> None:
        """The handshake is over."""
        self._handshaking = False
        self.expect()

    def expect(self) -> None:
        """What comes now is for another request."""
        self._taken = self._silent = self._silent_bytes = 0

    def silent(self, size: int) -> None:
        """A record of this size said nothing."""
        self._silent += 1
        self._silent_bytes += size
        if self._silent > SILENT_RECORDS or self._silent_bytes > SILENT_BYTES:
            raise ssl.SSLError("too much that says nothing")

    def clear(self) -> None:
        self._backlog.clear()

    def _whole(self, at: int) -> int:
        """The size of the record that begins there, 0 while it is not whole.

        What is no record is refused by its first bytes, as OpenSSL does: the rest might never come.
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


def _check_greeting(hello: bytes) -> None:
    """Refuses all but the server's hello, whole, and one kind of that.

    In TLS 1.3, OpenSSL offers key exchanges over finite fields, which Python cannot take back, and the
    largest takes 200 ms. A server gets one by a first hello that has us say ours again, and in no other way.
    """
    end = 4 + int.from_bytes(hello[1:4], "big")
    if hello[:1] != bytes([_SERVER_HELLO]) or len(hello) < end:
        raise ssl.SSLError("the server does not say hello")
    if hello[6:38] == _RETRY and _group(hello[:end]) in _FINITE_FIELDS:
        raise ssl.SSLError("a key exchange over a finite field")


def _group(hello: bytes) -> int | None:
    """The group that a hello has us use (RFC 8446, 4.1.3 and 4.2.8). What is malformed OpenSSL refuses."""
    try:
        at = 39 + hello[38] + 5  # behind the session, the cipher suite, the compression, a length
        while at < len(hello):
            kind, length = struct.unpack_from("!HH", hello, at)
            if kind == _KEY_SHARE:
                return int.from_bytes(hello[at + 4 : at + 6], "big")
            at += 4 + length
    except (IndexError, struct.error):
        pass
    return None
