"""Targets in absolute form, as clients send them that take the gateway for a proxy (RFC 9112, 3.2.2).

Refused targets are among the heads with two readings, in `test_smuggling.py`.
"""

import asyncio

import pytest
from tornado.web import Application, RequestHandler

from tests.support.contract import STATS, Served
from tests.support.gateways import BOT, USER, WAIT_SECONDS
from tests.support.raw_http import answers_in
from tests.support.raw_http_client import HEALTH, Caller, request
from tests.support.wire_stories import LIMITS, refuse
from wire.http_server import WireServer
from wire.listening import listen
from wire.parser import QUERY_FIELDS

CHECK = f"/bots/{BOT}/voters/{USER}"


@pytest.mark.parametrize(
    "place",
    [
        *("http://gateway", "https://gateway", "HTTP://GATEWAY", "http://other", "http://gateway:8080"),
        *("http://gateway:", "http://192.0.2.1:80", "http://[2001:db8::1]:80", "http://[::ffff:192.0.2.1]"),
    ],
)
def test_a_target_in_absolute_form_is_answered_like_its_path(caller: Caller, place: str) -> None:
    answer = caller.ask(request("GET", f"{place}/healthz"))
    assert (answer.status, answer.closes) == (200, False)
    assert caller.ask(HEALTH).status == 200


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "http://gateway", 404),
        ("GET", "http://gateway/", 404),
        ("GET", "http://gateway?a=b", 404),
        ("GET", "http://gateway/healthz?a=http://other/", 200),
        ("GET", "http://gateway//healthz", 404),
        ("POST", "http://gateway/healthz", 405),
        ("OPTIONS", "http://gateway/healthz", 204),
        ("BREW", "http://gateway/healthz", 501),
    ],
)
def test_what_follows_the_host_is_the_path(caller: Caller, method: str, target: str, status: int) -> None:
    assert caller.ask(request(method, target)).status == status


def test_options_of_a_host_alone_is_options_of_the_server(caller: Caller) -> None:
    alone, asterisk = (caller.ask(request("OPTIONS", target)) for target in ("http://gateway", "*"))
    assert (alone.status, alone.body) == (asterisk.status, asterisk.body)


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), (CHECK, 401)])
@pytest.mark.parametrize("lines", [[], ["Expect: 100-continue"]])
def test_a_query_has_a_bounded_number_of_fields(
    caller: Caller, path: str, status: int, lines: list[str]
) -> None:
    fields = ["a=1"] * QUERY_FIELDS
    assert caller.ask(request("GET", f"{path}?{'&'.join(fields)}", *lines)).status == status
    assert caller.ask(request("GET", f"{path}?{'&'.join([*fields, ''])}", *lines)).status == 400


def test_http_1_0_needs_no_host_beside_it(caller: Caller) -> None:
    assert caller.ask(b"GET http://gateway/healthz HTTP/1.0\r\n\r\n").status == 200


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_vote_check_is_counted_whatever_form_its_target_has(
    served: Served, caller: Caller, slash: str
) -> None:
    key = f"Authorization: {served.key}"
    answers = [
        caller.ask(request("GET", f"{place}{CHECK}{slash}", key))
        for place in ("", "http://gateway", "https://gateway", "", "http://gateway")
    ]
    assert {(answer.status, answer.body) for answer in answers} == {(200, answers[0].body)}
    left = [int(answer.headers["ratelimit-remaining"]) for answer in answers]
    assert left == list(range(left[0], left[0] - 5, -1))


@pytest.mark.parametrize("path", [CHECK, STATS, f"{CHECK}/"])
def test_a_refusal_of_a_public_path_in_absolute_form_has_limits_too(caller: Caller, path: str) -> None:
    answer = caller.ask(request("BREW", f"http://gateway{path}"))
    assert answer.status == 501
    assert int(answer.headers["ratelimit-limit"]) > 0


class Host(RequestHandler):
    """Answers with the host as the application sees it, and every Host among the fields."""

    def get(self) -> None:
        self.write("|".join([self.request.host, *self.request.headers.get_list("Host")]))


async def converse(*requests: bytes) -> bytes:
    """Return all answers."""
    application = Application([("/host", Host)], log_function=lambda _: None)
    server = WireServer(application, LIMITS, refuse)
    server.add_sockets(listening := listen("127.0.0.1", 0))
    async with asyncio.timeout(WAIT_SECONDS):
        reader, writer = await asyncio.open_connection(*listening[0].getsockname())
        writer.write(b"".join(requests))
        writer.write_eof()
        received = await reader.read()
    writer.close()
    server.stop()
    await server.close_all_connections()
    return received


def test_the_host_is_the_target_s_and_the_one_beside_it_is_ignored() -> None:
    requests = [
        b"GET /host HTTP/1.1\r\nHost: one\r\n\r\n",
        b"GET http://two:80/host HTTP/1.1\r\nhOST: other\r\n\r\n",
        b"GET https://[::3]/host HTTP/1.1\r\nX-First: 1\r\nHost:\r\n\r\n",
        b"GET http://four/host HTTP/1.0\r\n\r\n",
    ]
    answers = answers_in(asyncio.run(converse(*requests)))
    assert [answer.body.decode().split("|") for answer in answers] == [
        [host, host] for host in ("one", "two:80", "[::3]", "four")
    ]
