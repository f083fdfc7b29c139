"""With a proxy, every connection is a tunnel through it, to an address that the guard has checked."""

import logging
from pathlib import Path

import pytest

from grammars.service_urls import read_proxy_url
from outbound.proxies import REPLY_PIECES, TunnelHandshake
from outbound.result import AtFault, ExchangeFailed, HttpResult
from tests.support.certificate_authority import Authority, trusted
from tests.support.name_server import naming
from tests.support.proxy_servers import NAME, PASSWORD, USER, Proxy, SocksProxy, posted, proxying, socks_reply
from tests.support.raw_receivers import (
    BODY,
    Allowing,
    Run,
    answering,
    full_port,
    on_both_loops,
    receiving,
    sending,
    unused_port,
)

SHORT = 0.3
CREDENTIALS = f"{USER}:{PASSWORD.replace(':', '%3A')}@"

DOWN = HttpResult(None, "proxy", AtFault.PROXY)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    return trusted(tmp_path, monkeypatch)


@on_both_loops
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("locked", [False, True], ids=["open", "locked"])
@pytest.mark.parametrize(
    ("kind", "secure_proxy"),
    [(Proxy, False), (Proxy, True), (SocksProxy, False)],
    ids=["http", "https", "socks5"],
)
def test_a_tunnel_leads_to_the_checked_address(
    run: Run, authority: Authority, kind: type[Proxy], secure_proxy: bool, locked: bool, secure: bool
) -> None:
    credentials = CREDENTIALS if locked else ""
    answers, proxy, peer = run(
        posted(
            kind(locked=locked), authority, secure=secure, secure_proxy=secure_proxy, credentials=credentials
        )
    )
    assert [answer[:2] for answer in answers] == [(200, None)] * 2
    assert proxy.asked == [("127.0.0.1", peer.port)]  # once: the tunnel is kept
    assert f"\r\nHost: {NAME}:{peer.port}\r\n".encode() in peer.requests[0]
    assert b"proxy" not in peer.requests[0].lower()


@on_both_loops
@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
def test_a_tunnel_may_lead_to_an_ipv6_address(run: Run, kind: type[Proxy]) -> None:
    async def main() -> tuple[HttpResult, list[tuple[str, int]], int]:
        async with (
            receiving(answering(), host="::1") as peer,
            proxying(kind()) as proxy,
            sending(proxy=proxy.url) as sender,
        ):
            return await sender.post(peer.at("[::1]"), {}, BODY), proxy.asked, peer.port

    answer, asked, port = run(main())
    assert (answer.status, asked) == (200, [("::1", port)])


@on_both_loops
def test_an_address_that_is_refused_is_not_asked_of_the_proxy(run: Run, authority: Authority) -> None:
    answers, proxy, peer = run(posted(Proxy(), authority, address="127.0.0.2"))
    assert answers == [HttpResult(None, "blocked")] * 2
    assert (proxy.connections, peer.connections) == (0, 0)


@on_both_loops
@pytest.mark.parametrize("kind", [Proxy, SocksProxy])
@pytest.mark.parametrize("credentials", ["", f"{USER}:wrong@"])
def test_a_proxy_that_refuses_us_is_down(
    run: Run, authority: Authority, kind: type[Proxy], credentials: str
) -> None:
    answers, _, peer = run(posted(kind(locked=True), authority, credentials=credentials))
    assert answers == [DOWN] * 2
    assert peer.connections == 0


@on_both_loops
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_a_proxy_that_is_not_there_is_down_and_nothing_goes_around_it(run: Run, scheme: str) -> None:
    async def main() -> tuple[HttpResult, int]:
        url = f"{scheme}://127.0.0.1:{unused_port()}"
        async with receiving(answering()) as peer, sending(proxy=url) as sender:
            return await sender.post(peer.url, {}, BODY), peer.connections

    assert run(main()) == (DOWN, 0)


@on_both_loops
@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_a_proxy_that_lets_nobody_in_is_down(run: Run, scheme: str) -> None:
    async def main(url: str) -> HttpResult:
        async with receiving(answering()) as peer, sending(SHORT, proxy=url) as sender:
            return await sender.post(peer.url, {}, BODY)

    with full_port() as port:
        assert run(main(f"{scheme}://127.0.0.2:{port}")) == DOWN


@on_both_loops
@pytest.mark.parametrize("says", ["NXDOMAIN", "SERVFAIL", None])
def test_a_proxy_whose_name_is_not_resolved_is_down(run: Run, says: str | None) -> None:
    async def main() -> tuple[HttpResult, int]:
        async with (
            naming(says) as names,
            receiving(answering()) as peer,
            sending(SHORT, proxy="http://proxy.example:3128", name_servers=[names.address]) as sender,
        ):
            return await sender.post(peer.url, {}, BODY), peer.connections

    assert run(main()) == (DOWN, 0)


@on_both_loops
def test_a_proxy_may_have_a_name_and_an_address_that_webhooks_may_not_have(run: Run) -> None:
    async def main() -> HttpResult:
        async with (
            naming(lambda name, _: ["127.0.0.1"] if name == "proxy.example" else ["127.0.0.2"]) as names,
            receiving(answering(), host="127.0.0.2") as peer,
            proxying(Proxy()) as proxy,
            sending(
                guard=Allowing("127.0.0.2"),
                proxy=proxy.url.replace("127.0.0.1", "proxy.example"),
                name_servers=[names.address],
            ) as sender,
        ):
            return await sender.post(peer.at(NAME), {}, BODY)

    assert run(main()).status == 200


@on_both_loops
def test_a_proxy_with_a_certificate_that_proves_nothing_is_down(run: Run, tmp_path: Path) -> None:
    other = Authority(tmp_path)

    async def main() -> HttpResult:
        async with (
            receiving(answering()) as peer,
            proxying(Proxy(), other.server("127.0.0.1")) as proxy,
            sending(proxy=proxy.url) as sender,
        ):
            return await sender.post(peer.url, {}, BODY)

    assert run(main()) == DOWN


@on_both_loops
def test_a_proxy_s_password_is_in_no_log(
    run: Run, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        run(posted(Proxy(locked=True), authority, credentials=CREDENTIALS))
        run(posted(Proxy(locked=True), authority, credentials=f"{USER}:{PASSWORD[:5]}@"))
    for secret in (USER, PASSWORD[:5]):
        assert secret not in caplog.text
        assert secret not in repr(read_proxy_url(f"http://{CREDENTIALS}proxy.example:3128"))


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://proxy.example", [b"HTTP/1.0 200 Connection established\r\nA: b\r\n\r\n"]),
        ("http://proxy.example", [b"HTTP/1.1 200\r\n\r\n"]),
        ("socks5://a:b@proxy.example", [b"\x05\x02", b"\x01\x00", socks_reply(0)]),
        ("socks5://a:b@proxy.example", [b"\x05\x00", b"\x05\x00\x00\x04" + bytes(18)]),
        ("socks5://proxy.example", [b"\x05\x00", b"\x05\x00\x00\x03\x05local" + bytes(2)]),
    ],
)
def test_a_proxy_may_speak_in_pieces(url: str, words: list[bytes], size: int) -> None:
    handshake = TunnelHandshake(read_proxy_url(url), "192.0.2.1", 443)
    for word in words:
        assert not handshake.is_open
        for at in range(0, len(word), size):
            handshake.receive(word[at : at + size])
    assert handshake.is_open


def test_a_proxy_speaks_in_few_pieces() -> None:
    handshake = TunnelHandshake(read_proxy_url("http://proxy.example:3128"), "192.0.2.1", 443)
    for _ in range(REPLY_PIECES):
        assert handshake.receive(b"H") == b""
    with pytest.raises(ExchangeFailed, match="proxy"):
        handshake.receive(b"H")
