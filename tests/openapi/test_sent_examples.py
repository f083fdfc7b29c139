"""Every example of a request in the document is answered as it says, whenever a reader sends it."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from core.actors import user_actor
from core.events import DeliveryAttempted, DeliveryQueued, Event, ListingReported, ListingSaved, QuarantineSet
from core.rows import Suspension, Webhook
from core.user_rows import user_ref
from handlers.reply import JSON
from kinds.kind import Kind
from kinds.registry import KINDS
from openapi.examples import BODIES, FAR_MS, NOW_MS, OWNER, QUARANTINE, USER
from tests.support.described_rows import KEY
from tests.support.described_world import described, world
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.media_files import picture
from tests.support.openapi_lookup import ERRORS, OPERATIONS, errors_of, filled, found, validator
from tests.support.slots_set import webhook_saved
from tests.support.webhook_receiver import Receiver, receiving

FILE = "application/octet-stream"
YEARS_SECONDS = 10 * 365 * 86_400
"""The document is read long after it was written."""
REFUSED = {
    "listVotes": "placeLost",  # a cursor is a place in the journal of one gateway
    "restartWorkers": "noWorkers",
    **{f"{act}{kind.title}Change": "otherVersion" for kind in KINDS for act in ("agreeTo", "refuse")},
}
"""Requests whose examples are refused here. The version of a change depends on its content."""


class Sent(NamedTuple):
    """A request of the document: an operation, and the name of the example that is its body."""

    method: str
    path: str
    example: str
    body: Any

    def __str__(self) -> str:
        return f"{OPERATIONS[self.method, self.path]['operationId']} {self.example}".strip()


def requests() -> Iterator[Sent]:
    for (method, path), operation in OPERATIONS.items():
        content = operation.get("requestBody", {}).get("content", {})
        examples = content[JSON]["examples"] if JSON in content else {"": {"value": None}}
        for name, example in examples.items():
            yield Sent(method, path, name, found(example)["value"])


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    with described(tmp_path_factory.mktemp("examples") / "data") as gateway:
        gateway.set_wall(YEARS_SECONDS)
        yield gateway


def prepared(operation_id: str, url: str, refs: Iterable[str]) -> list[Event]:
    """Returns the events of the world in which an example succeeds."""
    events: list[Event] = [
        replace(event, owner_id=OWNER) if isinstance(event, ListingSaved) else event
        for event in world(operation_id, url, refs)
    ]
    listed = [event.ref for event in events if isinstance(event, ListingSaved)]
    if operation_id.startswith("settle"):
        events += [ListingReported(ref, "other", "", NOW_MS, by=user_actor(USER)) for ref in listed]
    if operation_id.startswith(("resume", "probe")):
        webhook = Webhook(url, NOW_MS, suspension=Suspension(NOW_MS, "timeout", 1, FAR_MS))
        events = [event for event in events if not isinstance(event, DeliveryQueued | DeliveryAttempted)]
        events += [webhook_saved(ref, webhook, at_ms=1) for ref in listed]
    if operation_id.startswith("probe"):
        for number, ref in enumerate(listed):
            events.append(DeliveryQueued(f"{number:024x}", ref, USER, test=False, at_ms=NOW_MS))
    if operation_id.startswith(("like", "rate")):
        events.append(QuarantineSet(user_ref(USER), replace(QUARANTINE, until_ms=NOW_MS), NOW_MS))
    return events


def edit(gateway: ThreadGateway, path: str, kind: Kind) -> None:
    """Edit the approved listing of a path, so that a change waits for a decision."""
    ((_, example),) = BODIES[f"{kind.title}Edit"].items()
    text = next(name for name in ("description", "bio", "name") if name in example.value)
    gateway.done("PUT", path, {**example.value, text: f"{example.value[text]}_new"})


@pytest.mark.parametrize("sent", [*requests()], ids=str)
def test_every_example_is_answered_as_the_document_says(
    sent: Sent, gateway: ThreadGateway, receiver: Receiver
) -> None:
    operation = OPERATIONS[sent.method, sent.path]
    ledger, name = gateway.gateway.ledger, operation["operationId"]
    events = prepared(name, receiver.url, ledger.state.listings.refs)
    gateway.on_loop(lambda: ledger.commit(events))
    path = filled(sent.path)
    for kind in KINDS:
        if name.endswith(f"{kind.title}Change"):
            edit(gateway, path.partition("/change")[0], kind)
    query = {
        parameter["name"]: parameter["example"]
        for parameter in map(found, operation.get("parameters", ()))
        if parameter["in"] == "query"
    }
    headers = {"Authorization": KEY if operation["tags"] == ["Public"] else f"Bearer {OPERATOR_TOKEN}"}
    takes_file = FILE in operation.get("requestBody", {}).get("content", {})
    given: dict[str, Any] = {"data": picture()} if takes_file else {"json": sent.body}

    answer = gateway.request(sent.method, path, headers=headers, params=query, **given)

    if name in REFUSED:
        reply = ERRORS[REFUSED[name]].reply
        assert (answer.status_code, answer.json()) == (reply.status, json.loads(reply.body))
        assert REFUSED[name] in errors_of(operation)
        return
    status, described = next(iter(operation["responses"].items()))
    assert answer.status_code == int(status), answer.text
    content = described["content"][answer.headers["content-type"].partition(";")[0]]
    if "examples" in content:
        validator(content["schema"]).validate(answer.json())
        shown = [found(example)["value"].keys() for example in content["examples"].values()]
        assert answer.json().keys() in shown
