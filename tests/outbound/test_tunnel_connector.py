"""aiohttp through the proxy that webhooks take: every kind of it, with credentials, and failures of it."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from grammars.service_urls import read_proxy_url
from outbound.tunnel_connector import open_tunnels
from tests.support.certificate_authority import Authority, trusted
from tests.support.name_server import naming
from tests.support.proxy_servers import NAME, PASSWORD, USER, Proxy, SocksProxy, proxying
from tests.support.raw_receivers import (
    BODY,
    Answering,
    Peer,
    Run,
    answering,
    on_both_loops,
    receiving,
    resetting,
    saying,
    saying_and_closing,
    unused_port,
)

GIVEN = f"{USER}:{PASSWORD.replace(':', '%3A')}@"
LONG = b"x" * 300_000


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


@contextlib.asynccontextmanager
async def asking(proxy_url: str, address: str = "127.0.0.1") -> AsyncIterator[aiohttp.ClientSession]:
    """A session through the proxy, for which every name has this address."""
    async with (
        naming([address]) as names,
        open_tunnels(read_proxy_url(proxy_url), [names.address]) as tunnels,
        aiohttp.ClientSession(connector=tunnels) as session,
    ):
        yield session


async def answered(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.post(url, data=BODY) as response:
        assert response.status == 200
        return await response.read()


async def nothing_comes_of(session: aiohttp.ClientSession, url: str) -> None:
    with pytest.raises((aiohttp.ClientError, OSError)):
        await answered(session, url)


@on_both_loops
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(("kind", "tls"), [(Proxy, False), (Proxy, True), (SocksProxy, False)])
def test_an_answer_comes_through_a_tunnel_to_the_address_and_the_tunnel_is_kept(
    run: Run, authority: Authority, kind: type[Proxy], tls: bool, secure: bool
) -> None:
    async def main() -> tuple[list[bytes], Proxy, Peer]:
        async with (
            receiving(answering(body=LONG), authority.server(NAME) if secure else None) as peer,
            proxying(kind(), authority.server("127.0.0.1") if tls else None) as proxy,
            asking(proxy.url) as session,
        ):
            return [await answered(session, peer.at(NAME)) for _ in range(2)], proxy, peer

    answers, proxy, peer = run(main())
    assert answers == [LONG, LONG]
    assert proxy.asked == [("127.0.0.1", peer.port)]
    assert (proxy.connections, peer.connections) == (1, 1)
    assert f"Host: {NAME}:{peer.port}".encode() in peer.requests[0]


@on_both_loops
@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
@pytest.mark.parametrize(("credentials", "is_let_in"), [(GIVEN, True), ("", False), ("user:wrong@", False)])
def test_a_proxy_is_told_the_credentials_of_its_url(
    run: Run, kind: type[Proxy], credentials: str, is_let_in: bool
) -> None:
    async def main() -> Peer:
        async with (
            receiving(answering()) as peer,
            proxying(kind(locked=True), credentials=credentials) as proxy,
            asking(proxy.url) as session,
        ):
            if is_let_in:
                assert await answered(session, peer.url) == b""
            else:
                await nothing_comes_of(session, peer.url)
            return peer

    assert run(main()).connections == is_let_in


@on_both_loops
@pytest.mark.parametrize(
    ("kind", "instead"),
    [
        (Proxy, saying(b"HTTP/1.1 403 Forbidden\r\n\r\n")),
        (Proxy, saying_and_closing(b"HTTP/1.1 200 OK\r\n\r\n")),
        (Proxy, saying_and_closing(b"")),
        (Proxy, resetting()),
        (Proxy, saying(b"HTTP/1.1 200 OK\r\n\r\nhello")),
        (SocksProxy, saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
        (SocksProxy, resetting()),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_if_the_proxy_fails_nothing_goes_around_it(
    run: Run, authority: Authority, kind: type[Proxy], instead: Answering, scheme: str
) -> None:
    async def main() -> Peer:
        async with (
            receiving(answering(), authority.server("127.0.0.1") if scheme == "https" else None) as peer,
            proxying(kind(instead)) as proxy,
            asking(proxy.url) as session,
        ):
            await nothing_comes_of(session, peer.url)
            return peer

    assert run(main()).connections == 0


@on_both_loops
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_if_the_proxy_is_not_there_nothing_goes_around_it(run: Run, scheme: str) -> None:
    async def main() -> Peer:
        async with (
            receiving(answering()) as peer,
            asking(f"{scheme}://127.0.0.1:{unused_port()}") as session,
        ):
            await nothing_comes_of(session, peer.url)
            return peer

    assert run(main()).connections == 0


@on_both_loops
def test_a_service_or_a_proxy_with_the_name_of_another_is_told_nothing(
    run: Run, authority: Authority
) -> None:
    async def main() -> tuple[Peer, Peer]:
        async with (
            receiving(answering(), authority.server("other.example")) as service,
            receiving(answering(), authority.server("127.0.0.1")) as behind,
            proxying(Proxy()) as proxy,
            proxying(Proxy(), authority.server("other.example")) as other,
        ):
            async with asking(proxy.url) as session:
                await nothing_comes_of(session, service.at(NAME))
            async with asking(other.url) as session:
                await nothing_comes_of(session, behind.url)
            return service, behind

    service, behind = run(main())
    assert service.requests == behind.requests == []
    assert behind.connections == 0


@on_both_loops
def test_a_name_that_nobody_has_is_asked_of_no_proxy(run: Run) -> None:
    async def main() -> Proxy:
        async with (
            naming("NXDOMAIN") as names,
            proxying(Proxy()) as proxy,
            open_tunnels(read_proxy_url(proxy.url), [names.address]) as tunnels,
            aiohttp.ClientSession(connector=tunnels) as session,
        ):
            await nothing_comes_of(session, "http://nobody.example/")
            return proxy

    assert run(main()).connections == 0
