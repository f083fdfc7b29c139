"""Sockets of systemd, handed to a child process as systemd does it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.gateways import ROOT, WAIT_SECONDS
from tests.support.socket_activation import BOOTSTRAP
from wire.listening import CannotListen, activated, forget_activation, listen, listen_unix, url_of

ACTIVATED = """
import json, os
from wire.listening import CannotListen, activated, forget_activation, url_of
try:
    sockets = activated(os.environ)
except CannotListen as error:
    print(json.dumps({"error": str(error)}))
else:
    forget_activation(os.environ)
    print(json.dumps({
        "urls": [url_of(each) for each in sockets],
        "descriptors": [each.fileno() for each in sockets],
        "blocking": [each.getblocking() for each in sockets],
        "inheritable": [each.get_inheritable() for each in sockets],
        "environment": [name for name in os.environ if name.startswith("LISTEN_")],
    }), flush=True)
    for each in sockets:
        each.setblocking(True)
        connection, _ = each.accept()
        connection.sendall(b"served")
        connection.close()
        each.close()
"""


def test_a_process_that_was_started_without_sockets_has_none() -> None:
    assert activated({}) == []
    assert activated({"LISTEN_FDS": "1"}) == []
    assert activated({"LISTEN_PID": str(os.getppid()), "LISTEN_FDS": "1"}) == []


def test_what_tells_of_sockets_is_taken_out_of_the_environment() -> None:
    environment = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "http", "PATH": "/bin"}
    forget_activation(environment)
    forget_activation(environment)
    assert environment == {"PATH": "/bin"}


@pytest.mark.parametrize("count", ["", "one", "-1", "+1", "1_0", "١"])
def test_a_number_of_sockets_that_is_none_is_refused(count: str) -> None:
    with pytest.raises(CannotListen, match="LISTEN_FDS is no number"):
        activated({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count})


@contextmanager
def child(given: Sequence[socket.socket], **environment: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has the sockets as its descriptors 3, 4 and so on, and serves each once."""
    descriptors = [each.fileno() for each in given]
    places = ",".join(map(str, descriptors))
    with subprocess.Popen(
        [sys.executable, "-c", BOOTSTRAP, places, sys.executable, "-W", "error", "-c", ACTIVATED],
        cwd=ROOT,
        env={"LISTEN_FDS": str(len(given)), **environment},
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        assert process.wait(WAIT_SECONDS) == 0


def told_by(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    told: dict[str, Any] = json.loads(process.stdout.readline())
    return told


def test_the_sockets_of_systemd_are_served_on_and_are_for_no_child(tmp_path: Path) -> None:
    path = tmp_path / "votegate.sock"
    with ExitStack() as stack:
        given = [stack.enter_context(each) for each in (*listen("127.0.0.1", 0), *listen_unix(path))]
        nameless = stack.enter_context(socket.socket(socket.AF_UNIX))
        nameless.bind(f"\0votegate-{os.getpid()}")
        nameless.listen()
        given.append(nameless)
        with child(given, LISTEN_FDNAMES="http:local:nameless") as process:
            assert told_by(process) == {
                "urls": [url_of(given[0]), f"unix:{path}", f"unix:@votegate-{os.getpid()}"],
                "descriptors": [3, 4, 5],
                "blocking": [False, False, False],
                "inheritable": [False, False, False],
                "environment": [],
            }
            for each in given:
                with socket.socket(each.family) as client:
                    client.settimeout(WAIT_SECONDS)
                    client.connect(each.getsockname())
                    assert client.recv(100) == b"served"
        assert path.exists(), "the file belongs to systemd"


def unconnected() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def datagram() -> socket.socket:
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


@pytest.mark.parametrize(
    ("make", "why"),
    [(unconnected, "it does not listen; Accept= must be no"), (datagram, "it is no stream socket")],
)
def test_a_socket_of_systemd_that_cannot_be_served_on_is_named(
    make: Callable[[], socket.socket], why: str
) -> None:
    (good,) = listen("127.0.0.1", 0)
    with good, make() as bad, child([good, bad], LISTEN_FDNAMES="http:odd") as process:
        assert told_by(process) == {"error": f"cannot listen on descriptor 4 (odd) of systemd: {why}"}


def test_a_descriptor_of_systemd_that_is_no_socket_is_named() -> None:
    (good,) = listen("127.0.0.1", 0)
    with good, child([good], LISTEN_FDS="2") as process:
        (error,) = told_by(process).values()
    assert str(error).startswith("cannot listen on descriptor 4 (no name) of systemd: ")
