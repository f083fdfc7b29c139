"""A name server on a loopback port, with answers that a test chooses (RFC 1035)."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from ipaddress import ip_address
from typing import cast

KINDS = {1: "A", 28: "AAAA"}
TRUNCATED = 0x0200
FIT = 60
"""The most addresses of an answer. One with more of them is truncated, and says so."""
RCODES = {"SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}

Says = list[str] | str | None
"""Addresses, of which those of the asked kind are given; the name of an error; or None for silence."""


class NameServer(asyncio.DatagramProtocol):
    """`says` is asked for a name's records; `questions` are the names and kinds that were asked for, and
    `unanswered` those of them that it has left so, as they came."""

    def __init__(self, says: Callable[[str, str], Says]) -> None:
        self.says = says
        self.ttl = 0
        self.questions: list[tuple[str, str]] = []
        self.unanswered: list[tuple[bytes, tuple[str | None, int]]] = []
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)
        host, port = transport.get_extra_info("sockname")
        self.address = f"{host}:{port}"

    def datagram_received(self, data: bytes, client: tuple[str | None, int]) -> None:
        labels, at = [], 12
        while length := data[at]:
            labels.append(data[at + 1 : at + 1 + length].decode().lower())
            at += 1 + length
        name, kind = ".".join(labels), KINDS[int.from_bytes(data[at + 1 : at + 3], "big")]
        self.questions.append((name, kind))
        says = self.says(name, kind)
        if says is None:
            self.unanswered.append((data, client))
            return
        rcode = RCODES[says] if isinstance(says, str) else 0
        records = [] if isinstance(says, str) else [ip_address(address).packed for address in says]
        records = [record for record in records if len(record) == (4 if kind == "A" else 16)]
        flags = 0x8180 | rcode | (TRUNCATED if len(records) > FIT else 0)
        records = records[:FIT]
        answer = data[:2] + flags.to_bytes(2, "big")
        answer += b"\x00\x01" + len(records).to_bytes(2, "big") + bytes(4) + data[12 : at + 5]
        for record in records:
            answer += b"\xc0\x0c" + data[at + 1 : at + 5] + self.ttl.to_bytes(4, "big")
            answer += len(record).to_bytes(2, "big") + record
        self.transport.sendto(answer, client)

    def speak(self) -> None:
        """Says something to the questions that it has left unanswered."""
        late, self.unanswered = self.unanswered, []
        for data, client in late:
            self.datagram_received(data, client)


@contextlib.asynccontextmanager
async def naming(says: Callable[[str, str], Says] | Says) -> AsyncIterator[NameServer]:
    """Run a name server. It has one answer for every name, or a function that answers each."""
    server = NameServer(says if callable(says) else lambda _, __: says)
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(lambda: server, local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
        await asyncio.sleep(0)
