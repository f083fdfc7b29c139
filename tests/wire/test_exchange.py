"""wire/exchange.py: long answers."""

import asyncio
from collections.abc import Mapping
from types import MappingProxyType

from tornado.httputil import HTTPHeaders, HTTPMessageDelegate, HTTPServerConnectionDelegate, ResponseStartLine

from wire.exchange import JOINED_BYTES, Exchange
from wire.parser import RequestHead


class Silent(HTTPServerConnectionDelegate):
    """An application that answers nothing."""

    def start_request(self, _: object, __: object) -> HTTPMessageDelegate:
        return HTTPMessageDelegate()


class Client:
    """A connection that keeps what is written, piece by piece."""

    remote_ip, protocol = "192.0.2.1", "http"
    closing = at_eof = holds_bytes = False
    posts = None
    status_lines = MappingProxyType(dict[int, bytes]())

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.application = Silent()

    def write(self, data: bytes) -> "asyncio.Future[None]":
        self.pieces.append(data)
        written = asyncio.get_running_loop().create_future()
        written.set_result(None)
        return written

    def go_on(self) -> None: ...

    def exchange_over(self, *, keep_alive: bool, at_once: bool = False) -> None: ...

    def learn_post(self, data: bytes, target: bytes, named: Mapping[bytes, bytes]) -> None: ...

    def abort(self) -> None: ...


async def pieces_of(body: bytes) -> list[bytes]:
    client = Client()
    exchange = Exchange(client, RequestHead("GET", b"/", "1.1", [], True, None))
    exchange.begin()
    exchange.complete()
    headers = HTTPHeaders({"Content-Length": str(len(body))})
    await exchange.write_headers(ResponseStartLine("HTTP/1.1", 200, "OK"), headers, body)
    return client.pieces


def test_clients_that_wait_for_the_same_long_body_share_its_memory() -> None:
    body = bytes(JOINED_BYTES + 1)
    head, written = asyncio.run(pieces_of(body))
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert written is body


def test_a_short_answer_is_one_piece() -> None:
    assert len(asyncio.run(pieces_of(bytes(JOINED_BYTES)))) == 1
