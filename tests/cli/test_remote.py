"""Calls of a gateway over TCP, TLS and Unix sockets, and the errors where there is none."""

import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from cli import remote
from cli.remote import Address, NoGateway, Refused, Remote
from tests.support.certificate_authority import Authority
from tests.support.gateways import OPERATOR_TOKEN, WAIT_SECONDS, ThreadGateway, running
from tests.support.raw_receivers import unused_url
from tests.support.webhook_receiver import Receiver, drop, status
from wire.listening import url_of

STATE = "/debug/overview.json"


def asked(url: str, trusted: Path | None = None, *, is_own: bool = False) -> bool:
    answer = Remote(Address(url, trusted, is_own), OPERATOR_TOKEN).call("GET", STATE)
    return bool(answer["success"])


def told(url: str, seconds: float = WAIT_SECONDS, trusted: Path | None = None) -> str:
    """The one line of a call that no gateway answers in time."""
    with pytest.raises(NoGateway) as raised:
        Remote(Address(url, trusted), OPERATOR_TOKEN).call("GET", STATE, seconds=seconds)
    (line,) = raised.value.message.splitlines()
    assert OPERATOR_TOKEN not in line
    return line


@contextmanager
def speaking(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers one client with given bytes, once the client has sent its request."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def speak() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65_536)
                answer(connection)

        thread = threading.Thread(target=speak)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(WAIT_SECONDS)


def test_a_gateway_is_called_over_tcp(gateway: ThreadGateway) -> None:
    assert asked(gateway.base_url)
    assert asked(f"{gateway.base_url}/")


def test_a_gateway_is_called_over_a_unix_socket(tmp_path: Path) -> None:
    with running(tmp_path / "data", **{"server.unix_socket": tmp_path / "votegate.sock"}) as gateway:
        assert gateway.base_url == f"unix:{tmp_path / 'votegate.sock'}"
        assert asked(gateway.base_url)


def test_a_gateway_is_called_over_tls_if_its_certificate_is_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    authority.server("127.0.0.1")
    (own,) = [path for path in tmp_path.glob("*.pem") if path != authority.file]
    tls = {"server.tls.certificate": own, "server.tls.key": own}
    with running(tmp_path / "data", **tls) as gateway:
        assert asked(gateway.base_url, authority.file)
        assert asked(gateway.base_url, own), "the certificate itself may be named"
        assert "its certificate is not trusted (unable to get local issuer" in told(gateway.base_url)
        other = gateway.base_url.replace("127.0.0.1", "localhost")
        assert "its certificate is for another name (" in told(other, trusted=authority.file)
        assert asked(other, own, is_own=True)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_without_certificates_is_reported(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(click.ClickException, match=f"no certificates in {path}: "):
        asked("https://127.0.0.1:1", path)


def test_a_gateway_without_tls_is_reported_as_such(gateway: ThreadGateway) -> None:
    assert "no TLS (" in told(gateway.base_url.replace("http", "https"))


def test_a_wrong_token_is_refused_in_the_gateway_s_words(gateway: ThreadGateway) -> None:
    for token in ("x", "wrong" * 10):
        with pytest.raises(Refused, match=r"^Invalid operator token\.$"):
            Remote(Address(gateway.base_url), token).call("GET", STATE)


@pytest.mark.parametrize("token", ["", "a-token\nand-another", "a-tökén", "a-token\n"])
def test_a_token_that_cannot_be_sent_is_refused_and_not_shown(token: str) -> None:
    with pytest.raises(click.ClickException) as raised:
        Remote(Address(unused_url()), token)
    assert raised.value.message == "no operator token: it must be visible ASCII on one line"


def test_a_name_without_a_file_is_written_with_an_at_sign() -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0votegate-of-the-tests-{os.getpid()}")
        listening.listen()
        line = told(url_of(listening), 0.1)
        listening.settimeout(WAIT_SECONDS)
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(100).startswith(b"GET /debug/overview.json HTTP/1.1\r\n")
    assert line.startswith(f"no gateway answers at unix:@votegate-of-the-tests-{os.getpid()}: ")


@pytest.mark.parametrize("path", ["/nowhere/votegate.sock", "@nobody", "", "/" + "x" * 200, __file__])
def test_a_unix_socket_without_a_gateway_is_reported(path: str) -> None:
    assert told(f"unix:{path}").startswith(f"no gateway answers at unix:{path}: ")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:1", "connection refused; is it running, and is it there?"),
        ("http://gateway.invalid", ""),
        ("no url", "it must be like http://127.0.0.1:8080"),
        ("http://[::1", "Invalid IPv6 URL"),
        ("http://127.0.0.1:port", ""),
        ("http://127.0.0.1:99999", ""),
        ("ftp://a", "it must be like"),
        ("http://user:password@127.0.0.1:1", "it must be like"),
        ("http://a b", ""),
        ("http://" + "a" * 100, ""),
    ],
)
def test_an_address_without_a_gateway_is_reported(url: str, why: str) -> None:
    assert told(url).startswith(f"no gateway answers at {url}: {why}")


def test_a_server_that_closes_the_connection_is_no_gateway(receiver: Receiver) -> None:
    receiver.default = drop
    assert told(receiver.url).endswith(": it closed the connection without an answer")


def test_a_server_that_does_not_answer_is_no_gateway(receiver: Receiver) -> None:
    receiver.default = receiver.hang
    assert told(receiver.url, 0.1).startswith(f"no gateway answers at {receiver.url}: it ")


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
def test_a_server_that_answers_byte_by_byte_for_ever_is_no_gateway(more: bytes) -> None:
    released = threading.Event()

    def trickle(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n" + more + b"\r\n")
        try:
            while not released.wait(0.01):  # a byte at a time, well within any socket's time-out
                connection.sendall(b" ")
        except OSError:
            pass

    with speaking(trickle) as url:
        try:
            with pytest.raises(NoGateway, match=r": it has not answered within 0\.3 s$"):
                Remote(Address(url), OPERATOR_TOKEN).call("GET", STATE, seconds=0.3)
        finally:
            released.set()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "it cut its answer off"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", "it cut its answer off"),
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "it does not speak HTTP; check --url"),
        (b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000, "it does not speak HTTP; check --url"),
        (b"", "it closed the connection without an answer"),
    ],
)
def test_an_answer_that_breaks_off_or_is_not_http_is_reported(answer: bytes, why: str) -> None:
    with speaking(lambda connection: connection.sendall(answer)) as url:
        assert told(url) == f"no gateway answers at {url}: {why}"


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (200, b"<html>"),
        (502, b"<html>"),
        (200, b"[]"),
        (200, b"{}"),
        (200, b"null"),
        (500, b"[]"),
        (200, b"[" * 100_000),
    ],
)
def test_a_server_with_other_answers_is_no_votegate(receiver: Receiver, code: int, body: bytes) -> None:
    receiver.default = status(code, body)
    assert told(receiver.url).startswith(f"{receiver.url} is not a Votegate gateway: ")


def test_a_redirect_is_not_followed_with_the_token(receiver: Receiver) -> None:
    receiver.default = status(302, Location=receiver.url + "/elsewhere")
    told(receiver.url)
    assert len(receiver.received) == 1


def test_no_proxy_of_the_environment_gets_the_token(
    gateway: ThreadGateway, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", receiver.url)
    assert asked(gateway.base_url)
    assert receiver.received == []


def test_what_a_stranger_says_does_not_steer_the_terminal(receiver: Receiver) -> None:
    receiver.default = status(400, b'{"success": false, "error": "\\u001b[2Jgone\\u202e"}')
    with pytest.raises(Refused) as raised:
        asked(receiver.url)
    assert raised.value.message == "\N{REPLACEMENT CHARACTER}[2Jgone\N{REPLACEMENT CHARACTER}"


def pieces(url: str) -> bytes:
    return b"".join(Remote(Address(url), OPERATOR_TOKEN).pieces("/debug/snapshot"))


def test_a_file_is_taken_in_pieces_and_whole(gateway: ThreadGateway) -> None:
    gateway.list_bot()
    assert len(pieces(gateway.base_url)) > 500


@pytest.mark.parametrize(
    "answer",
    [
        b"Content-Length: 100\r\n\r\nsome",
        b"Transfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n",
    ],
)
def test_a_file_that_is_cut_off_is_reported(answer: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
    with (
        speaking(lambda connection: connection.sendall(head + answer)) as url,
        pytest.raises(NoGateway, match="it cut its answer off"),
    ):
        pieces(url)


def test_a_file_that_stops_coming_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "IDLE_SECONDS", 0.1)
    released = threading.Event()

    def stop(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n")
        connection.sendall(b"Content-Length: 100\r\n\r\nsome")
        released.wait(WAIT_SECONDS)

    with speaking(stop) as url:
        try:
            with pytest.raises(NoGateway, match="it does not answer in time"):
                pieces(url)
        finally:
            released.set()


@pytest.mark.parametrize("body", [b"<html>", b'{"success": true}'])
def test_a_page_is_no_file(receiver: Receiver, body: bytes) -> None:
    receiver.default = status(200, body, Content_Type="text/html")
    with pytest.raises(NoGateway, match="is not a Votegate gateway"):
        pieces(receiver.url)


def test_the_flag_of_openssl_is_the_one_that_python_names_later() -> None:
    assert getattr(ssl, "VERIFY_X509_PARTIAL_CHAIN", 0x80000) == 0x80000
