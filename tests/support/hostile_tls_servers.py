"""TLS servers that attack a client during the handshake, and after it.

After it, they encrypt their own records with the keys of the connection, which Python's TLS writes to a file.
"""

import asyncio
import hmac
import ssl
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA384
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from tests.support.raw_receivers import Serve

ALERT, HANDSHAKE, APPLICATION = 21, 22, 23
HELLO_REQUEST = b"\0\0\0\0"
UPDATE_REQUESTED = b"\x18\0\0\x01\x01"
TICKET = b"\x04\0\0\x0e" + b"\0\0\x1c\x20" + b"\0\0\0\0" + b"\0" + b"\0\x01x" + b"\0\0"
"""The least that a ticket of TLS 1.3 can be."""
WARNING = b"\x01\x5a"  # user_canceled


def record(kind: int, content: bytes) -> bytes:
    """Not sealed."""
    return struct.pack("!BHH", kind, 0x0303, len(content)) + content


class Sealing:
    """Seals records as the server of a connection, AES-256-GCM with SHA-384 as OpenSSL prefers it."""

    def seal(self, kind: int, content: bytes) -> bytes:
        raise NotImplementedError

    def update(self) -> bytes:
        """Goes over to the next key, and asks the client to do so too."""
        raise NotImplementedError


class Sealing13(Sealing):
    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._set_key()

    def seal(self, kind: int, content: bytes) -> bytes:
        head = struct.pack("!BHH", APPLICATION, 0x0303, len(content) + 17)
        nonce = (self._iv ^ self._count).to_bytes(12, "big")
        self._count += 1
        return head + self._key.encrypt(nonce, content + bytes([kind]), head)

    def update(self) -> bytes:
        said = self.seal(HANDSHAKE, UPDATE_REQUESTED)
        self._secret = _expand_label(self._secret, b"traffic upd", 48)
        self._set_key()
        return said

    def _set_key(self) -> None:
        self._key = AESGCM(_expand_label(self._secret, b"key", 32))
        self._iv = int.from_bytes(_expand_label(self._secret, b"iv", 12), "big")
        self._count = 0


class Sealing12(Sealing):
    def __init__(self, master: bytes, client_random: bytes, server_random: bytes) -> None:
        block = _prf(master, b"key expansion" + server_random + client_random, 2 * 32 + 2 * 4)
        self._key, self._salt = AESGCM(block[32:64]), block[68:72]
        self._count = 1  # the handshake's last record was sealed too

    def seal(self, kind: int, content: bytes) -> bytes:
        number = self._count.to_bytes(8, "big")
        self._count += 1
        head = struct.pack("!BH", kind, 0x0303)
        covered = number + head + len(content).to_bytes(2, "big")
        sealed = number + self._key.encrypt(self._salt + number, content, covered)
        return head + len(sealed).to_bytes(2, "big") + sealed


def _expand_label(secret: bytes, label: bytes, length: int) -> bytes:
    """RFC 8446, 7.1."""
    full = b"tls13 " + label
    info = length.to_bytes(2, "big") + bytes([len(full)]) + full + b"\0"
    return HKDFExpand(SHA384(), length, info).derive(secret)


def _prf(secret: bytes, seed: bytes, length: int) -> bytes:
    """RFC 5246, 5."""
    made, at = b"", seed
    while len(made) < length:
        at = hmac.digest(secret, at, "sha384")
        made += hmac.digest(secret, at + seed, "sha384")
    return made[:length]


Say = Callable[[asyncio.StreamWriter, Sealing], Awaitable[None]]
"""A function that writes the answer to a request."""


class Secured:
    """A server that is well-behaved until a request is there. `keys` is a file to be made for it."""

    def __init__(self, tls: ssl.SSLContext, keys: Path, say: Say, ends: bytes = b"}") -> None:
        """`ends` is how a request does."""
        tls.keylog_filename = str(keys)
        tls.num_tickets = 0  # so that the first record behind the handshake is ours
        self._tls = tls
        self._keys = keys
        self._say = say
        self._ends = ends
        self.requests = self.handshakes = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        server = self._tls.wrap_bio(incoming, outgoing, server_side=True)
        hellos = [await _some(reader)]
        incoming.write(hellos[0])
        while not _done(server):
            hellos.append(outgoing.read())
            writer.write(hellos[-1])
            incoming.write(await _some(reader))
        writer.write(outgoing.read())
        self.handshakes += 1
        sealing = self._sealing(server, hellos[0], hellos[1])
        while True:
            while not self._is_asked(server):
                incoming.write(await _some(reader))
            self.requests += 1
            await self._say(writer, sealing)

    def _is_asked(self, server: ssl.SSLObject) -> bool:
        try:
            return server.read(65_536).endswith(self._ends)
        except ssl.SSLWantReadError:
            return False

    def _sealing(self, server: ssl.SSLObject, client_hello: bytes, server_hello: bytes) -> Sealing:
        client_random, server_random = client_hello[11:43], server_hello[11:43]
        secrets = {}
        for line in self._keys.read_text().splitlines():
            if client_random.hex() in line:
                name, _, secret = line.split()
                secrets[name] = bytes.fromhex(secret)
        assert "AES_256_GCM_SHA384" in str(server.cipher()).replace("-", "_").replace("AES256", "AES_256")
        if server.version() == "TLSv1.3":
            return Sealing13(secrets["SERVER_TRAFFIC_SECRET_0"])
        return Sealing12(secrets["CLIENT_RANDOM"], client_random, server_random)


def _done(server: ssl.SSLObject) -> bool:
    try:
        server.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


async def _some(reader: asyncio.StreamReader) -> bytes:
    data = await reader.read(65_536)
    if not data:
        raise ConnectionResetError
    return data


def before(*pieces: bytes, again: bytes = b"") -> Serve:
    """Says the pieces for a hello, and the last for ever."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        for piece in pieces:
            writer.write(piece)
        while again:
            writer.write(again)
            await writer.drain()
        await writer.drain()
        await reader.read()

    return serve


Piece = Callable[[Sealing], bytes]


def seal(kind: int, content: bytes) -> Piece:
    return lambda sealing: sealing.seal(kind, content)


def update(sealing: Sealing) -> bytes:
    return sealing.update()


def saying(*pieces: Piece) -> Say:
    """These records."""

    async def say(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
        writer.write(b"".join([piece(sealing) for piece in pieces]))
        await writer.drain()

    return say


def sealing(kind: int, content: bytes, *, times: int = 50) -> Say:
    """Such records for ever, so many in one go."""

    async def say(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
        while True:
            writer.write(b"".join([sealing.seal(kind, content) for _ in range(times)]))
            await writer.drain()
            await asyncio.sleep(0)  # `drain` alone does not let other tasks run

    return say


async def updating(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
    """New keys for ever."""
    while True:
        writer.write(b"".join([sealing.update() for _ in range(50)]))
        await writer.drain()
        await asyncio.sleep(0)
