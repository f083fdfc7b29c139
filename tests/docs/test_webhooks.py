"""docs/webhooks.md: its receivers run word by word, and its numbers and payloads are those of the code.

Each receiver is a process that gets real requests, with right signatures and forged ones.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest
import requests

from core.rows import Delivery, WebhookEvent
from languages.language_names import LANGUAGES
from outbound.http1 import HEAD_BYTES
from outbound.result import READ_BYTES
from settings.model import WebhooksSettings
from tests.support.contract import set_webhook
from tests.support.gateways import BOT, ROOT, WAIT_SECONDS, ThreadGateway, eventually
from tests.support.programs import installed
from tests.support.raw_receivers import unused_port
from webhook.messages import EXCERPT_CHARACTERS, new_secret, payload, signed_headers

DOCUMENT = (ROOT / "docs/webhooks.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
PROGRAMS = {kind: text for kind, text in BLOCKS if kind in {"python", "js"}}

SECRET, OTHER_SECRET = new_secret(lambda size: b"a" * size), new_secret(lambda size: b"b" * size)
BODY = b'{"bot":"111111111111111111","user":"333333333333333333","test":false}'
VOTE = "vote of 333333333333333333"
"""The line that a receiver prints for a vote."""
TOLERANCE_SECONDS = 300
SLACK_SECONDS = 60  # how far the clock may move between signing and checking


class Program:
    """A receiver of the document, on its own port."""

    def __init__(self, *command: str) -> None:
        environment = {**os.environ, "WEBHOOK_SECRET": SECRET}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().removeprefix("listening on ").strip()
        self._session = requests.Session()
        self._session.trust_env = False

    def post(self, headers: Mapping[str, str | bytes], body: bytes = BODY) -> int:
        return self._session.post(
            self.url + "/votes", data=body, headers=headers, timeout=WAIT_SECONDS
        ).status_code

    def seen(self) -> list[str]:
        """Return the events that it accepted.

        It prints after it has answered, so one more event marks the end.
        """
        assert self._process.stdout is not None
        last = b'{"user":"the last","test":true}'
        assert self.post(signed(delivery_id="last", body=last), last) == 204
        seen = []
        while (line := self._process.stdout.readline()) not in {"", "test for the last\n"}:
            seen.append(line.strip())
        return seen

    def close(self) -> None:
        self._session.close()
        self._process.terminate()
        self._process.communicate(timeout=WAIT_SECONDS)


@pytest.fixture(params=["python", "js"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Program]:
    interpreter = sys.executable if request.param == "python" else installed("node")
    path = tmp_path / f"receiver.{request.param}"
    path.write_text(PROGRAMS[request.param])
    program = Program(interpreter, str(path), "0")
    yield program
    program.close()


def signed(
    *secrets: str, delivery_id: str = "5f0c7d6a1b2e", age_seconds: int = 0, body: bytes = BODY
) -> dict[str, str]:
    return signed_headers(delivery_id, int(time.time()) - age_seconds, body, secrets or [SECRET])


def test_a_signed_request_is_received(program: Program) -> None:
    assert program.post(signed()) == 204
    assert program.seen() == [VOTE]


def test_only_a_vote_is_rewarded(program: Program) -> None:
    for number, body in enumerate(text.strip().encode() for kind, text in BLOCKS if kind == "json"):
        assert program.post(signed(delivery_id=f"event {number}", body=body), body) == 204
    assert program.seen() == [
        *(VOTE, VOTE, "test for 333333333333333333"),
        *("event review.approved", "event review.denied", "event vote.struck", "event rating.posted"),
    ]


def test_the_minimal_receiver_tells_votes_from_the_rest() -> None:
    address = ("127.0.0.1", unused_port())
    command = [sys.executable, str(ROOT / "examples/receiver.py"), str(address[1]), "token"]
    bodies = [text.strip() for kind, text in BLOCKS if kind == "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        eventually(lambda: _listens(address))
        with requests.Session() as session:
            session.trust_env = False
            for body in bodies:
                url = f"http://127.0.0.1:{address[1]}/votes"
                headers = {"Authorization": "token"}
                assert session.post(url, body, headers=headers, timeout=WAIT_SECONDS).status_code == 204
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in bodies]
        process.terminate()
    assert [line.partition(":")[0] for line in lines] == ["received a vote"] * 2 + ["received no vote"] * 5


def _listens(address: tuple[str, int]) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(address) == 0


def test_a_replayed_event_is_accepted_and_counted_once(program: Program) -> None:
    first = signed(delivery_id="one")
    retry = signed(delivery_id="one", age_seconds=-5)
    other = signed(delivery_id="two")
    assert [program.post(headers) for headers in (first, first, retry, other)] == [204] * 4
    assert program.seen() == [VOTE] * 2


def test_forged_requests_are_refused(program: Program) -> None:
    genuine = signed()
    signature = genuine["webhook-signature"]
    changed = {
        "webhook-id": ["", "5f0c7d6a1b2f", "5f0c7d6a1b2e."],
        "webhook-timestamp": [str(int(genuine["webhook-timestamp"]) + 1)],
        "webhook-signature": [
            "",
            "v1",
            "v1,",
            signature.removeprefix("v1,"),
            signature.replace("v1", "v2"),
            signature[:-1],
            signature + "A",
            signature[:8] + signature[8:].swapcase(),
            "v1," + "A" * 43 + "=",
            "é" * len(signature),
        ],
    }
    forged = [{**genuine, name: value} for name, values in changed.items() for value in values]
    forged += [{name: value for name, value in genuine.items() if name != left_out} for left_out in genuine]
    forged += [{}, signed(OTHER_SECRET), signed(SECRET, body=BODY + b" ")]
    for headers in forged:
        assert program.post({name: value.encode("latin-1") for name, value in headers.items()}) == 401, (
            headers
        )
    assert program.post(genuine, BODY.replace(b"333", b"444", 1)) == 401
    assert program.seen() == []


def test_an_old_or_early_request_is_refused_with_a_right_signature_too(program: Program) -> None:
    late, early = TOLERANCE_SECONDS + SLACK_SECONDS, -TOLERANCE_SECONDS - SLACK_SECONDS
    assert [program.post(signed(age_seconds=age)) for age in (late, early)] == [401, 401]
    near = TOLERANCE_SECONDS - SLACK_SECONDS
    assert [program.post(signed(age_seconds=age)) for age in (near, -near)] == [204, 204]


@pytest.mark.parametrize("timestamp", ["", "now", "-1", "1e9", "0x7fffffff", "9" * 40, "NaN", "1 "])
def test_an_invalid_timestamp_is_refused(program: Program, timestamp: str) -> None:
    unread: Any = timestamp  # the signature is right, so only the form is wrong
    headers = signed_headers("id", unread, BODY, [SECRET])
    assert program.post(headers) == 401


def test_during_a_rotation_a_receiver_with_either_secret_accepts(program: Program) -> None:
    old_holder = signed(OTHER_SECRET, SECRET, delivery_id="a")
    new_holder = signed(SECRET, OTHER_SECRET, delivery_id="b")
    afterwards = signed(OTHER_SECRET, delivery_id="c")
    assert [program.post(headers) for headers in (old_holder, new_holder, afterwards)] == [204, 204, 401]
    assert len(program.seen()) == 2


@pytest.mark.parametrize(("kind", "path"), [("python", "verify.py"), ("js", "verify.js")])
def test_the_examples_equal_those_of_the_document(kind: str, path: str) -> None:
    assert (ROOT / "examples" / path).read_text() == PROGRAMS[kind]


def test_the_commands_of_operators_run(gateway: ThreadGateway) -> None:
    installed("curl")
    gateway.list_bot(BOT)
    set_webhook(gateway, "http://127.0.0.1:9/votes")
    names = {
        "OPERATOR": f"Authorization: Bearer {gateway.operator_token}",
        "MANAGE": f"{gateway.base_url}/manage",
    }
    commands = [text for kind, text in BLOCKS if kind == "sh" and "$MANAGE" in text]
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            env={**os.environ, **names, "no_proxy": "*"},
            capture_output=True,
            check=True,
        )
        assert json.loads(done.stdout)["success"] is True, command


def test_the_payloads_equal_those_of_the_sender() -> None:
    user, at_ms = "333333333333333333", 1_750_000_000_000
    denied, struck = "It answers no command.", "Accounts of one person."
    deliveries = [
        Delivery("d", "bots/111111111111111111", user, False, 0, 0),
        Delivery("d", "servers/222222222222222222", user, False, 0, 0),
        Delivery("d", "bots/111111111111111111", user, True, 0, 0),
        Delivery("d", "bots/111111111111111111", "", False, at_ms, 0, kind="review.approved"),
        Delivery("d", "servers/222222222222222222", "", False, at_ms, 0, kind="review.denied", reason=denied),
        Delivery("d", "bots/111111111111111111", user, False, at_ms, 0, kind="vote.struck", reason=struck),
        Delivery("d", "bots/111111111111111111", user, False, at_ms, 0, kind="rating.posted", stars=4),
    ]
    shown = [text.strip().encode() for kind, text in BLOCKS if kind == "json"]
    assert shown == [payload(delivery) for delivery in deliveries]


def test_every_event_has_a_row() -> None:
    table = DOCUMENT.partition("| event |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([a-z.]+)` \|", table, re.MULTILINE) == list(get_args(WebhookEvent))


def test_the_request_shown_is_signed() -> None:
    (request,) = [text for kind, text in BLOCKS if kind == "http"]
    head, body = request.rstrip("\n").split("\n\n")
    headers = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    signed_with = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="
    expected = signed_headers(
        headers["webhook-id"], int(headers["webhook-timestamp"]), body.encode(), [signed_with]
    )
    assert expected.items() <= headers.items()
    assert json.loads(body)["test"] is False


def test_all_languages_are_named() -> None:
    (line,) = [line for line in DOCUMENT.splitlines() if line.startswith("* `language`")]
    assert re.findall(r"`([a-zA-Z-]+)`", line.split(": ", 1)[1].split(".")[0]) == list(LANGUAGES)


def test_the_numbers_are_the_defaults() -> None:
    default = WebhooksSettings()
    sentences = [
        f"must fit into **{default.timeout_seconds:g} seconds**",
        f"At most **{READ_BYTES // 1024} KiB**",
        f"The first {EXCERPT_CHARACTERS} characters",
        f"more than {HEAD_BYTES // 1024} KiB",
        f"there are {default.retries} more, each {default.retry_delay_seconds:g} seconds after",
        f"whose last {default.suspend_after} events all failed",
        f"is suspended, for {default.suspension_seconds / 60:g} minute at first",
        f"up to {default.longest_suspension_seconds / 3_600:g} hour.",
        f"for {default.kept_seconds / 86_400:g} days, and {default.pending_per_endpoint:,} for each endpoint",
    ]
    text = " ".join(DOCUMENT.split())
    assert [sentence for sentence in sentences if sentence not in text] == []
    assert default.in_flight_per_endpoint == 1, "one request at a time"
    assert not default.allow_private_targets
