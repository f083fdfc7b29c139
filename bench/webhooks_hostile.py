"""Vote checks beside receivers that do their worst over TLS, as fast as the gateway answers them.

Gateways are new for each kind and round, because what hangs in one would hang in the next round too.
The receivers are in one process of their own. Their kinds are those of tests/support/hostile_tls_servers.py,
where it is tested what becomes of them.
"""

import asyncio
import os
import ssl
import statistics
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from bench.load import LOAD_CORES, closed_loop, on_cores
from bench.receivers import receiving_by_kind, serve_kinds
from bench.servers import OPERATOR
from bench.webhooks_gateway import Fed, feeding, ref_of
from bench.world import add_callers, write_requests
from tests.support.certificate_authority import Authority
from tests.support.hostile_tls_servers import (
    APPLICATION,
    HANDSHAKE,
    HELLO_REQUEST,
    TICKET,
    Say,
    Sealing,
    Secured,
    before,
    record,
    sealing,
    updating,
)
from tests.support.raw_receivers import Serve

ENDPOINTS = 10
VOTES_PER_SECOND = 50
"""The rate for all endpoints. A kind is measured before an attempt is repeated or an endpoint suspended."""
CONNECTIONS = 64
ROUNDS = 2
SECONDS = 1
NONE = "no webhooks"
ASKING = 10**6
"""The number of the listing that is asked about its voters."""


class Beside(NamedTuple):
    per_second: float
    """Vote checks a second."""
    per_busy_second: float
    """Vote checks in each second of the loop's work."""


def measure_hostile(place: Path) -> dict[str, Beside]:
    """Return the medians of the rounds, by kind of receiver."""
    certificates = place / "hostile"
    certificates.mkdir()
    rates: dict[str, list[Beside]] = {}
    with hostile_receivers(certificates, ENDPOINTS) as by_kind:
        kinds: Mapping[str, list[str]] = {NONE: [], **by_kind}
        for number in range(ROUNDS):
            for at, (kind, urls) in enumerate(kinds.items()):
                print(f"vote checks beside {kind}, round {number + 1} of {ROUNDS}", file=sys.stderr)
                rate = _rate(place, f"hostile-{number}-{at}", urls)
                rates.setdefault(kind, []).append(rate)
    return {kind: Beside(*map(statistics.median, zip(*of, strict=True))) for kind, of in rates.items()}


def _rate(place: Path, name: str, urls: list[str]) -> Beside:
    requests = place / f"{name}-requests"
    webhooks: dict[str, str | None] = {ref_of(number): url for number, url in enumerate(urls)}
    with feeding(place / name) as fed, on_cores(LOAD_CORES):
        fed.add({**webhooks, ref_of(ASKING): None})
        write_requests(requests, add_callers(fed.port, OPERATOR, [(ref_of(ASKING), 0)]))
        before = fed.busy_seconds()
        with _voting(fed, list(webhooks)):
            checks = closed_loop(fed.port, CONNECTIONS, SECONDS, requests)
        return Beside(checks.rate, checks.answered / (fed.busy_seconds() - before))


@contextmanager
def _voting(fed: Fed, refs: list[str]) -> Iterator[None]:
    """Cast votes for these in turn, at fixed moments, until the context ends."""
    enough = threading.Event()

    def vote() -> None:
        start = time.monotonic()
        for number in count():
            if enough.wait(max(start + number / VOTES_PER_SECOND - time.monotonic(), 0)):
                return
            fed.vote(refs[number % len(refs)], number)

    thread = threading.Thread(target=vote)
    if refs:
        thread.start()
    try:
        yield
    finally:
        enough.set()
        if refs:
            thread.join()


ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
KEPT, CLOSED = "well-behaved, connections kept", "well-behaved, a connection each"


async def _answer(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
    writer.write(sealing.seal(APPLICATION, ANSWER))


async def _answer_and_close(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
    writer.write(sealing.seal(APPLICATION, ANSWER))
    writer.close()
    await writer.wait_closed()


async def _answer_in_bytes(writer: asyncio.StreamWriter, sealing: Sealing) -> None:
    writer.write(b"".join([sealing.seal(APPLICATION, bytes([byte])) for byte in ANSWER]))
    writer.write(b"".join([sealing.seal(APPLICATION, b"x") for _ in range(5_000)]))
    await asyncio.sleep(3_600)


async def _drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a record of 16 KiB, a byte at each turn of the loop."""
    await reader.read(65_536)
    for byte in struct.pack("!BHH", HANDSHAKE, 0x0303, 16_384) + bytes(16_000):
        writer.write(bytes([byte]))
        await asyncio.sleep(0)
    await asyncio.sleep(3_600)


def _kinds(authority: Authority, place: Path) -> Mapping[str, Callable[[], Serve]]:
    def behind(
        say: Say, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3, chain: int = 0
    ) -> Callable[[], Serve]:
        tls = authority.server("127.0.0.1", chain=chain)
        tls.minimum_version = tls.maximum_version = version
        keys = place / f"{len(list(place.iterdir()))}.keys"
        return lambda: Secured(tls, keys, say).serve

    def group(name: str) -> Callable[[], Serve]:
        tls = authority.server("127.0.0.1")
        tls.set_ecdh_curve(name)
        return lambda: Secured(tls, place / f"{name}.keys", _answer_and_close).serve

    return {
        KEPT: behind(_answer),
        CLOSED: behind(_answer_and_close),
        "requests to begin, endlessly": lambda: before(again=record(HANDSHAKE, HELLO_REQUEST) * 1_000),
        "270 certificates": behind(_answer_and_close, chain=270),
        "90 certificates": behind(_answer_and_close, chain=90),
        "20 certificates": behind(_answer_and_close, chain=20),
        "a key exchange of 8192 bits": group("ffdhe8192"),
        "a handshake byte by byte": lambda: _drip,
        "tickets, endlessly": behind(sealing(HANDSHAKE, TICKET)),
        "new keys, endlessly": behind(updating),
        "an answer byte by byte": behind(_answer_in_bytes),
        "requests to renegotiate, endlessly": behind(
            sealing(HANDSHAKE, HELLO_REQUEST), ssl.TLSVersion.TLSv1_2
        ),
    }


@contextmanager
def hostile_receivers(place: Path, ports: int) -> Iterator[Mapping[str, list[str]]]:
    """Run receivers on the load's core, and give their URLs by kind. Gateways that start then trust them."""
    before_this = os.environ.get("SSL_CERT_FILE")
    with receiving_by_kind(_receivers, place, ports) as found:
        by_kind = {kind: [f"https://127.0.0.1:{port}/votes" for port in at] for kind, at in found.items()}
        os.environ["SSL_CERT_FILE"] = str(place / "authority.pem")
        try:
            yield by_kind
        finally:
            os.environ.pop("SSL_CERT_FILE")
            if before_this is not None:
                os.environ["SSL_CERT_FILE"] = before_this


def _receivers(pipe: Connection, place: Path, ports: int) -> None:
    serve_kinds(pipe, _kinds(Authority(place), place), ports)
