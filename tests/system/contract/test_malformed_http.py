"""Bytes that are not HTTP, or too many, over a raw socket."""

import json

import pytest

from tests.support.contract import Served

CLOSE = b"Host: gateway\r\nConnection: close\r\n"
GET = b"GET /healthz HTTP/1.1\r\n"
PATCH = b"PATCH /bots/1/stats HTTP/1.1\r\n" + CLOSE
CHUNKED = PATCH + b"Transfer-Encoding: chunked\r\n\r\n"
MALFORMED: dict[str, bytes] = {
    "garbage": b"\x00\x01\x02\xff\r\n\r\n",
    "words": b"hello there\r\n\r\n",
    "HTTP/0.9": b"GET /healthz\r\n\r\n",
    "HTTP/2.0": b"GET /healthz HTTP/2.0\r\n" + CLOSE + b"\r\n",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no path": b"GET  HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "space in path": b"GET /health z HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "missing Host": GET + b"Connection: close\r\n\r\n",
    "two Hosts": GET + b"Host: a\r\n" + CLOSE + b"\r\n",
    "Host with a space": GET + b"Host: a b\r\n\r\n",
    "header without a colon": GET + CLOSE + b"nothing\r\n\r\n",
    "header without a name": GET + CLOSE + b": x\r\n\r\n",
    "space in a header name": GET + CLOSE + b"a b: c\r\n\r\n",
    "space before the colon": GET + CLOSE + b"a : c\r\n\r\n",
    "NUL in a header": GET + CLOSE + b"a: b\x00c\r\n\r\n",
    "folded header": GET + CLOSE + b"a: b\r\n c\r\n\r\n",
    "content-length of letters": PATCH + b"Content-Length: abc\r\n\r\n",
    "negative content-length": PATCH + b"Content-Length: -1\r\n\r\n",
    "signed content-length": PATCH + b"Content-Length: +2\r\n\r\n{}",
    "empty content-length": PATCH + b"Content-Length: \r\n\r\n",
    "superscript content-length": PATCH + b"Content-Length: \xb2\r\n\r\n{}",
    "two content-lengths": PATCH + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "content-length and chunks": PATCH + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "unknown transfer-encoding": PATCH + b"Transfer-Encoding: gzip\r\n\r\n",
    "chunk size of letters": CHUNKED + b"zz\r\n{}\r\n0\r\n\r\n",
    "negative chunk size": CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n",
    "no chunk size": CHUNKED + b"\r\n{}\r\n0\r\n\r\n",
    "huge chunk size": CHUNKED + b"f" * 100 + b"\r\n{}",
    "chunk longer than told": CHUNKED + b"1\r\n{}\r\n0\r\n\r\n",
}
HEADERS_TOO_LONG: dict[str, bytes] = {
    "path": b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + CLOSE + b"\r\n",
    "header": GET + CLOSE + b"a: " + b"b" * 20_000 + b"\r\n\r\n",
    "key": GET + CLOSE + b"Authorization: " + b"b" * 200_000 + b"\r\n\r\n",
    "many headers": GET + CLOSE + b"a: b\r\n" * 5_000 + b"\r\n",
    "no end": GET + CLOSE + b"a: " + b"b" * 200_000,
}


def error_in(served: Served, sent: bytes) -> tuple[int, str]:
    """Status and text of the only answer, an error in the common shape that ends the connection."""
    head, _, body = served.gateway.raw(sent).partition(b"\r\n\r\n")
    line, *lines = head.decode().split("\r\n")
    version, status, *_ = line.split()
    headers = dict(each.lower().split(": ", 1) for each in lines)
    error = json.loads(body)
    assert version == "HTTP/1.1"
    assert headers["content-type"] == "application/json"
    assert headers["connection"] == "close"
    assert headers["content-length"] == str(len(body))
    assert headers["cache-control"] == "no-store"
    assert len(headers["x-request-id"]) == 16
    codes = {"400": "malformed_request", "431": "headers_too_large"}
    code = {} if b" /bots/" in sent.partition(b"\r\n")[0] else {"code": codes[status]}
    assert error == {"success": False, "error": error["error"], "status": int(status), **code}
    return error["status"], error["error"]


@pytest.mark.parametrize("request_bytes", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_request_is_400(served: Served, request_bytes: bytes) -> None:
    assert error_in(served, request_bytes) == (400, "The HTTP request is malformed.")


@pytest.mark.parametrize("request_bytes", HEADERS_TOO_LONG.values(), ids=HEADERS_TOO_LONG)
def test_headers_over_16_kib_are_431(served: Served, request_bytes: bytes) -> None:
    assert error_in(served, request_bytes) == (431, "The request's headers are too large.")


def test_headers_below_16_kib_are_read(served: Served) -> None:
    assert served.gateway.request("GET", "/healthz", headers={"X-Long": "x" * 16_000}).status_code == 200
