"""A gateway under systemd: a real process reports its state to a real socket."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import WAIT_SECONDS

WATCHDOG_MICROSECONDS = 200_000


@pytest.fixture(params=["a file", "a name without a file"])
def supervised(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[ForkedGateway, socket.socket]]:
    """A gateway that is about to start, and the socket that its supervisor listens on."""
    name = str(tmp_path / "notify") if request.param == "a file" else f"@votegate-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(name.replace("@", "\0"))
        heard.settimeout(WAIT_SECONDS)
        gateway = ForkedGateway(
            tmp_path / "data", NOTIFY_SOCKET=name, WATCHDOG_USEC=f"{WATCHDOG_MICROSECONDS}"
        )
        yield gateway, heard
        gateway.close()


def heard_until(heard: socket.socket, line: str) -> list[str]:
    """All lines up to the message with that one."""
    lines: list[str] = []
    while line not in lines:
        lines += heard.recv(4_096).decode().splitlines()
    return lines


def test_systemd_hears_of_readiness_of_the_loop_of_a_reload_and_of_the_stop(
    supervised: tuple[ForkedGateway, socket.socket],
) -> None:
    gateway, heard = supervised
    gateway.start()
    assert "STATUS=ready" in heard_until(heard, "READY=1")
    assert gateway.request("GET", "/readyz").status_code == 200
    heard_until(heard, "WATCHDOG=1")
    heard_until(heard, "WATCHDOG=1")

    gateway.process.send_signal(signal.SIGHUP)
    begun = heard_until(heard, "RELOADING=1")
    assert any(line.startswith("MONOTONIC_USEC=") for line in begun)
    heard_until(heard, "READY=1")

    assert gateway.signal(signal.SIGTERM) == 0
    assert "READY=1" not in heard_until(heard, "STOPPING=1")


def test_a_supervisor_that_goes_away_ends_nothing(supervised: tuple[ForkedGateway, socket.socket]) -> None:
    gateway, heard = supervised
    gateway.start()
    heard_until(heard, "READY=1")
    heard.close()
    gateway.process.send_signal(signal.SIGHUP)
    gateway.list_bot()
    gateway.cast()
    assert gateway.signal(signal.SIGTERM) == 0
    assert "Traceback" not in gateway.log
