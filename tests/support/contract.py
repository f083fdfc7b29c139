"""Texts of the contract, a gateway for tests of it, and questions to a gateway."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from requests import Response

from forms.file_fields import FileRef
from kinds.kind import Given, Kind
from kinds.registry import KINDS
from languages.said import SAID
from tests.support.gateways import (
    BOT,
    OWNER,
    SERVER,
    USER,
    WAIT_SECONDS,
    Client,
    ThreadGateway,
    eventually,
    running,
)
from tests.support.media_files import picture, sound
from tests.support.webhook_receiver import Answer, Receiver

BOT_PATH = f"/manage/bots/{BOT}"
STATS = f"/bots/{BOT}/stats"
TOO_MANY = (429, "Too many requests, please try again later.")
HEADER_REQUIRED = (401, "Authorization header is required.")
INVALID_KEY = (401, "Invalid API key.")
BOT_NOT_FOUND = (404, "Bot not found.")
NO_COUNT = (400, "One of the following fields is required: command_count, server_count.")
SERVER_COUNT_RANGE = (400, "Server count must be between 0 and 10 Million.")
COMMAND_COUNT_RANGE = (400, "Commands count must be between 0 and 1,000.")
NO_ACTUAL_COUNT = (500, "Could not fetch server count.")

MALFORMED_IDS = {
    "16 digits": "1" * 16,
    "21 digits": "1" * 21,
    "above 2^64-1": "18446744073709551616",
    "leading zero": "0" + "1" * 17,
    "letters": "a" * 18,
    "sign": "-" + "1" * 17,
    "full-width digits": "１" * 18,
    "space": "1" * 17 + "%20",
}
"""Ids as in a path, by their fault."""

LISTED = {"bots": BOT, "servers": SERVER}
"""The ids of the listings that `serving` serves. It adds a sample of every other kind."""
SHORT_DRAIN_SECONDS = 0.1
"""`drain_seconds` of a gateway that a test stops while a receiver hangs."""


class Limit(NamedTuple):
    limit: int
    remaining: int
    reset: int


class Served(NamedTuple):
    """A gateway with a moderator, and an approved listing of each kind with a webhook; `key` is the bot's."""

    gateway: ThreadGateway
    key: str

    def stats(self, body: Any, bot: str = BOT) -> Response:
        return self.gateway.stats(self.key, body, bot)

    def voters(self, bot: str = BOT, user: str = USER) -> Response:
        return self.gateway.voters(self.key, bot, user)

    def operate(self, method: str, path: str, body: Any = None) -> Response:
        return self.gateway.operate(method, path, body)

    def digest(self) -> str:
        """Return a digest that is equal for equal states."""
        return self.gateway.digest()

    def token(self, path: str) -> str:
        """Return the credentials that a path needs."""
        return self.key if path.startswith("/bots/") else f"Bearer {self.gateway.operator_token}"

    def send(self, method: str, path: str, body: bytes | Iterator[bytes] = b"") -> Response:
        """Call with credentials. A body in pieces is sent in chunks."""
        return self.gateway.request(method, path, headers={"Authorization": self.token(path)}, data=body)


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """Serve one gateway for all tests that change nothing. It blocks no address after failures."""
    patient = {"limits.failures.requests": 1_000_000, "limits.failures.window_seconds": 300}
    with running(folder, **patient) as gateway:
        gateway.list_server()
        served = Served(gateway, gateway.list_bot())
        for kind in KINDS:
            if kind.plural not in {"bots", "servers"}:
                LISTED[kind.plural] = list_sample(gateway, kind)
            if kind.has("webhook"):
                set_webhook(gateway, "http://127.0.0.1:9/", f"/manage/{kind.plural}/{LISTED[kind.plural]}")
        gateway.done("PUT", f"/manage/users/{USER}/moderator")
        yield served


def sample_submission(gateway: Client, kind: Kind) -> dict[str, Any]:
    """Return the body of a submission of a kind: its sample, with an owner and with files that are there."""
    given = {"id": kind.id.sample} if isinstance(kind.id, Given) else {}
    written = {**msgspec.to_builtins(kind.written(kind.sample))}
    for name, rules in kind.file_rules.items():
        several = isinstance(written[name], list | tuple)
        files = [
            sound(seconds=0.2) if rules.sort == "sound" else picture(size=(40 + number, 40))
            for number, _ in enumerate(written[name] if several else [written[name]] if written[name] else [])
        ]
        digests = [uploaded(gateway, kind, name, file).digest for file in files]
        written[name] = digests if several else next(iter(digests), None)
    return {**given, "owner_id": OWNER, **written}


def uploaded(gateway: Client, kind: Kind, field: str, content: bytes, user: str = OWNER) -> FileRef:
    """Upload a file for a field."""
    path = f"/manage/files?user={user}&kind={kind}&field={field}"
    headers = {"Authorization": f"Bearer {gateway.operator_token}"}
    answer = gateway.session.post(gateway.base_url + path, content, headers=headers, timeout=WAIT_SECONDS)
    assert answer.status_code == 201, answer.text
    return msgspec.convert(answer.json()["file"], FileRef)


def list_sample(gateway: ThreadGateway, kind: Kind) -> str:
    """List a public sample of a kind. Return its id."""
    path = f"/manage/{kind.plural}"
    listed = gateway.done("POST", path, sample_submission(gateway, kind))
    if listed["state"] == "in_review":
        gateway.done("POST", f"{path}/{listed['id']}/approve", {})
    return str(listed["id"])


def filled(template: str, **ids: str) -> str:
    """Return a path with ids: the given ones, or those of `serving`; keys and deliveries are unknown ones."""
    of_kind = [LISTED[kind] for kind in LISTED if f"/{kind}/" in template]
    thing = USER if "/users/" in template else of_kind[0] if of_kind else BOT
    known = {"id": thing, "user_id": USER, "act": "vote"}
    known |= dict.fromkeys(("key_id", "delivery_id", "session_id"), "none")
    return template.format(**{**known, **ids})


def clear_error(response: Response) -> int:
    """Return the status of an error in the common shape. Its body may have more facts."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert body["success"] is False
    assert body["status"] == response.status_code != 500
    assert isinstance(body["error"], str)
    assert body["error"]
    assert body.keys() <= {"success", "error", "status", "code", "fields", "nextVoteAt", "until"}
    assert coded(response).items() <= body.items()
    return response.status_code


def coded(response: Response) -> Mapping[str, str]:
    """Return the code of an error, as its body has it. The public endpoints name none."""
    if re.fullmatch(r"/bots/[^/]+/(stats|voters/[^/]+)/?", urlsplit(response.request.path_url).path):
        assert "code" not in response.json()
        return {}
    code = response.json()["code"]
    assert SAID[code].status == response.status_code
    return {"code": code}


def refusal(response: Response) -> tuple[int, str]:
    """Return status and text of an error that has the common shape and nothing else."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert body == {
        "success": False,
        "error": body["error"],
        "status": response.status_code,
        **coded(response),
    }
    return response.status_code, body["error"]


def wrong_fields(response: Response) -> set[str]:
    """Return the fields that a validation error names."""
    body = response.json()
    assert set(body) == {"success", "error", "status", "code", "fields"}
    assert (body["success"], body["status"], response.status_code) == (False, 400, 400)
    assert body["code"] == "invalid_fields"
    assert all(isinstance(reason, str) and reason for reason in body["fields"].values())
    return {name.partition(".")[0] for name in body["fields"]}


def limit(response: Response) -> Limit:
    """Return the limit headers of an answer, which must have all of them."""
    headers: Mapping[str, str] = response.headers
    named = Limit(*(int(headers[f"ratelimit-{name}"]) for name in Limit._fields))
    assert headers["ratelimit-policy"].startswith(f"{named.limit};w=")
    return named


def set_webhook(gateway: Client, url: str, path: str = BOT_PATH, **fields: Any) -> None:
    gateway.done("PUT", f"{path}/webhook", {"url": url, **fields})


def webhook(gateway: Client, path: str = BOT_PATH) -> Any:
    """Return the webhook as its owner sees it."""
    return gateway.done("GET", f"{path}/webhook")


def deliveries(gateway: Client, path: str = BOT_PATH) -> list[Any]:
    """Return the log of deliveries, newest first."""
    found: list[Any] = gateway.done("GET", f"{path}/webhook/deliveries?limit=500")["deliveries"]
    return found


def attempted(gateway: Client, attempts: int, path: str = BOT_PATH) -> Any:
    """Wait until the newest delivery has had so many attempts. Return it."""

    def newest() -> Any:
        found = deliveries(gateway, path)[0]
        return found if len(found["attempts"]) >= attempts else None

    found = eventually(newest)
    assert len(found["attempts"]) == attempts
    return found


def all_attempted(gateway: Client, attempts: int, path: str = BOT_PATH) -> list[Any]:
    """Wait until each delivery of the log has had so many attempts. Return the log."""

    def log() -> list[Any]:
        found = deliveries(gateway, path)
        return found if all(len(row["attempts"]) == attempts for row in found) else []

    return eventually(log)


def counts(gateway: Client) -> Any:
    return gateway.done("GET", "/debug/overview.json")["counts"]


def pending(gateway: Client) -> int:
    """Return the number of pending webhooks."""
    found: int = counts(gateway)["webhooks_pending"]
    return found


def idle(gateway: Client) -> bool:
    """Return true if no attempt is under way and the outcome of the last one is durable.

    The next attempt then needs an event, or time.
    """
    state = gateway.done("GET", "/debug/overview.json")
    durable: bool = state["positions"]["durable"] == state["positions"]["head"]
    return durable and state["counts"]["webhooks_in_flight"] == 0


def arrive(gateway: Client, receiver: Receiver, count: int) -> None:
    """Wait until the receiver has had so many requests, and no attempt is under way."""
    eventually(lambda: len(receiver.received) == count and idle(gateway))


def caught_up(gateway: ThreadGateway) -> bool:
    """Advance the clock by a second, because waiting webhooks of an endpoint leave at a pace.

    Return true if none is pending.
    """
    gateway.advance(1)
    return pending(gateway) == 0


def users(count: int, first: int = 0) -> list[str]:
    """Return ids of users in ascending order."""
    return [str(700_000_000_000_000_000 + number) for number in range(first, first + count)]


def voters_of(receiver: Receiver) -> list[str]:
    """Return the users of the received webhooks, in the order of arrival."""
    return [json.loads(call.body)["user"] for call in receiver.received]


def endless(receiver: Receiver, size: int) -> Answer:
    """Return an answer 200 whose body stops after `size` bytes and does not end."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        handler.wfile.write(b"x" * size)
        receiver.hang(handler)

    return answer
