"""Every example of a request in the document is answered as it says, whenever a reader sends it."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from handlers.reply import JSON
from tests.support.described_rows import KEY
from tests.support.described_world import REFUSED, described, prepare
from tests.support.gateways import OPERATOR_TOKEN, ThreadGateway
from tests.support.media_files import picture
from tests.support.openapi_lookup import ERRORS, OPERATIONS, errors_of, filled, found, validator
from tests.support.webhook_receiver import Receiver, receiving

FILE = "application/octet-stream"
YEARS_SECONDS = 10 * 365 * 86_400
"""The document is read long after it was written."""


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


@pytest.mark.parametrize("sent", [*requests()], ids=str)
def test_every_example_is_answered_as_the_document_says(
    sent: Sent, gateway: ThreadGateway, receiver: Receiver
) -> None:
    operation = OPERATIONS[sent.method, sent.path]
    name, path = operation["operationId"], filled(sent.path)
    prepare(gateway, name, path, receiver.url)
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
