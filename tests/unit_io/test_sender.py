"""One exchange with a receiver: whatever the receiver does, it ends in an answer."""

import gzip
import json

import pytest

from tests.gateway import WAIT_SECONDS
from tests.receiver import Receiver, status
from tests.unit_io.disk import run
from tests.unit_io.origin import (
    Answering,
    answering,
    close,
    hang,
    pour,
    reset,
    saying,
    serving,
    trickle,
    unused_url,
)
from webhook.sender import EXCERPT_CHARACTERS, READ_BYTES, Answer, open_sender

BODY = b'{"user":"555555555555555555","test":true}'


def post(url: str, token: str | None = None, timeout_seconds: float = WAIT_SECONDS) -> Answer:
    async def main() -> Answer:
        async with open_sender(timeout_seconds, "Votegate/tests") as sender:
            return await sender.post(url, token, BODY)

    return run(main())


def post_to(answer: Answering, timeout_seconds: float = WAIT_SECONDS) -> Answer:
    """What the sender makes of an answer on the bare socket."""

    async def main() -> Answer:
        async with serving(answer) as origin, open_sender(timeout_seconds, "Votegate/tests") as sender:
            return await sender.post(origin.url, None, BODY)

    return run(main())


def test_a_webhook_is_a_post_of_json_with_the_token_as_authorization(receiver: Receiver) -> None:
    assert post(receiver.url + "/hook?a=b%2Fc", token="a token") == Answer(204, None, "")

    (received,) = receiver.received
    assert (received.method, received.path, received.body) == ("POST", "/hook?a=b%2Fc", BODY)
    assert received.headers["authorization"] == "a token"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"] == "Votegate/tests"
    assert received.headers["accept-encoding"] == "identity"


def test_without_a_token_no_authorization_is_sent(receiver: Receiver) -> None:
    post(receiver.url)
    assert "authorization" not in receiver.received[0].headers


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
def test_a_status_from_200_to_299_delivers(receiver: Receiver, code: int) -> None:
    receiver.default = status(code)
    assert post(receiver.url) == Answer(code, None, "")


@pytest.mark.parametrize("code", [300, 304, 400, 401, 404, 410, 429, 500, 503, 599])
def test_any_other_status_is_a_failure_with_its_name(receiver: Receiver, code: int) -> None:
    receiver.default = status(code)
    assert post(receiver.url) == Answer(code, f"http_{code}", "")


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(receiver: Receiver, code: int) -> None:
    receiver.default = status(code, Location=receiver.url + "/elsewhere")
    assert post(receiver.url) == Answer(code, f"http_{code}", "")
    assert len(receiver.received) == 1


def test_the_answer_s_beginning_is_kept_as_text(receiver: Receiver) -> None:
    receiver.default = status(400, b'{"error":"no such user"}')
    assert post(receiver.url).excerpt == '{"error":"no such user"}'


@pytest.mark.parametrize("character", ["x", "ü", "€"])
def test_the_excerpt_ends_after_500_characters(receiver: Receiver, character: str) -> None:
    receiver.default = status(200, (character * 600).encode())
    assert post(receiver.url).excerpt == character * EXCERPT_CHARACTERS


def test_a_token_that_the_receiver_echoes_is_not_kept(receiver: Receiver) -> None:
    receiver.default = status(401, b"wrong token: a-token-of-the-tests" + b"x" * 1_000)
    excerpt = post(receiver.url, token="a-token-of-the-tests").excerpt
    assert excerpt.startswith("wrong token: [token]xxx")
    assert len(excerpt) == EXCERPT_CHARACTERS


def test_bytes_that_are_no_text_do_no_harm(receiver: Receiver) -> None:
    receiver.default = status(200, b"\xff\x00ok")
    assert post(receiver.url).excerpt == "\ufffd\x00ok"


@pytest.mark.parametrize("body", [gzip.compress(b"hello", mtime=0), b"not gzip at all"])
def test_a_compressed_body_is_not_decompressed(receiver: Receiver, body: bytes) -> None:
    receiver.default = status(200, body, Content_Encoding="gzip")
    assert post(receiver.url) == Answer(200, None, body.decode("utf-8", "replace"))


@pytest.mark.parametrize("size", [READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 1 << 20])
def test_the_status_counts_however_long_the_body(receiver: Receiver, size: int) -> None:
    receiver.default = status(200, b"x" * size)
    assert post(receiver.url) == Answer(200, None, "x" * EXCERPT_CHARACTERS)


def test_a_body_that_does_not_end_is_not_read_to_its_end() -> None:
    assert post_to(pour) == Answer(200, None, "x" * EXCERPT_CHARACTERS)


def test_a_connection_is_used_again_but_not_behind_a_body_that_was_too_long() -> None:
    async def main() -> list[int]:
        connections = []
        async with (
            serving(hang) as origin,
            open_sender(WAIT_SECONDS, "Votegate/tests") as sender,
        ):
            for answer in (answering(), answering(body=b"short"), pour, answering()):
                origin.answer = answer
                await sender.post(origin.url, None, BODY)
                connections.append(origin.connections)
        return connections

    assert run(main()) == [1, 1, 1, 2]


def test_cookies_are_not_kept() -> None:
    async def main() -> list[bytes]:
        answer = answering("200 OK", b"", "Set-Cookie: name=value; Path=/")
        async with serving(answer) as origin, open_sender(WAIT_SECONDS, "Votegate/tests") as sender:
            url = origin.url.replace("127.0.0.1", "localhost")  # a bare address never gets cookies back
            for _ in range(2):
                await sender.post(url, None, BODY)
            return origin.requests

    requests = run(main())
    assert len(requests) == 2
    assert not [request for request in requests if b"cookie" in request.lower()]


def test_the_proxy_of_the_environment_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, unused_url())
    assert post(receiver.url).status == 204


@pytest.mark.parametrize("answer", [hang, trickle, saying(b"HTTP/1.1 200 OK\r\n")])
def test_an_answer_that_is_not_whole_in_time_is_a_time_out(answer: Answering) -> None:
    assert post_to(answer, timeout_seconds=0.1) == Answer(None, "timeout", "")


def test_a_closed_connection_is_a_reset() -> None:
    assert post_to(close) == Answer(None, "reset", "")


def test_a_reset_connection_is_a_reset() -> None:
    assert post_to(reset) == Answer(None, "reset", "")


def test_an_answer_that_is_no_http_breaks_the_protocol() -> None:
    assert post_to(saying(b"hello\r\n\r\n")) == Answer(None, "protocol", "")


def test_a_port_where_nobody_listens_is_refused() -> None:
    assert post(unused_url()) == Answer(None, "refused", "")


def test_an_address_that_cannot_be_reached_is_a_failure_to_connect() -> None:
    assert post("http://255.255.255.255/") == Answer(None, "connect", "")


def test_a_name_that_does_not_exist_is_a_dns_failure() -> None:
    assert post("http://receiver.invalid/") == Answer(None, "dns", "")


def test_a_port_that_speaks_no_tls_is_a_tls_failure(receiver: Receiver) -> None:
    assert post(receiver.url.replace("http", "https")) == Answer(None, "tls", "")


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/", "http:///nowhere", "ftp://a/"])
def test_a_url_that_cannot_be_called_is_a_failure_like_any_other(url: str) -> None:
    assert post(url) == Answer(None, "protocol", "")


def test_after_any_failure_the_sender_goes_on(receiver: Receiver) -> None:
    async def main() -> Answer:
        async with open_sender(WAIT_SECONDS, "Votegate/tests") as sender:
            for url in (unused_url(), "http://[::1", "http://receiver.invalid/"):
                await sender.post(url, "a token", BODY)
            return await sender.post(receiver.url, None, BODY)

    assert run(main()) == Answer(204, None, "")
    assert json.loads(receiver.received[0].body) == json.loads(BODY)
