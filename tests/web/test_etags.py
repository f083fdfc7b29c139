"""web/pages.py: the strong tag of an answer, and a 304 for a client that has it."""

import pytest

from handlers.request import Request
from web.pages import tagged

BODY = b"{}"


def asked(*has: str) -> Request:
    headers = {"If-None-Match": has[0]} if has else {}
    return Request("GET", "/bots.json", (), {}, headers, "", b"", 0)


def test_equal_bytes_have_equal_tags() -> None:
    first, again, other = (tagged(asked(), body, {}).headers["etag"] for body in (BODY, BODY, b"[]"))
    assert first == again != other
    assert first.startswith('"')


@pytest.mark.parametrize("has", ["{}", "W/{}", '"other", {}', "*"])
def test_who_has_the_bytes_gets_none(has: str) -> None:
    tag = tagged(asked(), BODY, {}).headers["etag"]
    reply = tagged(asked(has.format(tag)), BODY, {"cache-control": "public"})
    assert (reply.status, reply.body) == (304, b"")
    assert reply.headers == {"cache-control": "public", "etag": tag}


@pytest.mark.parametrize("has", ["", '"other"', "x", '""'])
def test_who_has_others_gets_them(has: str) -> None:
    assert tagged(asked(has), BODY, {}).status == 200
