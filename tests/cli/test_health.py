"""`health` over TCP, TLS and a Unix socket: one line, status 0 or 1, and never longer than it may take."""

import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificate_files import Files
from tests.support.forked_gateway import ForkedGateway, ended
from tests.support.gateways import ROOT, ProcessGateway, ThreadGateway
from tests.support.webhook_receiver import Receiver, status


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of somebody who never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def health(*arguments: str, **environment: str) -> tuple[int, str]:
    """Status and the only line."""
    asked = ended(["health", *arguments], environment)
    (line,) = (asked.stdout + asked.stderr).splitlines()
    return asked.returncode, line


def test_a_gateway_is_well_and_ready(gateway: ThreadGateway) -> None:
    assert health("--url", gateway.base_url) == (0, f"{gateway.base_url} is well")
    assert health("--ready", "--url", gateway.base_url) == (0, f"{gateway.base_url} is ready")


def test_its_address_is_that_of_the_settings(gateway: ThreadGateway) -> None:
    port = gateway.base_url.rpartition(":")[2]
    assert health(VOTEGATE_SERVER__PORT=port) == (0, f"{gateway.base_url} is well")


WATCHED = (ROOT / "docs/operations.md").read_text().split("\n## Watch it\n")[1].split("\n## ")[0]


def test_it_asks_the_path_that_the_documents_name(receiver: Receiver) -> None:
    documented = re.findall(r"^\| `(/\w+)` \|.*`votegate health( --ready)?` asks it", WATCHED, re.MULTILINE)
    assert documented == [("/healthz", ""), ("/readyz", " --ready")]
    receiver.default = status(200, b'{"success": true}')
    for path, option in documented:
        assert health(*option.split(), "--url", receiver.url)[0] == 0
        assert receiver.received[-1].path == path


def test_it_asks_over_a_unix_socket(process: ProcessGateway, tmp_path: Path) -> None:
    path = str(tmp_path / "votegate.sock")
    process.environment["VOTEGATE_SERVER__UNIX_SOCKET"] = path
    process.start()
    assert health("--socket", path) == (0, f"unix:{path} is well")
    assert process.signal(signal.SIGTERM) == 0
    status, line = health("--socket", path)
    assert status == 1
    assert line.startswith(f"Error: no gateway answers at unix:{path}: ")


def test_it_asks_over_tls_and_knows_the_certificate_of_the_settings(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write()
    given = {
        "VOTEGATE_SERVER__TLS__CERTIFICATE": str(files.certificate),
        "VOTEGATE_SERVER__TLS__KEY": str(files.key),
    }
    gateway = ForkedGateway(tmp_path / "data", **given)
    try:
        gateway.start()
        port = gateway.base_url.rpartition(":")[2]
        status, line = health(VOTEGATE_SERVER__PORT=port, **given)
        assert (status, line.endswith(" is well")) == (0, True), line
        status, line = health("--url", gateway.base_url)
        assert (status, "is not trusted" in line) == (1, True), line
    finally:
        gateway.close()


def test_a_server_that_does_not_answer_is_given_up(silent: str) -> None:
    status, line = health("--url", silent, "--seconds", "0.2")
    assert status == 1
    assert line.startswith(f"Error: no gateway answers at {silent}: it has not answered")


@pytest.mark.parametrize("wrong", ["nonsense", "ftp://a", "http://", "http://[::1", "http://127.0.0.1:1"])
def test_a_wrong_address_is_reported_in_one_line(wrong: str) -> None:
    status, line = health("--url", wrong)
    assert (status, line.startswith("Error: ")) == (1, True), line
