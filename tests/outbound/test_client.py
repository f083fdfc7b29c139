"""One exchange with a receiver: whatever the receiver does, the exchange ends in a result."""

import asyncio
import contextlib
import gzip
import os
import socket
from collections.abc import Mapping
from pathlib import Path

import pytest

from outbound.result import READ_BYTES, AtFault, HttpResult
from tests.support.raw_receivers import (
    BODY,
    Run,
    answering,
    hang,
    on_both_loops,
    posted,
    receiving,
    sending,
    unused_port,
)
from tests.support.webhook_receiver import Receiver, status

pytestmark = on_both_loops

OK = b"HTTP/1.1 200 OK\r\n"


async def post(url: str, headers: Mapping[str, str] | None = None) -> HttpResult:
    async with sending() as sender:
        return await sender.post(url, headers or {}, BODY)


def test_a_webhook_is_a_post_of_json_with_the_caller_s_headers(run: Run, receiver: Receiver) -> None:
    answer = run(post(receiver.url + "/hook?a=b%2Fc", {"Authorization": "a token", "webhook-id": "1"}))
    assert (answer.status, answer.error) == (204, None)

    (received,) = receiver.received
    assert (received.method, received.path, received.body) == ("POST", "/hook?a=b%2Fc", BODY)
    assert received.headers == {
        "host": receiver.url.removeprefix("http://"),
        "content-type": "application/json",
        "user-agent": "Votegate/tests",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "keep-alive",
        "authorization": "a token",
        "webhook-id": "1",
        "content-length": str(len(BODY)),
    }


@pytest.mark.parametrize("code", [200, 201, 202, 204, 299])
def test_a_status_from_200_to_299_delivers(run: Run, receiver: Receiver, code: int) -> None:
    receiver.default = status(code)
    assert run(post(receiver.url))[:2] == (code, None)


@pytest.mark.parametrize("code", [300, 304, 400, 401, 404, 410, 429, 500, 503, 599, 999])
def test_any_other_status_is_a_failure_with_its_name(run: Run, receiver: Receiver, code: int) -> None:
    receiver.default = status(code)
    assert run(post(receiver.url))[:3] == (code, f"http_{code}", AtFault.ENDPOINT)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_failure_and_not_followed(run: Run, receiver: Receiver, code: int) -> None:
    receiver.default = status(code, Location=receiver.url + "/elsewhere")
    assert run(post(receiver.url))[:2] == (code, f"http_{code}")
    assert len(receiver.received) == 1


def test_the_answer_s_headers_are_kept(run: Run) -> None:
    told = answering("429 Slow down", b"", "Retry-After: \t17 ", "X-B: \xfc", "x-b: 2", "Empty:")
    headers = run(posted(told)).headers
    assert headers == {"retry-after": "17", "x-b": "\xfc, 2", "empty": "", "content-length": "0"}


def test_the_answer_s_body_is_kept(run: Run, receiver: Receiver) -> None:
    receiver.default = status(400, b'{"error":"no such user"}\xff\x00')
    assert run(post(receiver.url)).body == b'{"error":"no such user"}\xff\x00'


@pytest.mark.parametrize("body", [gzip.compress(b"hello", mtime=0), b"not gzip at all"])
def test_a_compressed_body_is_not_decompressed(run: Run, receiver: Receiver, body: bytes) -> None:
    receiver.default = status(200, body, Content_Encoding="gzip")
    assert run(post(receiver.url)).body == body


@pytest.mark.parametrize("size", [READ_BYTES - 1, READ_BYTES, READ_BYTES + 1, 1 << 20])
def test_the_status_counts_however_long_the_body(run: Run, receiver: Receiver, size: int) -> None:
    receiver.default = status(200, b"x" * size)
    answer = run(post(receiver.url))
    assert (answer.status, answer.error, answer.body) == (200, None, b"x" * min(size, READ_BYTES))


def test_a_port_where_nobody_listens_is_refused(run: Run) -> None:
    assert run(post(f"http://127.0.0.1:{unused_port()}/")) == HttpResult(None, "refused")


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999/", "ftp://a/", "http://127.0.0.2/"])
def test_a_url_that_the_guard_refuses_is_blocked(run: Run, url: str) -> None:
    assert run(post(url)) == HttpResult(None, "blocked")


@pytest.mark.parametrize("value", ["a\r\nb: c", "a\nb", "\0", "\u20ac"])
def test_a_header_that_would_be_two_is_never_sent(run: Run, receiver: Receiver, value: str) -> None:
    with pytest.raises(ValueError, match=r"line break|ascii"):
        run(post(receiver.url, {"Authorization": value}))
    assert not receiver.received


def test_after_any_failure_the_sender_goes_on(run: Run, receiver: Receiver) -> None:
    async def main() -> HttpResult:
        async with sending() as sender:
            for url in (f"http://127.0.0.1:{unused_port()}", "http://[::1"):
                await sender.post(url, {}, BODY)
            return await sender.post(receiver.url, {}, BODY)

    assert run(main()).status == 204


def test_the_proxy_of_the_environment_is_not_used(
    run: Run, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
    assert run(post(receiver.url)).status == 204


def test_cookies_are_not_kept(run: Run) -> None:
    async def main() -> list[bytes]:
        answer = answering("200 OK", b"", "Set-Cookie: name=value; Path=/")
        async with receiving(answer) as peer, sending() as sender:
            for _ in range(2):
                await sender.post(peer.url, {}, BODY)
            return peer.requests

    requests = run(main())
    assert len(requests) == 2
    assert not [request for request in requests if b"cookie" in request.lower()]


def test_an_attempt_that_is_cancelled_ends_at_once(run: Run) -> None:
    async def main() -> bool:
        async with receiving(hang) as peer, sending() as sender:
            posting = asyncio.create_task(sender.post(peer.url, {}, BODY))
            while not peer.requests:  # noqa: ASYNC110 (the receiver tells nobody)
                await asyncio.sleep(0)
            posting.cancel()
            await asyncio.wait([posting])
            return posting.cancelled()

    assert run(main())


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_end_of_the_sender_ends_what_is_under_way(run: Run, scheme: str) -> None:
    """The port speaks no TLS, so the exchange with https hangs in its handshake."""

    async def main() -> list[HttpResult]:
        async with receiving(hang) as peer:
            async with sending() as sender:
                url = peer.url.replace("http", scheme)
                posting = [asyncio.create_task(sender.post(url, {}, BODY)) for _ in range(3)]
                while peer.connections < 3:  # noqa: ASYNC110 (the receiver tells nobody)
                    await asyncio.sleep(0)
            answers = [post.result() for post in posting]
            return [*answers, await sender.post(peer.url, {}, BODY)]

    assert run(main()) == [HttpResult(None, "internal", AtFault.UNKNOWN)] * 4


def sockets_to(port: int) -> int:
    """Return how many sockets of this process are connected to the port."""
    count = 0
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the descriptor that lists them is closed
            if descriptor.readlink().name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(descriptor.name))) as found:
                    count += found.getpeername() == ("127.0.0.1", port)
    return count


def test_when_the_sender_has_ended_its_sockets_are_closed(run: Run) -> None:
    async def main() -> tuple[int, int]:
        async with receiving(answering()) as peer:
            async with sending() as sender:
                await asyncio.gather(*(sender.post(peer.url, {}, BODY) for _ in range(5)))
                during = sockets_to(peer.port)
            return during, sockets_to(peer.port)

    assert run(main()) == (5, 0)
