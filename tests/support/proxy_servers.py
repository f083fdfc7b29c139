"""Proxies on loopback ports: CONNECT and SOCKS5, working and not; and posts through them."""

import asyncio
import base64
import contextlib
import ssl
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import NamedTuple

from outbound.result import HttpResult
from tests.support.certificate_authority import Authority
from tests.support.gateways import WAIT_SECONDS
from tests.support.name_server import naming
from tests.support.raw_receivers import (
    BODY,
    Allowing,
    Answering,
    Peer,
    answering,
    listening,
    receiving,
    sending,
)

USER, PASSWORD = "user-of-the-tests", "password:of-the-tests"
NAME = "receiver.example"
GUARD = Allowing("127.0.0.1")
GRANTED = b"HTTP/1.1 200 Connection established\r\n\r\n"


class Proxy:
    """`asked` are the addresses and ports that tunnels were asked for.

    `instead` answers the request for a tunnel in its place; `locked` means that it wants a password.
    """

    scheme = "http"

    def __init__(self, instead: Answering | None = None, *, locked: bool = False) -> None:
        self.instead = instead
        self.locked = locked
        self.connections = 0
        self.asked: list[tuple[str, int]] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        await self._handshake(reader, writer)

    async def _handshake(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        host, _, port = head.split()[1].rpartition(":")
        self.asked.append((host.strip("[]"), int(port)))
        credentials = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if self.instead is not None:
            await self.instead(writer)
            await asyncio.Event().wait()
        if self.locked and f"\r\nProxy-Authorization: Basic {credentials}\r\n" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await reader.read()
            return
        try:
            beyond = await asyncio.open_connection(*self.asked[-1])
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            await reader.read()
            return
        await pump(reader, writer, *beyond, first=GRANTED)


class SocksProxy(Proxy):
    scheme = "socks5"

    async def _handshake(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, count = await reader.readexactly(2)
        methods = await reader.readexactly(count)
        if self.locked and 2 not in methods:
            writer.write(b"\x05\xff")
            await reader.read()
            return
        writer.write(b"\x05\x02" if self.locked else b"\x05\x00")
        if self.locked and not await self._unlocks(reader, writer):
            return
        _, _, _, kind = await reader.readexactly(4)
        address = await reader.readexactly(4 if kind == 1 else 16)
        self.asked.append((str(ip_address(address)), int.from_bytes(await reader.readexactly(2), "big")))
        if self.instead is not None:
            await self.instead(writer)
            await asyncio.Event().wait()
        try:
            beyond = await asyncio.open_connection(*self.asked[-1])
        except OSError:
            writer.write(socks_reply(5))
            await reader.read()
            return
        await pump(reader, writer, *beyond, first=socks_reply(0))

    async def _unlocks(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        words = []
        await reader.readexactly(1)
        for _ in range(2):
            (length,) = await reader.readexactly(1)
            words.append((await reader.readexactly(length)).decode())
        good = words == [USER, PASSWORD]
        writer.write(b"\x01\x00" if good else b"\x01\x01")
        if not good:
            await reader.read()
        return good


def socks_reply(code: int) -> bytes:
    return bytes([5, code, 0, 1, 0, 0, 0, 0, 0, 0])


async def pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    beyond_reader: asyncio.StreamReader,
    beyond_writer: asyncio.StreamWriter,
    first: bytes,
) -> None:
    """Carries bytes both ways until one side ends."""

    async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await source.read(65_536):
                sink.write(piece)
                await sink.drain()

    writer.write(first)
    ways = [
        asyncio.create_task(carry(reader, beyond_writer)),
        asyncio.create_task(carry(beyond_reader, writer)),
    ]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        beyond_writer.transport.abort()
        writer.close()
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


@contextlib.asynccontextmanager
async def proxying(
    proxy: Proxy, tls: ssl.SSLContext | None = None, credentials: str = ""
) -> AsyncIterator[Proxy]:
    """The proxy at work; `url` has the credentials in it ("user:password@")."""
    async with listening(proxy.serve, tls) as port:
        scheme = "https" if tls is not None else proxy.scheme
        proxy.url = f"{scheme}://{credentials}127.0.0.1:{port}"
        yield proxy


class Posted(NamedTuple):
    answers: list[HttpResult]
    proxy: Proxy
    peer: Peer


async def posted(
    proxy: Proxy,
    authority: Authority,
    *,
    secure: bool = False,
    secure_proxy: bool = False,
    credentials: str = "",
    timeout_seconds: float = WAIT_SECONDS,
    address: str = "127.0.0.1",
) -> Posted:
    """Return the results of two posts to a name."""
    async with (
        naming([address]) as names,
        receiving(answering(), authority.server(NAME) if secure else None) as peer,
        proxying(proxy, authority.server("127.0.0.1") if secure_proxy else None, credentials),
        sending(timeout_seconds, GUARD, proxy=proxy.url, name_servers=[names.address]) as sender,
    ):
        answers = [await sender.post(peer.at(NAME), {}, BODY) for _ in range(2)]
        return Posted(answers, proxy, peer)
