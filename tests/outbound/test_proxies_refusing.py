"""Tunnels that the proxy refuses, or that lead nowhere: the party at fault."""

import asyncio
from pathlib import Path

import pytest

from outbound.result import AtFault, HttpResult
from tests.support.certificate_authority import Authority, trusted
from tests.support.gateways import WAIT_SECONDS
from tests.support.name_server import naming
from tests.support.proxy_servers import NAME, Proxy, SocksProxy, posted, proxying, socks_reply
from tests.support.raw_receivers import (
    BODY,
    Answering,
    Run,
    answering,
    hang,
    listening,
    on_both_loops,
    receiving,
    reset,
    resetting,
    saying,
    saying_and_closing,
    sending,
    unused_port,
)

SHORT = 0.3

DOWN = HttpResult(None, "proxy", AtFault.PROXY)
UNCLEAR = HttpResult(None, "proxy", AtFault.UNKNOWN)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


HTTP = "HTTP/1.1 {} x\r\nContent-Length: 3\r\n\r\nabc".format
INSTEAD: dict[str, tuple[type[Proxy], Answering, HttpResult]] = {
    "403": (Proxy, saying(HTTP(403).encode()), UNCLEAR),
    "500": (Proxy, saying(HTTP(500).encode()), UNCLEAR),
    "503": (Proxy, saying(HTTP(503).encode()), UNCLEAR),
    "407": (Proxy, saying(HTTP(407).encode()), DOWN),
    "502": (Proxy, saying(HTTP(502).encode()), UNCLEAR),
    "504": (Proxy, saying(HTTP(504).encode()), UNCLEAR),
    "no HTTP": (Proxy, saying(b"SSH-2.0-OpenSSH_9.6\r\n\r\n"), UNCLEAR),
    "a long head": (Proxy, saying(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 3_000), UNCLEAR),
    "an end": (Proxy, saying_and_closing(b"HTTP/1.1 200 OK\r\n"), UNCLEAR),
    "a reset": (Proxy, resetting(), UNCLEAR),
    "silence": (Proxy, hang, UNCLEAR),
    "more than was asked": (Proxy, saying(b"HTTP/1.1 200 OK\r\n\r\nhello"), HttpResult(None, "protocol")),
    "a tunnel to nowhere": (Proxy, saying_and_closing(b"HTTP/1.1 200 OK\r\n\r\n"), HttpResult(None, "reset")),
    "general failure": (SocksProxy, saying(socks_reply(1)), UNCLEAR),
    "not allowed": (SocksProxy, saying(socks_reply(2)), UNCLEAR),
    "network unreachable": (SocksProxy, saying(socks_reply(3)), UNCLEAR),
    "host unreachable": (SocksProxy, saying(socks_reply(4)), HttpResult(None, "connect")),
    "refused": (SocksProxy, saying(socks_reply(5)), HttpResult(None, "refused")),
    "expired": (SocksProxy, saying(socks_reply(6)), HttpResult(None, "connect")),
    "no such command": (SocksProxy, saying(socks_reply(7)), UNCLEAR),
    "no SOCKS": (SocksProxy, saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), UNCLEAR),
    "an unknown address": (SocksProxy, saying(b"\x05\x00\x00\x09\x00\x00"), UNCLEAR),
    "a SOCKS end": (SocksProxy, saying_and_closing(b"\x05"), UNCLEAR),
    "SOCKS silence": (SocksProxy, hang, UNCLEAR),
    "more than SOCKS": (SocksProxy, saying(socks_reply(0) + b"hello"), HttpResult(None, "protocol")),
}


@on_both_loops
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize(("kind", "instead", "expected"), INSTEAD.values(), ids=INSTEAD)
def test_a_tunnel_that_is_not_granted_says_whose_failure_it_is(
    run: Run, authority: Authority, kind: type[Proxy], instead: Answering, expected: HttpResult, secure: bool
) -> None:
    # A machine that is busy may not get as far as the silence in a short time: only the longest one proves.
    for timeout_seconds in (SHORT, 10 * SHORT, WAIT_SECONDS) if instead is hang else (WAIT_SECONDS,):
        post = posted(kind(instead), authority, secure=secure, timeout_seconds=timeout_seconds)
        answers, _, peer = run(post)
        if answers == [expected] * 2:
            break
    assert answers == [expected] * 2
    assert peer.connections == 0


@on_both_loops
@pytest.mark.parametrize(
    ("kind", "expected"),
    [(Proxy, UNCLEAR), (SocksProxy, HttpResult(None, "refused"))],
    ids=["http, which cannot say so", "socks5"],
)
def test_an_endpoint_that_refuses_a_proxy_is_the_endpoint_s_failure_where_the_proxy_says_so(
    run: Run, kind: type[Proxy], expected: HttpResult
) -> None:
    async def main() -> HttpResult:
        async with proxying(kind()) as proxy, sending(proxy=proxy.url) as sender:
            return await sender.post(f"http://127.0.0.1:{unused_port()}/", {}, BODY)

    assert run(main()) == expected


@on_both_loops
@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
def test_the_next_address_is_tried_through_the_proxy_too(run: Run, kind: type[Proxy]) -> None:
    async def main() -> tuple[HttpResult, list[str]]:
        async with (
            naming(["127.0.0.1", "::1"]) as names,
            receiving(answering(), host="::1") as peer,
            proxying(kind()) as proxy,
            sending(proxy=proxy.url, name_servers=[names.address]) as sender,
        ):
            return await sender.post(peer.at(NAME), {}, BODY), [host for host, _ in proxy.asked]

    answer, asked = run(main())
    assert (answer.status, asked) == (200, ["127.0.0.1", "::1"])


@on_both_loops
@pytest.mark.parametrize(("end", "error"), [("hang", "timeout"), ("reset", "reset"), ("plain", "tls")])
@pytest.mark.parametrize("secure_proxy", [False, True], ids=["http", "https"])
def test_behind_the_tunnel_it_is_the_endpoint_that_fails(
    run: Run, authority: Authority, end: str, error: str, secure_proxy: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        if end == "reset":
            reset(writer)
        elif end == "plain":
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        await hang(writer)

    async def main() -> HttpResult:
        tls = authority.server("127.0.0.1") if secure_proxy else None
        async with (
            listening(serve) as port,
            proxying(Proxy(), tls) as proxy,
            sending(SHORT if end == "hang" else WAIT_SECONDS, proxy=proxy.url) as sender,
        ):
            return await sender.post(f"https://127.0.0.1:{port}/", {}, BODY)

    assert run(main()) == HttpResult(None, error)
