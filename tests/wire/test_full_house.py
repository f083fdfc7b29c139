"""More connections than there is room for, over real sockets: some are closed or turned away."""

import contextlib
import json
import signal
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.certificate_files import HOST, Files, trusting
from tests.support.contract import set_webhook
from tests.support.gateways import BOT, USER, WAIT_SECONDS, ProcessGateway, ThreadGateway, eventually, running
from tests.support.raw_http_client import BODY_BEGUN, HEALTH, STATE, TEST, Caller, calling, request
from tests.support.webhook_receiver import Receiver, accept_when_released

ROOM, SHARE = 4, 3
PROXY = "127.0.0.9"
BUSY = "new connections are closed as they come: all 4 are busy (server.connections)"
REFUSED = "connections from 127.0.0.1 are closed as they come: it has 3 (server.connections_per_address)"


@pytest.fixture(autouse=True)
def _no_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order must not depend on how long a test takes. `test_admission.py` tests the moment."""
    monkeypatch.setattr("wire.admission.MOMENT_SECONDS", 0)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway with room for a few connections, whose time-outs are too long to matter."""
    patient = {f"server.{name}_seconds": 3_600 for name in ("header", "body", "idle")}
    with running(tmp_path / "data", **patient, **{"server.connections": ROOM}) as gateway:
        yield gateway


@pytest.fixture
def divided(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway that gives every address a share."""
    share = {"server.connections_per_address": SHARE, "server.trusted_proxies": PROXY}
    with running(tmp_path / "data", **share) as gateway:
        yield gateway


@pytest.fixture
def stack() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return the lines that `wire.admission` has logged so far."""
    return lambda: [each.getMessage() for each in caplog.records if each.name == "wire.admission"]


def called(gateway: ThreadGateway, stack: contextlib.ExitStack, source: str = "127.0.0.1") -> Caller:
    """Connections are accepted in the order in which they are made."""
    return stack.enter_context(calling(gateway.base_url, source=source))


def is_served(caller: Caller) -> bool:
    """Return true if it is answered; else it is closed without an answer."""
    try:
        return caller.ask(HEALTH).status == 200
    except (AssertionError, ConnectionError):
        return False


def newcomer(gateway: ThreadGateway, stack: contextlib.ExitStack) -> Caller:
    """Return a connection that is served, as soon as another has taken its answer: clients confirm late."""

    def served() -> Caller | None:
        caller = called(gateway, stack)
        return caller if is_served(caller) else None

    found = eventually(served)
    assert found is not None
    return found


def closed(callers: list[Caller]) -> list[int]:
    """Return the callers that the gateway has closed by now."""
    found = []
    for number, caller in enumerate(callers):
        caller.socket.setblocking(False)
        with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
            assert caller.socket.recv(1) == b"", "it was told something"
            found.append(number)
        caller.socket.settimeout(WAIT_SECONDS)
    return found


def let_it_read(gateway: ThreadGateway) -> None:
    """Return when the gateway has read everything that was sent before."""
    for _ in range(3):
        gateway.on_loop(lambda: None)


def test_newcomers_are_served_however_many_are_silent(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    for _ in range(10):
        silent = [called(small, stack) for _ in range(3 * ROOM)]
        assert is_served(called(small, stack))
        eventually(lambda: len(closed(silent)) >= 2 * ROOM + 1)  # noqa: B023 (waited for here)


def test_connections_that_come_all_at_once_leave_nothing_behind(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    come = [called(small, stack)]
    small.on_loop(lambda: come.extend(called(small, stack) for _ in range(5 * ROOM)))
    operator = newcomer(small, stack)
    eventually(lambda: len(closed(come)) == len(come) - (ROOM - 1))
    assert json.loads(operator.ask(STATE).body)["connections"]["open"] == ROOM


def test_a_request_that_came_with_its_connection_is_answered(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    asking: list[Caller] = []

    def meanwhile() -> None:
        for _ in range(ROOM):
            asking.append(called(small, stack))
            asking[-1].send(HEALTH)
        for _ in range(2 * ROOM):
            called(small, stack)

    small.on_loop(meanwhile)
    assert [caller.answer().status for caller in asking] == [200] * ROOM


def test_a_request_that_came_with_the_end_of_its_handshake_is_answered(
    tmp_path: Path, stack: contextlib.ExitStack
) -> None:
    files = Files(tmp_path)
    files.write()
    small = {"server.connections": ROOM, "server.tls.certificate": files.certificate}
    context = trusting(files.certificate.read_bytes())
    with running(tmp_path / "data", **small, **{"server.tls.key": files.key}) as gateway, stack:
        asking: list[tuple[Caller, ssl.MemoryBIO, ssl.SSLObject, bytes]] = []
        for _ in range(ROOM):
            caller, came, goes = called(gateway, stack), ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(came, goes, server_hostname=HOST)
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    caller.send(goes.read())
                    came.write(caller.socket.recv(65_536))
            tls.write(HEALTH)
            asking.append((caller, came, tls, goes.read()))

        def meanwhile() -> None:
            for _ in range(2 * ROOM):
                called(gateway, stack)
            for caller, _, _, last in asking:
                caller.send(last)

        gateway.on_loop(meanwhile)
        for caller, came, tls, _ in asking:
            answer = b""
            while not answer:
                received = caller.socket.recv(65_536)
                assert received, "it was closed"
                came.write(received)
                with contextlib.suppress(ssl.SSLWantReadError):
                    answer = tls.read()
            assert answer.startswith(b"HTTP/1.1 200 ")


def test_who_has_asked_nothing_is_closed_first_and_in_the_order_of_coming(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    asked = called(small, stack)
    assert is_served(asked)
    silent = [called(small, stack) for _ in range(ROOM - 1)]
    for number in range(ROOM - 1):
        assert called(small, stack).socket
        eventually(lambda: closed(silent) == list(range(number + 1)))  # noqa: B023 (waited for here)
    assert is_served(asked)


@pytest.mark.parametrize("path", ["/healthz", f"/bots/{BOT}/voters/{USER}"])
def test_who_is_kept_alive_is_closed_when_nobody_is_silent(
    small: ThreadGateway, stack: contextlib.ExitStack, receiver: Receiver, path: str
) -> None:
    asking = request("GET", path, f"Authorization: {small.list_bot()}")
    accept_when_released(receiver)
    set_webhook(small, receiver.url)
    small.session.close()
    let_it_read(small)
    kept = [called(small, stack) for _ in range(ROOM)]
    assert [caller.ask(asking).status for caller in kept] == [200] * ROOM
    for number in range(ROOM):
        newcomer(small, stack).send(TEST)  # so that it is not closed for the next one
        let_it_read(small)
        eventually(lambda: closed(kept) == list(range(number + 1)))  # noqa: B023 (waited for here)


def test_nobody_with_a_request_under_way_is_closed_and_one_line_tells_that_newcomers_are(
    small: ThreadGateway, stack: contextlib.ExitStack, receiver: Receiver, said: Callable[[], list[str]]
) -> None:
    small.list_bot()
    accept_when_released(receiver)
    set_webhook(small, receiver.url)
    small.session.close()
    let_it_read(small)
    busy = [called(small, stack) for _ in range(ROOM)]
    for caller in busy:
        caller.send(TEST)
    eventually(lambda: receiver.received)
    let_it_read(small)
    assert [is_served(called(small, stack)) for _ in range(5)] == [False] * 5
    assert closed(busy) == []
    assert said() == [BUSY]

    receiver.released.set()
    assert [each.answer().status for each in busy] == [200] * ROOM
    for _ in range(3):
        newcomer(small, stack)
    assert len(closed(busy)) == 3
    assert said() == [BUSY]


@pytest.mark.parametrize("begun", [b"G", HEALTH[:-2], HEALTH + b"G", *BODY_BEGUN.values()])
def test_parts_of_requests_keep_nobody_out_and_who_waits_longest_for_the_rest_is_closed_first(
    small: ThreadGateway, stack: contextlib.ExitStack, begun: bytes
) -> None:
    def part(caller: Caller) -> Caller:
        caller.send(begun)
        if begun.startswith(HEALTH):
            assert caller.answer().status == 200
        let_it_read(small)
        return caller

    waiting = [part(called(small, stack)) for _ in range(ROOM)]
    kept = newcomer(small, stack)
    eventually(lambda: closed(waiting) == [0])
    for number in range(1, ROOM):
        part(called(small, stack))
        eventually(lambda: closed(waiting) == list(range(number + 1)))  # noqa: B023 (waited for here)
    assert is_served(kept)
    for _ in range(3 * ROOM):  # they come back
        part(called(small, stack))
        assert is_served(called(small, stack))


def test_answers_that_nobody_reads_keep_nobody_out(small: ThreadGateway, stack: contextlib.ExitStack) -> None:
    unread = [called(small, stack) for _ in range(ROOM)]
    pages = request("GET", "/openapi.json") * 100
    for caller in unread:
        caller.send(pages)
    newcomer(small, stack)
    for _ in range(ROOM):
        assert newcomer(small, stack)


def test_refusals_that_are_read_keep_nobody_out(small: ThreadGateway, stack: contextlib.ExitStack) -> None:
    """Not even for the second in which their connections linger."""
    refused = [called(small, stack) for _ in range(ROOM)]
    for caller in refused:
        caller.send(b"\0")
        assert caller.answer().status == 400

    def all_at_once() -> list[bool]:
        return [is_served(called(small, stack)) for _ in range(ROOM)]

    assert all_at_once() == [True] * ROOM


def test_a_request_that_has_come_and_is_not_read_yet_is_answered(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    kept = [called(small, stack) for _ in range(ROOM)]
    assert all(map(is_served, kept))

    def meanwhile() -> None:
        for _ in range(2 * ROOM):
            called(small, stack)
        for caller in kept:
            caller.send(HEALTH)

    small.on_loop(meanwhile)
    assert [caller.answer().status for caller in kept] == [200] * ROOM


def test_an_address_has_its_share_and_one_line_tells_when_it_asks_for_more(
    divided: ThreadGateway, stack: contextlib.ExitStack, said: Callable[[], list[str]]
) -> None:
    kept = [called(divided, stack) for _ in range(SHARE)]
    assert all(map(is_served, kept))
    assert [is_served(called(divided, stack)) for _ in range(10)] == [False] * 10
    assert said() == [REFUSED]
    assert all(is_served(called(divided, stack, "127.0.0.2")) for _ in range(SHARE))
    assert not is_served(called(divided, stack, "127.0.0.2"))
    assert all(is_served(called(divided, stack, PROXY)) for _ in range(5 * SHARE))

    kept.pop().close()
    assert eventually(lambda: is_served(called(divided, stack)))
    assert all(map(is_served, kept))
    assert said() == [REFUSED, REFUSED.replace("127.0.0.1", "127.0.0.2")]


def test_clients_of_a_unix_socket_have_no_address_and_no_share(
    tmp_path: Path, stack: contextlib.ExitStack
) -> None:
    path = tmp_path / "votegate.sock"
    with running(
        tmp_path / "data", **{"server.connections_per_address": 1, "server.unix_socket": path}
    ) as gateway:
        callers = [stack.enter_context(calling(gateway.base_url)) for _ in range(5)]
        assert all(map(is_served, callers))
        stack.close()


def test_the_operator_sees_how_many_there_are_and_how_many_were_closed(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    def tally(caller: Caller) -> object:
        return json.loads(caller.ask(STATE).body)["connections"]

    operator = called(small, stack)
    assert tally(operator) == {"open": 1, "refused": 0, "closed_for_others": 0}
    for _ in range(ROOM + 1):
        called(small, stack)
    assert eventually(lambda: tally(operator) == {"open": ROOM, "refused": 0, "closed_for_others": 2})


def test_handshakes_that_never_end_keep_nobody_out(process: ProcessGateway, tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write()
    process.environment |= {
        "VOTEGATE_SERVER__TLS__CERTIFICATE": str(files.certificate),
        "VOTEGATE_SERVER__TLS__KEY": str(files.key),
        "VOTEGATE_SERVER__CONNECTIONS": "2",
        "VOTEGATE_SERVER__HEADER_SECONDS": "600",
        "VOTEGATE_SERVER__IDLE_SECONDS": "600",
    }
    process.start()
    tls = trusting(files.certificate.read_bytes())
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(calling(process.base_url)) for _ in range(6)]
        silent[5].send(b"\x16\x03\x01")
        kept = [stack.enter_context(calling(process.base_url, tls=tls, name=HOST)) for _ in range(2)]
        assert [caller.ask(HEALTH).status for caller in kept] == [200, 200]
        for caller in silent:
            with contextlib.suppress(ConnectionError):
                assert caller.at_end()

        def is_served_too() -> bool:
            with contextlib.suppress(OSError):
                return is_served(stack.enter_context(calling(process.base_url, tls=tls, name=HOST)))
            return False

        assert eventually(is_served_too)
        assert eventually(lambda: closed(kept[:1]))
    assert process.signal(signal.SIGTERM) == 0
    assert "ERROR" not in process.log
    assert "Traceback" not in process.log


def test_a_connection_that_is_closed_makes_room_for_another(
    small: ThreadGateway, stack: contextlib.ExitStack
) -> None:
    for _ in range(3):
        kept = [newcomer(small, stack) for _ in range(ROOM)]
        assert [is_served(caller) for caller in kept] == [True] * ROOM
        for caller in kept:
            caller.socket.close()
