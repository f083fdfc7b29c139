"""Connections end by either side, at any moment, with nothing lost and nothing left behind."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler

import pytest
import uvloop
from tornado.web import Application

from tests.support.contract import Served, set_webhook
from tests.support.gateways import BOT, WAIT_SECONDS, ThreadGateway, eventually
from tests.support.raw_http_client import HEALTH, OPERATOR, STATE, Caller, calling, request
from tests.support.webhook_receiver import Receiver, status
from tests.support.wire_stories import LIMITS, refuse
from wire.connection import Connection
from wire.http_server import WireServer
from wire.listening import listen

TEST = request("POST", f"/manage/bots/{BOT}/webhook/test", OPERATOR, body=b'{"user": "777777777777777777"}')
DOCS = request("GET", "/docs/management")
BODY_BEGUN = request("POST", "/healthz", "Content-Length: 10") + b"12345"
NO_CHUNK = request("POST", "/healthz", "Transfer-Encoding: chunked") + b"x\r\n"


@pytest.fixture
def served(gateway: ThreadGateway, caplog: pytest.LogCaptureFixture) -> Iterator[Served]:
    """A gateway that logs no error, and leaves no request unfinished when it stops."""
    with caplog.at_level(logging.INFO):
        yield Served(gateway, gateway.list_bot())
        with calling(gateway.base_url) as caller:
            assert caller.ask(STATE).status == 200
        gateway.stop()
    assert [record.message for record in caplog.records if record.levelno > logging.INFO] == []


@pytest.fixture
def url(served: Served) -> str:
    return served.gateway.base_url


@pytest.fixture
def held(served: Served, receiver: Receiver) -> Receiver:
    """Answers the bot's webhook once it is released."""

    def wait(handler: BaseHTTPRequestHandler) -> None:
        receiver.released.wait()
        status(204)(handler)

    receiver.default = wait
    set_webhook(served.gateway, receiver.url)
    return receiver


def let_it_read(served: Served) -> None:
    """Return when the gateway has read everything that was sent before."""
    for _ in range(3):
        served.gateway.on_loop(lambda: None)


@pytest.mark.parametrize(
    "data", [HEALTH, DOCS, HEALTH + DOCS + HEALTH, request("POST", "/healthz", body=b"{}")]
)
def test_a_client_that_sends_no_more_gets_all_its_answers(url: str, data: bytes) -> None:
    with calling(url) as caller:
        caller.send(data)
        caller.sends_no_more()
        answers = caller.answers()
    assert len(answers) == data.count(b"HTTP/1.1")
    assert {answer.status for answer in answers} <= {200, 405}


def test_a_client_that_sends_no_more_gets_the_answer_of_a_vote_check(served: Served, url: str) -> None:
    check = request("GET", f"/bots/{BOT}/voters/555555555555555555", f"Authorization: {served.key}")
    with calling(url) as caller:
        caller.send(check * 3)
        caller.sends_no_more()
        assert [answer.status for answer in caller.answers()] == [200] * 3


@pytest.mark.parametrize("behind", [b"", HEALTH, HEALTH[:-2], BODY_BEGUN])
def test_a_client_that_sends_no_more_is_waited_for_while_its_request_runs(
    url: str, served: Served, held: Receiver, behind: bytes
) -> None:
    with calling(url) as caller:
        caller.send(TEST + behind)
        caller.sends_no_more()
        eventually(lambda: held.received)
        let_it_read(served)
        held.released.set()
        answers = caller.answers()
    assert b'"state":"delivered"' in answers[0].body
    assert [answer.status for answer in answers[1:]] == ([200] if behind == HEALTH else [])


@pytest.mark.parametrize("begun", [b"", b"GET /heal", HEALTH[:-2], BODY_BEGUN, HEALTH + HEALTH[:-2]])
def test_a_client_that_sends_no_more_in_the_middle_is_left(url: str, begun: bytes) -> None:
    with calling(url) as caller:
        caller.send(begun)
        caller.sends_no_more()
        assert len(caller.answers()) == begun.count(HEALTH)


@pytest.mark.parametrize("leave", [Caller.close, Caller.reset])
@pytest.mark.parametrize("data", [b"", HEALTH[:-2], BODY_BEGUN, HEALTH, DOCS * 30], ids=len)
def test_a_client_that_goes_away_disturbs_nobody(
    url: str, served: Served, data: bytes, leave: Callable[[Caller], None]
) -> None:
    for _ in range(10):
        with calling(url) as caller:
            caller.send(data)
            leave(caller)
        with calling(url) as caller:
            caller.send(data)
            let_it_read(served)
            leave(caller)


@pytest.mark.parametrize("leave", [Caller.close, Caller.reset])
def test_a_client_that_goes_away_while_its_request_runs_disturbs_nobody(
    url: str, held: Receiver, leave: Callable[[Caller], None]
) -> None:
    with calling(url) as caller:
        caller.send(TEST + HEALTH)
        eventually(lambda: held.received)
        leave(caller)
    with calling(url) as other:
        assert other.ask(HEALTH).status == 200
        held.released.set()
        assert other.ask(STATE).status == 200


@pytest.mark.parametrize("leave", [Caller.close, Caller.reset])
def test_a_client_that_goes_away_in_the_middle_of_a_streamed_answer_disturbs_nobody(
    url: str, served: Served, leave: Callable[[Caller], None]
) -> None:
    state = served.gateway.gateway.ledger.state
    for _ in range(5):
        with calling(url, receive_bytes=1_024) as caller:
            caller.send(request("GET", "/debug/snapshot", OPERATOR) * 20)
            caller.socket.recv(10)
            leave(caller)
    eventually(lambda: state._copy is None)


@pytest.mark.parametrize("data", [NO_CHUNK, HEALTH + NO_CHUNK], ids=["first", "second"])
def test_a_request_that_is_refused_in_the_middle_is_over(url: str, data: bytes) -> None:
    """For the gateway, too: a stop does not wait for it."""
    with calling(url) as caller:
        caller.send(data)
        assert [answer.status for answer in caller.answers()][-1] == 400


@pytest.mark.parametrize("size", [5 << 20, 20 << 20])
def test_an_answer_before_the_end_of_a_body_is_received_whole(url: str, size: int) -> None:
    with calling(url) as caller:
        caller.send(request("POST", "/healthz", f"Content-Length: {size}"))
        with contextlib.suppress(ConnectionError):  # it has sent more than the gateway reads
            caller.send(b"x" * size)
        answer = caller.answer()
    assert (answer.status, answer.closes) == (405, True)


def test_a_refusal_is_received_whole_whatever_is_sent_behind_it(url: str) -> None:
    with calling(url) as caller:
        caller.send(b"GET /healthz HTTP/1.1\r\n\r\n" + b"x" * 1_000_000)
        assert caller.answer().status == 400
        assert caller.at_end()


@pytest.mark.parametrize("turns", range(6))
def test_connections_that_have_just_come_are_ended_with_all_others(turns: int) -> None:
    async def story() -> None:
        server = WireServer(Application(), LIMITS, refuse)
        server.add_sockets(listening := listen("127.0.0.1", 0))
        with socket.create_connection(listening[0].getsockname()) as silent:
            server.stop()
            for _ in range(turns):
                await asyncio.sleep(0)
            async with asyncio.timeout(WAIT_SECONDS):
                await server.close_all_connections()
            assert silent.recv(1) == b""

    uvloop.run(story())


def test_a_connection_whose_handshake_has_just_failed_is_idle() -> None:
    connection = Connection(WireServer(Application(), LIMITS, refuse))
    connection.accepted, client = socket.socketpair()
    with client:
        idle = [connection.idle]
        client.send(b"x")
        idle.append(connection.idle)
        connection.accepted.close()
        idle.append(connection.idle)
        connection.abort()
    assert idle == [True, False, True]
