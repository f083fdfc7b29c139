"""Pushes a bot's counts and asks whether a user has voted.

API=https://api.example BOT_ID=... API_KEY=vg_... python3 client.py <servers> <commands> <user id>
"""

import json
import os
import sys
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

API, BOT, KEY = os.environ["API"], os.environ["BOT_ID"], os.environ["API_KEY"]


class Refused(Exception):
    """An error of the API. `wait_seconds` is None if the same request would fail again."""

    def __init__(self, status: int, text: str, wait_seconds: int | None) -> None:
        super().__init__(f"{status} {text}")
        self.wait_seconds = wait_seconds


def call(method: str, path: str, body: dict[str, int] | None = None) -> dict[str, Any]:
    """Return the body of a successful answer. Raises Refused."""
    # The key is the whole header: no "Bearer", no "Bot".
    headers = {"Authorization": KEY, "Content-Type": "application/json"}
    where = urlsplit(API)
    kind = HTTPSConnection if where.scheme == "https" else HTTPConnection
    connection = kind(where.netloc, timeout=10)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        answer: dict[str, Any] = json.load(response)
    finally:
        connection.close()
    if response.status == 200:
        return answer
    # The wait is a header. The body has `success`, `error` and `status`, and nothing else.
    wait = response.getheader("retry-after")
    raise Refused(response.status, answer["error"], int(wait) if wait else None)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main(servers: int, commands: int, user: str) -> None:
    try:
        call("PATCH", f"/bots/{BOT}/stats", {"server_count": servers, "command_count": commands})
        say("pushed")
    except Refused as refused:
        say(f"not pushed: {refused} Wait: {refused.wait_seconds}")
    try:
        say("voted" if call("GET", f"/bots/{BOT}/voters/{user}")["voted"] else "not voted")
    except Refused as refused:
        say(f"not asked: {refused} Wait: {refused.wait_seconds}")


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
