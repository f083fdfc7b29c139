"""The stand-in for the chat platform as a process, and a browser that signs in there."""

import json
import os
import runpy
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from chatplatform.authorization import SignIn, sign_in_url
from chatplatform.platform_client import PlatformAccess
from tests.support.forked_process import ForkedProcess
from tests.support.gateways import ROOT, WAIT_SECONDS

STAND_IN_COOKIE = "stand-in-user"
BACK = "http://127.0.0.1:8080/signin/callback"
CLIENT_ID = "900000000000000001"
CLIENT_SECRET, BOT_TOKEN = "stand-in-client-secret", "stand-in-bot-token"
ADA, BEN, CLEO, DAN, EMIL = (str(200000000000000000 + number) for number in range(1, 6))
CHANNELS = "/users/@me/channels"
READY, PRIVATE, SILENT, NO_BOT = (str(400000000000000000 + number) for number in range(1, 5))


def server_id(number: int) -> str:
    return str(300000000000000000 + number)


GOOD_SERVER, SMALL, WITHOUT_BOT, OPEN_NSFW, NO_SECOND_FACTOR, MANAGED, NOT_MANAGED = map(
    server_id, range(1, 8)
)
"""Servers of Ada: each but the first has one thing wrong. The last two are Emil's."""


GAME_NIGHT, STUDY_HALL, EMILS_TEMPLATE = "GameNight001", "StudyHall002", "EmilsTable03"
"""Templates: two of Ada, and one of Emil."""


def messages_path(user_id: str) -> str:
    """The path of messages to a user."""
    return f"/channels/{500000000000000000 + int(user_id) % 1_000}/messages"


class StandIn:
    def __init__(self, url: str, back: str) -> None:
        self.url = url
        self.back = back
        self.access = PlatformAccess(
            url + "/api/v10", CLIENT_ID, CLIENT_SECRET, "https://bots.example", BOT_TOKEN
        )

    @property
    def authorize_url(self) -> str:
        return f"{self.url}/oauth2/authorize"

    def goes_wrong(self, path: str, fault: str, times: int = 1) -> None:
        """Let the next answers for the path go wrong in this way."""
        wanted = {"path": path, "fault": fault, "times": times}
        answer = requests.post(self.url + "/stand-in/faults", json=wanted, timeout=WAIT_SECONDS)
        assert answer.status_code == 200

    def asked(self, path: str) -> int:
        """Return how often the path was asked for."""
        seen: dict[str, Any] = requests.get(self.url + "/stand-in/seen", timeout=WAIT_SECONDS).json()
        times: int = seen["asked"].get(path, 0)
        return times

    def learn(self, told: Path) -> None:
        """Tell it of more users, applications and servers."""
        url = f"{self.url}/stand-in/known"
        assert requests.post(url, data=told.read_bytes(), timeout=WAIT_SECONDS).status_code == 200

    def change_application(self, application: str, **fields: object) -> None:
        """Change an application at the platform: its description, or its guild_count."""
        url = f"{self.url}/stand-in/applications/{application}"
        assert requests.post(url, json=fields, timeout=WAIT_SECONDS).status_code == 200

    def change_server(self, server: str, **fields: object) -> None:
        """Change a server at the platform."""
        url = f"{self.url}/stand-in/servers/{server}"
        assert requests.post(url, json=fields, timeout=WAIT_SECONDS).status_code == 200

    def change_invite(self, code: str, server: str | None, expires_at: str | None = None) -> None:
        """Make an invite to a server; to `gone`, end it."""
        told = {"server": server, "expires_at": expires_at}
        url = f"{self.url}/stand-in/invites/{code}"
        assert requests.post(url, json=told, timeout=WAIT_SECONDS).status_code == 200

    def change_template(self, code: str, **fields: object) -> None:
        """Make a template, or change it."""
        self._template(code, fields)

    def end_template(self, code: str) -> None:
        """Let a template be gone."""
        self._template(code, None)

    def _template(self, code: str, told: object) -> None:
        url = f"{self.url}/stand-in/templates/{code}"
        assert requests.post(url, data=json.dumps(told), timeout=WAIT_SECONDS).status_code == 200

    def messages(self, user_id: str) -> list[str]:
        """Return the direct messages that the user got, the newest first."""
        got = requests.get(self.url + "/stand-in/messages.json", timeout=WAIT_SECONDS).json()["messages"]
        return [each["content"] for each in got if each["to"] == user_id]

    def decide(self, request: SignIn, user_id: str, decision: str = "approve") -> dict[str, str]:
        """Decide as a user in a browser does. Return the query that the browser comes back with."""
        url = sign_in_url(self.authorize_url, CLIENT_ID, self.back, request)
        return dict(parse_qsl(urlsplit(decided_at(url, user_id, decision)).query))


def decided_at(url: str, user_id: str, decision: str = "approve") -> str:
    """Decide at the address of a sign-in. Return the address that the browser comes back to."""
    page = requests.get(url, timeout=WAIT_SECONDS)
    assert page.status_code == 200
    form = {"user": user_id, "decision": decision}
    answer = requests.post(url, data=form, allow_redirects=False, timeout=WAIT_SECONDS)
    assert answer.status_code == 302
    back = answer.headers["Location"]
    assert back.partition("?")[0] == dict(parse_qsl(urlsplit(url).query))["redirect_uri"]
    return back


@contextmanager
def standing_in(back: str = BACK) -> Iterator[StandIn]:
    told, telling = Pipe(duplex=False)
    process = ForkedProcess(_run, ["--port", "0", "--redirect-uri", back], telling)
    telling.close()
    try:
        assert told.poll(WAIT_SECONDS)
        line = os.read(told.fileno(), 4_096).decode()
        assert line, "the stand-in did not start"
        yield StandIn(line.split()[-1], back)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_SECONDS)
        told.close()


def _run(arguments: list[str], output: Connection) -> None:
    """Run the program, with the modules that it needs imported already."""
    os.dup2(output.fileno(), sys.stdout.fileno())
    output.close()
    program = ROOT / "examples/chat_platform.py"
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.parent))  # as `python` does
    runpy.run_path(str(program), run_name="__main__")
