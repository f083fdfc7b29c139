"""The texts of the contract, a gateway that keeps it, and what tests ask of one."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple

from requests import Response

from tests.support.gateways import BOT, SERVER, USER, Client, ThreadGateway, eventually, running
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
"""As they stand in a path, by what is wrong with them."""

SHORT_DRAIN_SECONDS = 0.1
"""The settings of a gateway that a test stops while a receiver hangs."""


class Limit(NamedTuple):
    limit: int
    remaining: int
    reset: int


class Served(NamedTuple):
    """A gateway with an approved bot, its key, an approved server and a moderator; both listings have
    webhooks."""

    gateway: ThreadGateway
    key: str

    def stats(self, body: Any, bot: str = BOT) -> Response:
        return self.gateway.stats(self.key, body, bot)

    def voters(self, bot: str = BOT, user: str = USER) -> Response:
        return self.gateway.voters(self.key, bot, user)

    def operate(self, method: str, path: str, body: Any = None) -> Response:
        return self.gateway.operate(method, path, body)

    def digest(self) -> str:
        """Equal for equal states."""
        return self.gateway.digest()

    def token(self, path: str) -> str:
        """The credentials that a path asks for."""
        return self.key if path.startswith("/bots/") else f"Bearer {self.gateway.operator_token}"

    def send(self, method: str, path: str, body: bytes | Iterator[bytes] = b"") -> Response:
        """A call with credentials; a body in pieces is sent in chunks."""
        return self.gateway.request(method, path, headers={"Authorization": self.token(path)}, data=body)


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """For tests that change nothing: one gateway for all of them, which shuts no address out."""
    patient = {"limits.failures.requests": 1_000_000, "limits.failures.window_seconds": 300}
    with running(folder, **patient) as gateway:
        gateway.list_server()
        served = Served(gateway, gateway.list_bot())
        for path in (BOT_PATH, f"/manage/servers/{SERVER}"):
            set_webhook(gateway, "http://127.0.0.1:9/", path)
        gateway.done("PUT", f"/manage/users/{USER}/moderator")
        yield served


def filled(template: str, **ids: str) -> str:
    """The path with ids in it: given ones, or those of what `serving` serves and of an unknown key."""
    thing = SERVER if "/servers/" in template else USER if "/users/" in template else BOT
    known = {"id": thing, "user_id": USER, "act": "vote"}
    known |= dict.fromkeys(("key_id", "delivery_id", "session_id"), "none")
    return template.format(**{**known, **ids})


def clear_error(response: Response) -> int:
    """The status of an error in the common shape, whatever else its body tells."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert body["success"] is False
    assert body["status"] == response.status_code != 500
    assert isinstance(body["error"], str)
    assert body["error"]
    assert body.keys() <= {"success", "error", "status", "fields", "nextVoteAt", "until"}
    return response.status_code


def refusal(response: Response) -> tuple[int, str]:
    """Status and text of an error that has the common shape and nothing else."""
    body = response.json()
    assert response.headers["content-type"] == "application/json"
    assert body == {"success": False, "error": body["error"], "status": response.status_code}
    return response.status_code, body["error"]


def wrong_fields(response: Response) -> set[str]:
    """The fields that a validation error names."""
    body = response.json()
    assert set(body) == {"success", "error", "status", "fields"}
    assert (body["success"], body["status"], response.status_code) == (False, 400, 400)
    assert all(isinstance(reason, str) and reason for reason in body["fields"].values())
    return {name.partition(".")[0] for name in body["fields"]}


def limit(response: Response) -> Limit:
    """The limit headers of an answer; each of them must be there."""
    headers: Mapping[str, str] = response.headers
    named = Limit(*(int(headers[f"ratelimit-{name}"]) for name in Limit._fields))
    assert headers["ratelimit-policy"].startswith(f"{named.limit};w=")
    return named


def set_webhook(gateway: ThreadGateway, url: str, path: str = BOT_PATH, **fields: Any) -> None:
    gateway.done("PUT", f"{path}/webhook", {"url": url, **fields})


def webhook(gateway: Client, path: str = BOT_PATH) -> Any:
    """The webhook as its owner sees it."""
    return gateway.done("GET", f"{path}/webhook")


def deliveries(gateway: Client, path: str = BOT_PATH) -> list[Any]:
    """The log, newest first."""
    found: list[Any] = gateway.done("GET", f"{path}/webhook/deliveries?limit=500")["deliveries"]
    return found


def attempted(gateway: Client, attempts: int, path: str = BOT_PATH) -> Any:
    """The newest delivery, once it has had so many attempts."""

    def newest() -> Any:
        found = deliveries(gateway, path)[0]
        return found if len(found["attempts"]) >= attempts else None

    found = eventually(newest)
    assert len(found["attempts"]) == attempts
    return found


def all_attempted(gateway: Client, attempts: int, path: str = BOT_PATH) -> list[Any]:
    """The log, once each delivery in it has had so many attempts."""

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
    """Whether no attempt is under way and what came of the last one is durable: time or an event must come
    before there is another."""
    state = gateway.done("GET", "/debug/overview.json")
    durable: bool = state["positions"]["durable"] == state["positions"]["head"]
    return durable and state["counts"]["webhooks_in_flight"] == 0


def arrive(gateway: Client, receiver: Receiver, count: int) -> None:
    """Waits until the receiver has had so many requests, and nothing is under way."""
    eventually(lambda: len(receiver.received) == count and idle(gateway))


def caught_up(gateway: ThreadGateway) -> bool:
    """Whether nothing waits any more. Lets time pass: what was held back for an endpoint leaves at a pace."""
    gateway.advance(1)
    return pending(gateway) == 0


def users(count: int, first: int = 0) -> list[str]:
    """Ids in an order of their own."""
    return [str(700_000_000_000_000_000 + number) for number in range(first, first + count)]


def voters_of(receiver: Receiver) -> list[str]:
    """Whose votes the receiver was told of, in the order in which it was."""
    return [json.loads(call.body)["user"] for call in receiver.received]


def endless(receiver: Receiver, size: int) -> Answer:
    """A 200 whose body stops after `size` bytes without ending."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        handler.wfile.write(b"x" * size)
        receiver.hang(handler)

    return answer
