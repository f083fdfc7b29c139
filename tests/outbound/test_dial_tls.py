"""outbound/dial.py: the server of a TLS connection proves its name."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from outbound.result import HttpResult
from tests.support.certificate_authority import Authority, trusted
from tests.support.gateways import WAIT_SECONDS
from tests.support.name_server import naming
from tests.support.raw_receivers import (
    BODY,
    Run,
    Serve,
    answering,
    hang,
    listening,
    on_both_loops,
    receiving,
    reset,
    sending,
)

pytestmark = on_both_loops

NAME = "receiver.example"
SHORT = 0.3
OK = (200, None)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


async def posted_securely(tls: ssl.SSLContext, name: str = NAME) -> tuple[HttpResult, HttpResult, int]:
    """Return two answers, and how many connections they took."""
    async with (
        naming(["127.0.0.1"]) as names,
        receiving(answering(), tls) as peer,
        sending(name_servers=[names.address]) as sender,
    ):
        first = await sender.post(peer.at(name), {}, BODY)
        return first, await sender.post(peer.at(name), {}, BODY), peer.connections


@pytest.mark.parametrize("name", [NAME, "127.0.0.1"])
def test_a_certificate_for_the_name_is_trusted(run: Run, authority: Authority, name: str) -> None:
    first, second, connections = run(posted_securely(authority.server(name), name))
    assert (first[:2], second[:2], connections) == (OK, OK, 1)


def test_a_certificate_for_the_address_is_none_for_the_name(run: Run, authority: Authority) -> None:
    first, _, _ = run(posted_securely(authority.server("other.example", "127.0.0.1")))
    assert first == HttpResult(None, "tls")


@pytest.mark.parametrize("flaw", ["expired", "self_signed"])
def test_a_certificate_that_proves_nothing_is_not_trusted(run: Run, authority: Authority, flaw: str) -> None:
    first, second, _ = run(posted_securely(authority.server(NAME, **{flaw: True})))
    assert (first, second) == (HttpResult(None, "tls"), HttpResult(None, "tls"))


def test_no_key_exchange_is_offered_whose_cost_the_peer_chooses(run: Run, authority: Authority) -> None:
    offered: list[str] = []

    async def serve(writer: asyncio.StreamWriter) -> None:
        offered.extend(name for name, *_ in writer.get_extra_info("ssl_object").shared_ciphers())
        await answering()(writer)

    async def main() -> HttpResult:
        tls = authority.server("127.0.0.1")
        tls.maximum_version = ssl.TLSVersion.TLSv1_2
        tls.set_ciphers("ALL")
        async with receiving(serve, tls) as peer, sending() as sender:
            return await sender.post(peer.at("127.0.0.1"), {}, BODY)

    assert run(main())[:2] == OK
    assert offered
    assert not [name for name in offered if name.startswith(("DHE", "ADH", "AES"))]


def test_an_authority_that_is_not_ours_is_not_trusted(run: Run, tmp_path: Path) -> None:
    first, _, _ = run(posted_securely(Authority(tmp_path).server(NAME)))
    assert first == HttpResult(None, "tls")


@contextmanager
def refusing_clients(tls: ssl.SSLContext) -> Iterator[int]:
    """A port whose server sends clients without a certificate an alert. The loop's servers only hang up."""
    tls.verify_mode = ssl.CERT_REQUIRED

    def serve() -> None:
        with listener.accept()[0] as plain:
            raw = plain.dup()
            with tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as secured, raw:
                with pytest.raises(ssl.SSLError):
                    secured.do_handshake()
                while raw.recv(1_000):
                    pass  # closing with unread bytes would be a reset

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as thread:
        served = thread.submit(serve)
        yield listener.getsockname()[1]
        served.result(WAIT_SECONDS)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_wants_a_certificate_of_ours_is_a_tls_failure(
    run: Run, authority: Authority, version: ssl.TLSVersion
) -> None:
    """In TLS 1.3 the server refuses after the handshake, when the request is sent."""
    tls = authority.server("127.0.0.1")
    tls.minimum_version = tls.maximum_version = version

    async def main(port: int) -> HttpResult:
        async with sending() as sender:
            return await sender.post(f"https://127.0.0.1:{port}/", {}, BODY)

    with refusing_clients(tls) as port:
        assert run(main(port)) == HttpResult(None, "tls")


async def plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read()


async def greeting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await reader.read()


async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1_000)
    writer.close()


async def resetting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    reset(writer)


async def silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await hang(writer)


@pytest.mark.parametrize(
    ("serve", "error"),
    [(plainly, "tls"), (greeting, "tls"), (closing, "reset"), (resetting, "reset"), (silent, "timeout")],
)
def test_a_port_that_speaks_no_tls_is_a_failure(
    run: Run,
    serve: Serve,
    error: str,
) -> None:
    async def main() -> HttpResult:
        async with listening(serve) as port, sending(SHORT if serve is silent else WAIT_SECONDS) as sender:
            return await sender.post(f"https://127.0.0.1:{port}/", {}, BODY)

    assert run(main()) == HttpResult(None, error)
