"""The OpenAPI document is valid and complete, and agrees with the served routes and the sent webhooks."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

import gateway.serve as composition
from core.rows import Delivery, WebhookEvent
from handlers.reply import JSON
from handlers.route import Resource
from handlers.routes import DOCUMENTS
from kinds.registry import KINDS
from kinds.servers import SERVERS
from openapi.examples import BOT, DELIVERY_ID, NOW_MS, USER
from serving.application import ApplicationPolicy, make_application
from tests.support.gateways import ThreadGateway, running
from tests.support.openapi_lookup import (
    COMPONENTS,
    DOCUMENT,
    OPERATIONS,
    PUBLIC,
    filled,
    found,
    nodes,
    validator,
)
from webhook.messages import payload

WITHOUT_EXAMPLES = {
    ("GET", "/openapi.json"),
    *(("GET", row.path) for row in DOCUMENTS),
    ("GET", "/debug/snapshot"),
    ("GET", "/metrics"),
}


# -- The document itself ----------------------------------------------------------------------------------


def test_it_is_valid_openapi_3_1() -> None:
    OPENAPI_31_VALIDATOR.validate(DOCUMENT)
    assert DOCUMENT["info"]["version"] == "1.1.0"


def test_its_schemas_are_valid_and_its_references_lead_somewhere() -> None:
    for name, schema in COMPONENTS["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        assert validator({"$ref": f"#/components/schemas/{name}"}) is not None
    for node in nodes(DOCUMENT):
        assert found(node) is not None


def test_nothing_in_it_is_left_unused() -> None:
    used = {node["$ref"] for node in nodes(DOCUMENT) if "$ref" in node}
    described = {
        f"#/components/{kind}/{name}"
        for kind, named in COMPONENTS.items()
        if kind != "securitySchemes"
        for name in named
    }
    assert described == used


def test_operations_are_named_once_and_every_tag_is_described() -> None:
    operations = [*OPERATIONS.values(), *(item["post"] for item in DOCUMENT["webhooks"].values())]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert {tag for operation in operations for tag in operation["tags"]} == {
        tag["name"] for tag in DOCUMENT["tags"]
    }


def examples() -> Iterator[tuple[dict[str, Any], Any]]:
    for node in nodes(DOCUMENT):
        if "schema" in node and "example" in node:
            yield node["schema"], node["example"]
        for example in node.get("examples", {}).values() if "schema" in node else ():
            yield node["schema"], found(example)["value"]


def test_every_example_is_valid() -> None:
    for schema, value in examples():
        validator(schema).validate(value)


def test_operations_with_bodies_or_answers_show_examples() -> None:
    for (method, path), operation in OPERATIONS.items():
        holders = [found(response) for response in operation["responses"].values()]
        body = operation.get("requestBody", {}).get("content", {})
        assert body.keys() in ({JSON}, {"application/octet-stream"}, set()), (method, path)
        holders += [operation["requestBody"]] if JSON in body else []
        for holder in holders if (method, path) not in WITHOUT_EXAMPLES else ():
            assert holder["content"][JSON]["examples"], (method, path)
        assert all("example" in found(parameter) for parameter in operation.get("parameters", ()))


# -- The routes -------------------------------------------------------------------------------------------


def test_every_route_is_described_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Resource] = []

    def recording(resources: Sequence[Resource], policy: ApplicationPolicy) -> Any:
        served.extend(resources)
        return make_application(resources, policy)

    monkeypatch.setattr(composition, "make_application", recording)
    with running(tmp_path / "data", **{"debug.pages": False}) as gateway:  # pages have twins, and are none
        assert gateway.request("GET", "/openapi.json").json() == json.loads(json.dumps(DOCUMENT))
    files = ("GET", "/files/{name}")  # it is a page, where there are pages
    assert {(method, route.path) for route in served for method in route.endpoints} == {*OPERATIONS, files}


def test_every_path_lists_its_methods(gateway: ThreadGateway) -> None:
    for path, item in DOCUMENT["paths"].items():
        described = {*map(str.upper, item), "OPTIONS", *(["HEAD"] if "get" in item else [])}
        response = gateway.request("OPTIONS", filled(path))
        assert response.status_code == 204
        assert set(response.headers["allow"].split(", ")) == described


# -- The webhooks -----------------------------------------------------------------------------------------


def described(webhook: str, name: str) -> Any:
    examples = DOCUMENT["webhooks"][webhook]["post"]["requestBody"]["content"][JSON]["examples"]
    return found(examples[name])["value"]


@pytest.mark.parametrize(
    ("name", "ref", "test"),
    [
        ("botVote", f"bots/{BOT}", False),
        ("serverVote", f"servers/{SERVERS.id.sample}", False),
        ("testVote", "", True),
    ],
)
def test_the_webhook_is_described_as_it_is_sent(name: str, ref: str, test: bool) -> None:
    sent = payload(Delivery(DELIVERY_ID, ref, USER, test, 0, 0))
    assert json.loads(sent) == described("vote", name)


LAST = [kind for kind in KINDS if kind.has("webhook")][-1]


@pytest.mark.parametrize(
    ("name", "ref", "user", "kind"),
    [
        ("botApproved", f"bots/{BOT}", "", "review.approved"),
        (f"{LAST.singular}Denied", f"{LAST.plural}/{LAST.id.sample}", "", "review.denied"),
        ("voteStruck", f"bots/{BOT}", USER, "vote.struck"),
    ],
)
def test_other_events_are_described_as_they_are_sent(
    name: str, ref: str, user: str, kind: WebhookEvent
) -> None:
    shown = described("listingEvent", name)
    reason = shown.get("reason")
    sent = payload(Delivery(DELIVERY_ID, ref, user, False, NOW_MS, 0, kind=kind, reason=reason))
    assert json.loads(sent) == shown


def test_every_event_of_an_endpoint_is_described() -> None:
    schema = COMPONENTS["schemas"]["ListingEvent"]
    kinds = {kind for each in schema["oneOf"] for kind in found(each)["properties"]["type"]["enum"]}
    assert kinds == {*get_args(WebhookEvent)} - {"vote"}


# -- What generators of clients make of it ----------------------------------------------------------------


def test_every_answer_of_an_error_is_one_of_two_schemas() -> None:
    """The public endpoints answer without a code. A client has one type for all others."""
    for operation in OPERATIONS.values():
        expected = "Error" if operation in PUBLIC else "Refusal"
        for status, node in operation["responses"].items():
            schema = found(node)["content"][JSON]["schema"] if status >= "400" else None
            assert schema in (None, {"$ref": f"#/components/schemas/{expected}"}), operation["operationId"]
