"""The log of a process: all lines have one form, and lines about a request have its id."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.contract import BOT_PATH, STATS
from tests.support.forked_gateway import ended
from tests.support.gateways import BOT, ROOT, USER, ProcessGateway, eventually
from tests.support.raw_http import answers_in, converse
from tests.support.webhook_receiver import Receiver, status

Line = dict[str, Any]
FIELDS = {"time", "level", "logger", "message"}


def lines_of(log: str) -> list[Line]:
    """Parse the lines. Each must be an object with the fields that every line has."""
    lines: list[Line] = [json.loads(line) for line in log.splitlines()]
    assert all(line.keys() >= FIELDS for line in lines)
    return lines


def under(request_id: str, log: str) -> list[str]:
    """Return the messages with the id of a request, without its line of the access log."""
    return [
        line["message"]
        for line in lines_of(log)
        if line.get("request") == request_id and line["logger"] != "votegate.access"
    ]


@pytest.fixture
def gateway(process: ProcessGateway) -> ProcessGateway:
    """A gateway that logs JSON at the level DEBUG."""
    process.environment |= {"VOTEGATE_LOG__FORM": "json", "VOTEGATE_LOG__LEVEL": "DEBUG"}
    return process.start()


def test_from_its_start_to_its_end_every_line_is_json(gateway: ProcessGateway, receiver: Receiver) -> None:
    key = gateway.list_bot()
    gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
    gateway.cast()
    assert gateway.voters(key).status_code == 200
    assert gateway.voters("wrong").status_code == 401
    assert gateway.request("GET", "/nowhere").status_code == 404
    assert converse(gateway.base_url, [b"nonsense\r\n\r\n"])
    assert gateway.done("POST", "/debug/verify")["equal"]
    assert gateway.signal(signal.SIGTERM) == 0
    lines = lines_of(gateway.log)
    assert any(line.get("message", "").startswith("serving on ") for line in lines)
    assert lines[-1]["message"].startswith("stopped at position ")


def test_every_answer_is_logged_with_its_id(gateway: ProcessGateway) -> None:
    key = gateway.list_bot()
    answers = [
        gateway.voters(key),
        gateway.voters("wrong"),
        gateway.stats(key, {"server_count": 1_000}),
        gateway.request("GET", "/nowhere"),
        gateway.request("BREW", "/healthz"),
    ]
    ids = [answer.headers["x-request-id"] for answer in answers]
    for data in (b"nonsense\r\n\r\n", f"GET {STATS} HTTP/1.1\r\nno colon\r\n\r\n".encode()):
        (refused,) = answers_in(converse(gateway.base_url, [data]))
        ids.append(str(refused.named("x-request-id")))
    assert gateway.signal(signal.SIGTERM) == 0
    logged = {line["request"]: line for line in lines_of(gateway.log) if line["logger"] == "votegate.access"}
    assert len({*ids}) == len(ids)
    for number, each in enumerate(ids):
        assert logged[each].keys() == {*FIELDS, "request", "status", "method", "path", "address", "ms"}
        if number < len(answers):
            assert logged[each]["status"] == answers[number].status_code


def test_later_effects_of_a_vote_are_logged_under_its_id(gateway: ProcessGateway, receiver: Receiver) -> None:
    gateway.list_bot()
    gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
    receiver.answers = [status(410)]
    cast = gateway.operate("POST", f"{BOT_PATH}/votes", {"user": USER})
    eventually(lambda: "is suspended" in gateway.log)
    assert any("is suspended" in line for line in under(cast.headers["x-request-id"], gateway.log))


def test_effects_of_a_webhook_test_and_a_snapshot_are_logged_under_their_ids(
    gateway: ProcessGateway, receiver: Receiver
) -> None:
    gateway.list_bot()
    gateway.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
    receiver.answers = [status(410), status(204)]
    gateway.cast()
    eventually(lambda: "is suspended" in gateway.log)
    tested = gateway.operate("POST", f"{BOT_PATH}/webhook/test", {"user": USER})
    assert tested.json()["state"] == "delivered"
    taken = gateway.operate("POST", "/debug/snapshot")
    eventually(lambda: "no longer suspended" in gateway.log and "snapshot of position" in gateway.log)
    assert any("no longer suspended" in line for line in under(tested.headers["x-request-id"], gateway.log))
    assert any(
        line.startswith("snapshot of position") for line in under(taken.headers["x-request-id"], gateway.log)
    )
    assert gateway.signal(signal.SIGTERM) == 0
    assert "request" not in lines_of(gateway.log)[-1]


@pytest.mark.parametrize("has_key", [True, False], ids=["answered directly", "answered by a handler"])
def test_a_refused_address_is_logged_under_the_request_that_was_one_too_many(
    process: ProcessGateway, has_key: bool
) -> None:
    process.environment |= {"VOTEGATE_LOG__FORM": "json", "VOTEGATE_LIMITS__FAILURES__REQUESTS": "3"}
    process.start()
    key = process.list_bot()
    failed = [process.voters(key if has_key else "wrong", user="1") for _ in range(3)]
    assert {answer.status_code for answer in failed} == {400 if has_key else 401}
    last = failed[-1].headers["x-request-id"]
    assert eventually(lambda: under(last, process.log))[0].startswith("the address 127.0.0.1 is refused for")
    process.voters(key)
    assert not under(failed[0].headers["x-request-id"], process.log)


def test_a_text_log_has_the_id_after_the_name_of_the_logger(process: ProcessGateway) -> None:
    process.start()
    key = process.list_bot()
    answer = process.voters(key)
    assert process.signal(signal.SIGTERM) == 0
    told = rf" INFO votegate\.access\[{answer.headers['x-request-id']}\]: 200 GET /bots/{BOT}/voters/{USER} "
    assert re.search(told + r"127\.0\.0\.1 \d+\.\dms$", process.log, re.MULTILINE)


JSON = {"VOTEGATE_LOG__FORM": "json"}


@pytest.mark.parametrize(
    ("arguments", "environment", "ends_with", "why"),
    [
        ([], {"VOTEGATE_SERVER__PORT": "http"}, 2, "the settings are not valid: server.port: "),
        (["--config", "/nowhere.yaml"], {}, 2, "the settings are not valid: /nowhere.yaml: cannot be read"),
        (["--address", "256.0.0.1", "--port", "0"], {}, 1, "cannot serve: cannot listen on 256.0.0.1 port 0"),
    ],
)
def test_the_reason_of_a_refused_start_is_logged_as_json(
    tmp_path: Path, arguments: list[str], environment: dict[str, str], ends_with: int, why: str
) -> None:
    folder = {"VOTEGATE_DATA_DIR": str(tmp_path / "data")}
    refused = ended(["serve", *arguments], {**JSON, **folder, **environment})
    assert (refused.returncode, refused.stdout) == (ends_with, "")
    (line,) = lines_of(refused.stderr)
    assert line["level"] == "CRITICAL"
    assert line["message"].startswith(why)


@pytest.mark.parametrize("where", ["recover", "make_application", "Sender.run"])
def test_a_crash_is_one_line_of_json_with_its_traceback(tmp_path: Path, where: str) -> None:
    environment = {**JSON, "VOTEGATE_DATA_DIR": str(tmp_path / "data")}
    crashed = ended(["serve", "--port", "0"], environment, f"gateway.serve.{where}")
    assert (crashed.returncode, crashed.stdout) == (1, "")
    *_, line = lines_of(crashed.stderr)
    assert line["message"] == "stopped by a failure"
    assert "RuntimeError: a bug" in line["traceback"]


@pytest.mark.parametrize("form", ["text", "json"])
def test_security_events_are_written_without_an_access_log_too(process: ProcessGateway, form: str) -> None:
    process.environment |= {"VOTEGATE_LOG__FORM": form, "VOTEGATE_SERVER__ACCESS_LOG": "off"}
    gateway = process.start()
    answer = gateway.request("GET", "/metrics", headers={"Authorization": "Bearer a-guess"})
    assert answer.status_code == 401
    (line,) = [line for line in gateway.log.splitlines() if answer.headers["x-request-id"] in line]
    assert "wrong_operator_token address=127.0.0.1" in line
    if form == "json":
        told = json.loads(line)
        assert (told["event"], told["address"]) == ("wrong_operator_token", "127.0.0.1")
        assert told["logger"] == "votegate.security"
    else:
        assert "INFO votegate.security[" in line


class PipeGateway(ProcessGateway):
    """A gateway that logs to a given file. It serves on a port that is known before the start."""

    errors: int

    def opened(self, arguments: Sequence[str], output: int) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [sys.executable, *self.program, *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=output,
            stderr=self.errors,
        )

    def start(self, *arguments: str) -> "PipeGateway":
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}"
        self.environment["VOTEGATE_SERVER__PORT"] = str(port)
        self.process = self.opened(arguments, self.output)
        eventually(self._is_ready)
        return self

    def _is_ready(self) -> bool:
        try:
            return self.request("GET", "/readyz").status_code == 200
        except requests.ConnectionError:
            return False


def test_a_log_that_nobody_reads_blocks_neither_votes_nor_the_end(tmp_path: Path) -> None:
    gateway = PipeGateway(tmp_path / "data")
    reading, gateway.errors = os.pipe()
    fcntl.fcntl(gateway.errors, fcntl.F_SETPIPE_SZ, 4_096)
    try:
        gateway.start()
        key = gateway.list_bot()
        for _ in range(100):
            assert gateway.request("GET", "/nowhere").status_code == 404
        for _ in range(3):
            gateway.process.send_signal(signal.SIGHUP)  # it logs some lines at once
        gateway.cast()
        assert gateway.voters(key).json()["voted"] is True
        assert gateway.signal(signal.SIGTERM) == 0
    finally:
        os.close(gateway.errors)
        os.close(reading)
        gateway.close()


def test_a_log_on_a_full_disk_does_not_change_the_exit_status(tmp_path: Path) -> None:
    gateway = PipeGateway(tmp_path / "data")
    gateway.errors = os.open("/dev/full", os.O_WRONLY)
    try:
        gateway.start()
        assert gateway.request("GET", "/nowhere").status_code == 404
        assert gateway.signal(signal.SIGTERM) == 0
    finally:
        os.close(gateway.errors)
        gateway.close()
