"""serving/supervisor.py: messages to the supervisor, on real sockets, by a clock that the test moves."""

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving.supervisor import LONGER_US, Supervisor
from tests.support.fake_clock import FakeClock

WATCHDOG_SECONDS = 10


@pytest.fixture(params=["a file", "a name without a file"])
def heard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[socket.socket]:
    """The supervisor's socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(
            str(tmp_path / "notify")
            if request.param == "a file"
            else f"\0votegate-{tmp_path.name}-{os.getpid()}"
        )
        listening.setblocking(False)
        yield listening


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def supervisor(heard: socket.socket, clock: FakeClock) -> Supervisor:
    return Supervisor(environment(heard, WATCHDOG_USEC=f"{WATCHDOG_SECONDS * 1_000_000}"), clock)


def environment(heard: socket.socket, **others: str) -> dict[str, str]:
    name = heard.getsockname()
    return {"NOTIFY_SOCKET": f"@{name[1:].decode()}" if isinstance(name, bytes) else name, **others}


def next_of(heard: socket.socket) -> dict[str, str]:
    """Return the next message, empty if there is none."""
    with contextlib.suppress(BlockingIOError):
        return dict(line.split("=", 1) for line in heard.recv(4_096).decode().splitlines())
    return {}


def test_it_hears_once_that_the_gateway_is_ready_and_before_that_why_not(
    supervisor: Supervisor, heard: socket.socket
) -> None:
    supervisor.step("no copy yet")
    assert next_of(heard) == {"STATUS": "not ready: no copy yet", "EXTEND_TIMEOUT_USEC": str(LONGER_US)}
    supervisor.step("no copy yet")
    assert next_of(heard) == {"EXTEND_TIMEOUT_USEC": str(LONGER_US)}
    supervisor.step(None)
    assert next_of(heard) == {"READY": "1", "STATUS": "ready"}
    supervisor.step(None)
    assert next_of(heard) == {}
    supervisor.step("the journal does not take writes")
    assert next_of(heard) == {"STATUS": "not ready: the journal does not take writes"}


def test_the_watchdog_is_fed_at_half_of_its_time(
    supervisor: Supervisor, heard: socket.socket, clock: FakeClock
) -> None:
    supervisor.step(None)
    next_of(heard)
    clock.advance(WATCHDOG_SECONDS / 2 - 0.1)
    supervisor.step(None)
    assert next_of(heard) == {}
    clock.advance(0.1)
    supervisor.step(None)
    assert next_of(heard) == {"WATCHDOG": "1"}


def test_a_reload_begins_at_a_time_and_ends(
    supervisor: Supervisor, heard: socket.socket, clock: FakeClock
) -> None:
    with supervisor.reloading():
        assert next_of(heard) == {}  # READY=1 at its end would end the start
    supervisor.step(None)
    next_of(heard)
    with supervisor.reloading():
        assert next_of(heard) == {"RELOADING": "1", "MONOTONIC_USEC": str(clock.monotonic_ns() // 1_000)}
    assert next_of(heard) == {"READY": "1"}


def test_a_stop_is_told(supervisor: Supervisor, heard: socket.socket) -> None:
    supervisor.stopping()
    assert next_of(heard) == {"STOPPING": "1"}


def test_a_watchdog_of_another_process_is_not_fed(heard: socket.socket, clock: FakeClock) -> None:
    given = environment(heard, WATCHDOG_USEC="10000000", WATCHDOG_PID="1")
    supervisor = Supervisor(given, clock)
    assert given == {}  # child processes must not send messages too
    supervisor.step(None)
    next_of(heard)
    clock.advance(WATCHDOG_SECONDS)
    supervisor.step(None)
    assert next_of(heard) == {}


async def _told(address: str, clock: FakeClock) -> None:
    supervisor = Supervisor({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "nonsense"}, clock)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0):
            await supervisor.run(lambda: None)
    for why in ("no copy yet", None):
        supervisor.step(why)
    with supervisor.reloading():
        pass
    supervisor.stopping()


@pytest.mark.parametrize(
    "address", ["", "vsock:2:1234", "/nowhere/notify", "/etc/passwd", "@votegate-nobody", "/" + "x" * 200]
)
def test_a_supervisor_that_is_away_ends_nothing(address: str, clock: FakeClock) -> None:
    asyncio.run(_told(address, clock))


def test_a_supervisor_that_does_not_read_holds_nothing_up_and_hears_the_rest_later(
    supervisor: Supervisor, heard: socket.socket, caplog: pytest.LogCaptureFixture
) -> None:
    for count in range(10_000):
        supervisor.step(str(count))
        if caplog.messages:
            break
    supervisor.step(None)
    reason = "[Errno 11] Resource temporarily unavailable"
    assert caplog.messages == [f"the supervisor cannot be notified: {reason}"]
    while next_of(heard):
        pass
    supervisor.step(None)
    assert next_of(heard) == {"READY": "1", "STATUS": "ready"}
