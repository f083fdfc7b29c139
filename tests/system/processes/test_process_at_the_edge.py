"""A process at the edge: its sockets, its certificate, its file descriptors, its log, and its end."""

import contextlib
import json
import resource
import signal
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.support.certificate_files import HOST, Files, trusting
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import BOT, USER, WAIT_SECONDS, ProcessGateway, eventually
from tests.support.raw_http import END, converse
from tests.support.raw_http_client import HEALTH, Asking, Caller, calling, request
from tests.support.socket_activation import Activated
from wire.listening import listen

CHECK = f"/bots/{BOT}/voters/{USER}"
EXHAUSTED = "accepting no connections for a moment"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    files = Files(tmp_path)
    files.write()
    return files


@pytest.fixture
def secured(process: ProcessGateway, files: Files) -> ProcessGateway:
    """A gateway with a certificate."""
    process.environment |= {
        "VOTEGATE_SERVER__TLS__CERTIFICATE": str(files.certificate),
        "VOTEGATE_SERVER__TLS__KEY": str(files.key),
        "VOTEGATE_SERVER__HEADER_SECONDS": "0.3",
    }
    return process.start()


@contextlib.contextmanager
def calling_securely(gateway: ProcessGateway, certificate: bytes) -> Iterator[Caller]:
    """A caller that accepts this very certificate and no other."""
    with calling(gateway.base_url, tls=trusting(certificate), name=HOST) as caller:
        yield caller


def test_a_renewed_certificate_is_served_after_a_hangup_and_a_broken_one_is_logged(
    secured: ProcessGateway, files: Files
) -> None:
    assert secured.base_url.startswith("https://")
    old = files.certificate.read_bytes()
    with calling_securely(secured, old) as kept:
        assert kept.ask(HEALTH).status == 200

        new = files.write()
        secured.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the certificate was read again" in secured.log)
        with calling_securely(secured, new) as caller:
            assert caller.ask(HEALTH).status == 200
        with pytest.raises(ssl.SSLCertVerificationError):
            Caller(secured.base_url, tls=trusting(old), name=HOST)

        files.key.write_bytes(b"")
        secured.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the certificate stays as it was: " in secured.log)
        assert f"{files.key}: has no key in PEM that fits" in secured.log
        with calling_securely(secured, new) as caller:
            assert caller.ask(HEALTH).status == 200
        assert kept.ask(HEALTH).status == 200
    assert secured.signal(signal.SIGTERM) == 0
    assert "Traceback" not in secured.log


def test_a_large_answer_and_many_requests_pass_through_tls(secured: ProcessGateway, files: Files) -> None:
    with calling_securely(secured, files.certificate.read_bytes()) as caller:
        caller.send(request("GET", "/docs") * 30 + request("GET", "/nowhere", "Connection: close"))
        answers = caller.answers()
    assert [answer.status for answer in answers] == [200] * 30 + [404]
    assert len({answer.body for answer in answers[:30]}) == 1


def test_clients_that_do_not_shake_hands_harm_nobody(secured: ProcessGateway, files: Files) -> None:
    with calling(secured.base_url) as silent, calling(secured.base_url) as plain:
        plain.send(HEALTH)
        with contextlib.suppress(ConnectionError):
            while plain.socket.recv(65_536):  # an alert, and the end
                pass
        with calling(secured.base_url) as gone:
            gone.send(b"\x16\x03\x01")
            gone.reset()
        with calling_securely(secured, files.certificate.read_bytes()) as caller:
            assert caller.ask(HEALTH).status == 200
        with contextlib.suppress(ConnectionError):
            assert silent.at_end()
    assert secured.signal(signal.SIGTERM) == 0
    assert "Traceback" not in secured.log
    assert "ERROR" not in secured.log


def test_a_handshake_that_is_never_finished_does_not_hold_up_a_stop(
    process: ProcessGateway, files: Files
) -> None:
    process.environment |= {
        "VOTEGATE_SERVER__TLS__CERTIFICATE": str(files.certificate),
        "VOTEGATE_SERVER__TLS__KEY": str(files.key),
        "VOTEGATE_SERVER__HEADER_SECONDS": "600",
        "VOTEGATE_SERVER__DRAIN_SECONDS": "600",
    }
    process.start()
    with calling(process.base_url), calling_securely(process, files.certificate.read_bytes()) as other:
        assert other.ask(HEALTH).status == 200  # by now the first one has been accepted
        assert process.signal(signal.SIGTERM) == 0


def test_a_proxy_on_a_unix_socket_is_believed_and_each_client_has_its_own_failures(
    process: ProcessGateway, tmp_path: Path
) -> None:
    process.environment |= {
        "VOTEGATE_SERVER__UNIX_SOCKET": str(tmp_path / "votegate.sock"),
        "VOTEGATE_SERVER__TRUSTED_PROXIES": "unix",
        "VOTEGATE_LOG__FORM": "json",
    }
    process.start()
    with calling(process.base_url) as caller:

        def status_for(address: str) -> int:
            return caller.ask(request("GET", CHECK, f"X-Forwarded-For: {address}")).status

        assert {status_for("192.0.2.1") for _ in range(300)} == {401}
        assert status_for("192.0.2.1") == 429
        assert status_for("192.0.2.2") == 401
        assert status_for("192.0.2.1, 192.0.2.2") == 401
    assert process.signal(signal.SIGTERM) == 0
    assert [line["address"] for line in logged(process)[-3:]] == ["192.0.2.1", "192.0.2.2", "192.0.2.2"]
    assert not (tmp_path / "votegate.sock").exists()


def logged(gateway: ProcessGateway) -> list[dict[str, Any]]:
    """The lines of the access log. Every line is JSON."""
    lines = map(json.loads, gateway.log.splitlines())
    return [line for line in lines if line["logger"] == "votegate.access"]


def test_every_answer_of_every_part_is_logged_once(process: ProcessGateway) -> None:
    process.environment["VOTEGATE_LOG__FORM"] = "json"
    process.start()
    key = f"Authorization: {process.list_bot()}"
    before = 4
    slow = request("POST", f"/bots/{BOT}/stats", "Transfer-Encoding: chunked") + b"x\r\n"
    for data in [
        request("GET", CHECK, key),
        request("GET", CHECK, key) * 2,
        request("GET", CHECK, "Expect: x") + request("GET", CHECK + "?secret=1"),
        request("GET", "/nowhere"),
        request("PUT", CHECK),
        request("BREW", "/healthz"),
        request("GET", "http://gateway/healthz?secret=1"),
        request("GET", "https://user:secret@gateway/healthz"),
        request("BREW", "https://user:secret@gateway/healthz"),
        b"nonsense\r\n\r\n",
        request("GET", "/long", "X-Long: " + "x" * 20_000),
        slow,
    ]:
        with calling(process.base_url) as caller:
            caller.send(data)
            caller.sends_no_more()
            assert caller.answers()
    assert process.signal(signal.SIGTERM) == 0
    lines = logged(process)[before:]
    assert [(line["status"], line["method"], line["path"]) for line in lines] == [
        (200, "GET", CHECK),
        (200, "GET", CHECK),
        (200, "GET", CHECK),
        (401, "GET", CHECK),
        (401, "GET", CHECK),
        (404, "GET", "/nowhere"),
        (405, "PUT", CHECK),
        (501, "-", "/healthz"),
        (200, "GET", "/healthz"),
        (400, "-", "/healthz"),
        (501, "-", "/healthz"),
        (400, "-", "-"),
        (431, "-", "/long"),
        (400, "-", f"/bots/{BOT}/stats"),
    ]
    assert {line["address"] for line in lines} == {"127.0.0.1"}


@pytest.fixture
def broken(tmp_path: Path) -> Iterator[ForkedGateway]:
    """A gateway with a bug that quotes its request."""
    gateway = ForkedGateway(tmp_path / "data", VOTEGATE_LOG__LEVEL="DEBUG")
    gateway.bug = "handlers.public.PublicApi.stats"
    yield gateway
    gateway.close()


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_line_of_any_log_holds_a_key_or_a_secret_of_the_settings(broken: ForkedGateway, form: str) -> None:
    client_secret = "client-secret-of-the-tests"
    broken.environment |= {"VOTEGATE_LOG__FORM": form, "VOTEGATE_CHAT_PLATFORM__CLIENT_SECRET": client_secret}
    broken.start()
    key, token = "vg_" + "k" * 43, broken.operator_token
    for secret in (key, token, client_secret):
        encoded = "".join(f"%{ord(each):x}" for each in secret)
        for written in (secret, encoded, encoded.replace("%", "%25")):
            for data in [
                request("PATCH", f"/bots/{written}/stats", f"Authorization: {key}"),
                request("GET", f"/bots/{BOT}/voters/{written}?key={written}", f"Authorization: {key}"),
                request("GET", f"/{written}", f"Authorization: Bearer {token}"),
                request("GET", f"http://gateway/{written}"),
                request("BREW", f"/{written}"),
                request(secret, f"/{written}"),
                request("GET", f"/{written}", host=f"{written} {written}"),
                request("GET", f"/{written}", f"no colon {written}"),
            ]:
                assert converse(broken.base_url, [data + END])
    assert broken.signal(signal.SIGTERM) == 0
    log = broken.log
    assert log.count("RuntimeError: a bug: ") == 9
    assert log.count("[secret]") > 20
    for _ in range(4):
        assert key[-20:] not in log
        assert token not in log
        assert client_secret not in log
        log = unquote(log)


def test_a_restart_on_the_same_socket_turns_nobody_away(tmp_path: Path) -> None:
    (listening,) = listen("127.0.0.1", 0)
    with listening, contextlib.ExitStack() as stack:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        asking = [Asking(url) for _ in range(3)]
        for each in asking:
            stack.callback(each.end)
        for _ in range(2):
            gateway = Activated(tmp_path / "data", listening).start()
            stack.callback(gateway.close)
            before = [each.answered for each in asking]
            for each, answered in zip(asking, before, strict=True):
                eventually(lambda: each.answered > answered + 20)  # noqa: B023 (waited for here)
            assert gateway.signal(signal.SIGTERM) == 0
            assert f"serving on {url}\n" in gateway.log
        last = Activated(tmp_path / "data", listening).start()
        stack.callback(last.close)
        for each in asking:
            each.end()
        assert [each.wrong for each in asking] == [[], [], []]


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_on_sockets_of_systemd_a_stand_in_for_the_platform_is_for_loopback_alone(
    tmp_path: Path, address: str
) -> None:
    (listening,) = listen(address, 0)
    with contextlib.ExitStack() as stack:
        stack.callback(listening.close)
        gateway = Activated(tmp_path / "data", listening)
        gateway.environment["VOTEGATE_CHAT_PLATFORM__API_URL"] = "http://127.0.0.1:8090/api/v10"
        gateway.start()
        stack.callback(gateway.close)
        if address == "127.0.0.1":
            eventually(lambda: "serving on " in gateway.log)
            return
        assert gateway.process.wait(WAIT_SECONDS) == 1
        port = listening.getsockname()[1]
        assert "votegate cannot serve: chat_platform.api_url: is on loopback, " in gateway.log
        assert f"{address} port {port} lets other machines in" in gateway.log


def test_a_stop_ends_idle_connections_and_answers_what_runs(process: ProcessGateway) -> None:
    process.start()
    with calling(process.base_url) as idle, calling(process.base_url) as running:
        assert idle.ask(HEALTH).status == 200
        running.send(request("POST", "/healthz", "Content-Length: 2", "Expect: 100-continue"))
        assert running.answer().status == 100
        process.process.send_signal(signal.SIGTERM)
        assert idle.at_end()
        answer = running.ask(b"{}")
        assert (answer.status, answer.closes) == (405, True)
        assert running.at_end()
    assert process.process.wait(WAIT_SECONDS) == 0


def test_a_stop_answers_every_connection_that_had_come(process: ProcessGateway) -> None:
    process.start()
    with contextlib.ExitStack() as stack:
        process.process.send_signal(signal.SIGSTOP)
        callers = [stack.enter_context(calling(process.base_url)) for _ in range(500)]
        for caller in callers[::2]:
            caller.send(HEALTH)
        process.process.send_signal(signal.SIGTERM)
        process.process.send_signal(signal.SIGCONT)
        for caller in callers[1::2]:
            caller.send(HEALTH)
        for caller in callers:
            answer = caller.answer()
            assert (answer.status, answer.closes) == (200, True)
            assert caller.at_end()
    assert process.process.wait(WAIT_SECONDS) == 0


def test_without_file_descriptors_accepting_waits_and_serving_goes_on(process: ProcessGateway) -> None:
    process.start()
    with calling(process.base_url) as kept:
        assert kept.ask(HEALTH).status == 200
        pid = process.process.pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        in_use = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (in_use + 5, hard))
        with contextlib.ExitStack() as stack:
            callers = [stack.enter_context(calling(process.base_url)) for _ in range(20)]
            eventually(lambda: EXHAUSTED in process.log)
            assert [callers[0].ask(HEALTH).status, kept.ask(HEALTH).status] == [200, 200]
            for caller in callers[:-1]:
                caller.close()
            assert callers[-1].ask(request("GET", "/healthz", "Connection: close")).status == 200
        with calling(process.base_url) as new:
            assert new.ask(HEALTH).status == 200
            assert kept.ask(HEALTH).status == 200
    assert "Traceback" not in process.log
    assert process.log.count(EXHAUSTED) < 5
    assert process.signal(signal.SIGTERM) == 0
