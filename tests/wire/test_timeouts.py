"""Clients that omit the rest of a head or body, send no next request, or do not read their answers."""

import contextlib
import json
import select
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.contract import Served, set_webhook
from tests.support.gateways import BOT, BOT_SUBMISSION, USER, ProcessGateway, eventually, running
from tests.support.raw_http_client import (
    BODY_BEGUN,
    HEALTH,
    OPERATOR,
    TEST,
    TOO_SLOW,
    Caller,
    calling,
    request,
)
from tests.support.webhook_receiver import Receiver, accept_when_released

DOCS = request("GET", "/docs/management")
BACKUP = request("GET", "/debug/snapshot", OPERATOR)
KERNEL_BYTES = 212_992
"""The most bytes that Linux keeps of a Unix socket until they are read (net.core.wmem_default)."""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    impatient = {f"server.{name}_seconds": 0.3 for name in ("header", "body", "idle", "write")}
    with running(tmp_path_factory.mktemp("timeouts") / "data", **impatient) as gateway:
        yield Served(gateway, gateway.list_bot())


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway that waits long for a next request."""
    seconds = {"server.header_seconds": 0.3, "server.idle_seconds": 3_600}
    with running(tmp_path_factory.mktemp("patient") / "data", **seconds) as gateway:
        yield Served(gateway, "")


BEGUN = {
    "method": b"GE",
    "no target": b"GET ",
    "target": b"GET /heal",
    "line": b"GET /healthz HTTP/1.1",
    "fields": b"GET /healthz HTTP/1.1\r\nHost: gateway\r\nX-Slow: ",
    "all but a byte": HEALTH[:-1],
}


@pytest.mark.parametrize("before", [b"", HEALTH], ids=["first", "second"])
@pytest.mark.parametrize("begun", [*BEGUN.values(), *BODY_BEGUN.values()], ids=[*BEGUN, *BODY_BEGUN])
def test_a_request_that_does_not_go_on_is_408(caller: Caller, before: bytes, begun: bytes) -> None:
    caller.send(before + begun)
    if before:
        assert caller.answer().status == 200
    answer = caller.answer()
    assert answer.refusal == (408, TOO_SLOW)
    assert answer.closes
    assert caller.at_end()


@pytest.mark.parametrize(
    ("begun", "drop"),
    [(b"GET /healthz HTTP/1.1\r\nX-Slow: ", b"a"), (BODY_BEGUN["no chunk"], b"1\r\na\r\n")],
    ids=["head", "body"],
)
def test_a_request_that_goes_on_by_drops_is_408_all_the_same(
    caller: Caller, begun: bytes, drop: bytes
) -> None:
    caller.send(begun)
    while not select.select([caller.socket], [], [], 0.05)[0]:
        caller.send(drop)
    assert caller.answer().refusal == (408, TOO_SLOW)
    assert caller.at_end()


def test_a_client_that_was_told_to_continue_and_does_not_is_408(caller: Caller) -> None:
    begun = request("POST", "/healthz", "Content-Length: 10", "Expect: 100-continue")
    assert caller.ask(begun).status == 100
    assert caller.answer().refusal == (408, TOO_SLOW)


@pytest.mark.parametrize("key", ["", "a key"])
def test_a_vote_check_that_does_not_go_on_tells_the_limits(caller: Caller, key: str) -> None:
    """Beside its 408, as on every answer of that endpoint."""
    caller.send(request("GET", f"/bots/{BOT}/voters/{USER}", f"Authorization: {key}")[:-2])
    answer = caller.answer()
    assert answer.refusal == (408, TOO_SLOW)
    assert int(answer.headers["ratelimit-remaining"]) > 0


@pytest.mark.parametrize("begun", [b"", b"\r\n\r\n"])
def test_a_client_that_asks_nothing_is_left_without_a_word(caller: Caller, begun: bytes) -> None:
    caller.send(begun)
    assert caller.at_end()


@pytest.mark.parametrize("begun", [b"", b"\r\n", b"\r\n" * 1_000], ids=len)
def test_a_client_that_has_asked_nothing_yet_is_waited_for_as_for_a_head(
    patient: Served, begun: bytes
) -> None:
    with calling(patient.gateway.base_url) as asked, calling(patient.gateway.base_url) as silent:
        assert asked.ask(HEALTH).status == 200
        silent.send(begun)
        assert silent.at_end()
        assert asked.ask(HEALTH).status == 200  # this one is waited for as for its next request


def test_empty_lines_put_the_end_off_by_nothing(patient: Served) -> None:
    with calling(patient.gateway.base_url) as caller, contextlib.suppress(ConnectionError):
        while not select.select([caller.socket], [], [], 0.05)[0]:
            caller.send(b"\r\n")
        assert caller.at_end()


@pytest.mark.parametrize("path", ["/healthz", f"/bots/{BOT}/voters/{USER}"])
def test_a_client_that_asks_nothing_more_is_left_without_a_word(
    served: Served, caller: Caller, path: str
) -> None:
    answer = caller.ask(request("GET", path, f"Authorization: {served.key}"))
    assert (answer.status, answer.closes) == (200, False)
    assert caller.at_end()


@pytest.mark.parametrize("behind", [b"", HEALTH, HEALTH[:-2], BODY_BEGUN["half a body"]])
def test_a_request_that_runs_has_the_time_it_needs_and_so_has_what_waits_behind_it(
    served: Served, receiver: Receiver, behind: bytes
) -> None:
    accept_when_released(receiver)
    set_webhook(served.gateway, receiver.url)
    with calling(served.gateway.base_url) as caller:  # its time-out begins now
        caller.send(TEST + behind)
        eventually(lambda: receiver.received)
        with calling(served.gateway.base_url) as other:
            assert other.at_end()  # every time-out there is has passed
        receiver.released.set()
        assert b'"state":"delivered"' in caller.answer().body
        if behind:
            assert caller.answer().status == (200 if behind == HEALTH else 408)
        assert caller.at_end()


def was_cut_off(caller: Caller) -> bool:
    """Return true if the connection is gone, without reading from it."""
    poll = select.poll()
    poll.register(caller.socket, 0)
    return bool(poll.poll(0))


@pytest.fixture
def on_unix(process: ProcessGateway, tmp_path: Path) -> ProcessGateway:
    """A gateway on a socket for which the kernel keeps no more than `KERNEL_BYTES`."""
    process.environment |= {
        "VOTEGATE_SERVER__UNIX_SOCKET": str(tmp_path / "votegate.sock"),
        "VOTEGATE_SERVER__WRITE_SECONDS": "0.3",
        "VOTEGATE_SERVER__IDLE_SECONDS": "0.3",
        "VOTEGATE_LOG__FORM": "json",
    }
    return process.start()


def test_a_client_that_reads_nothing_is_cut_off_and_has_made_the_gateway_hold_little(
    on_unix: ProcessGateway,
) -> None:
    with calling(on_unix.base_url) as size_of:
        answer_bytes = len(size_of.ask(DOCS).body)
    with calling(on_unix.base_url) as caller:
        caller.socket.setblocking(False)
        sent = caller.socket.send(DOCS * 50)
        while not was_cut_off(caller):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                sent += caller.socket.send(DOCS)
            select.select([], [caller.socket], [], 0.01)
    assert sent < 2 * KERNEL_BYTES, "it reads on"
    with calling(on_unix.base_url) as other:
        assert other.ask(HEALTH).status == 200
    eventually(lambda: "/healthz" in on_unix.log)
    made = on_unix.log.count('"/docs/management"') - 1
    assert made * answer_bytes < KERNEL_BYTES + 4 * answer_bytes


@pytest.mark.parametrize("requests", [100, 300, 600])
def test_a_client_that_leaves_a_little_unread_is_cut_off_too(on_unix: ProcessGateway, requests: int) -> None:
    """The kernel holds all of it, or the gateway holds the rest, or so much that it stops reading."""
    with calling(on_unix.base_url) as caller:
        caller.send(HEALTH * requests)
        eventually(lambda: was_cut_off(caller))


def test_a_client_that_reads_slowly_but_steadily_gets_the_whole_of_large_answers(tmp_path: Path) -> None:
    limits = {"server.write_seconds": 0.5, "server.unix_socket": tmp_path / "votegate.sock"}
    with running(tmp_path / "data", **limits) as gateway, calling(gateway.base_url) as caller:
        for number in range(40):
            listing = {**BOT_SUBMISSION, "id": str(int(BOT) + number), "description": "x" * 2_000}
            body = json.dumps(listing).encode()
            assert caller.ask(request("POST", "/manage/bots", OPERATOR, body=body)).status == 201
        caller.send(BACKUP * 20)
        caller.pace_seconds = 0.003
        answers = [caller.answer() for _ in range(20)]
        assert [answer.headers["transfer-encoding"] for answer in answers] == ["chunked"] * 20
        assert min(len(answer.body) for answer in answers) > 80_000


def test_what_the_kernel_holds_for_a_steady_reader_is_not_held_against_it(tmp_path: Path) -> None:
    """Over TCP the kernel holds megabytes, and takes more only when a third of them is read."""
    with (
        running(tmp_path / "data", **{"server.write_seconds": 1}) as gateway,
        calling(gateway.base_url, receive_bytes=65_536) as caller,
    ):
        caller.send(DOCS * 60)
        answers = [caller.answer() for _ in range(10)]
        caller.pace_seconds = 0.01
        answers += [caller.answer() for _ in range(14)]
        caller.pace_seconds = 0
        answers += [caller.answer() for _ in range(36)]
    assert len({answer.body for answer in answers}) == 1
