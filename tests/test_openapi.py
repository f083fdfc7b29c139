"""The OpenAPI document is right: valid, whole, true to what is served, and in the program's own words."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
import pytest
import requests
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

import gateway as composition
from core.refusals import Unavailable
from core.rows import Delivery
from handlers.application import EdgePolicy, make_application
from handlers.docs import page
from handlers.openapi import openapi_document
from handlers.openapi_errors import ERRORS, REQUEST_ID
from handlers.openapi_examples import BOT, DELIVERY_ID, KEY_ID, SERVER, SERVER_COUNT, USER
from handlers.reply import JSON
from handlers.routes import Route
from handlers.vitals import LoopLag
from journal.journal import Journal
from tests.gateway import BOT_SUBMISSION, OTHER_BOT, ThreadGateway, running
from tests.receiver import Receiver, status
from webhook.payloads import payload

DOCUMENT = openapi_document()
COMPONENTS = DOCUMENT["components"]
OPERATIONS: dict[tuple[str, str], Any] = {
    (method.upper(), path): operation
    for path, item in DOCUMENT["paths"].items()
    for method, operation in item.items()
}
WITHOUT_EXAMPLES = {("GET", "/openapi.json"), ("GET", "/docs"), ("GET", "/debug/snapshot")}
IDS = {"{id}": BOT, "{user_id}": USER, "{key_id}": KEY_ID, "{delivery_id}": DELIVERY_ID}


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object within the document."""
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from nodes(child)


def found(node: Any) -> Any:
    """The node, or what it refers to."""
    if "$ref" not in node:
        return node
    _, kind, name = node["$ref"].removeprefix("#/").split("/")
    return COMPONENTS[kind][name]


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": COMPONENTS})


def filled(path: str) -> str:
    """The path of the bot or the server of the examples."""
    for name, value in IDS.items():
        path = path.replace(name, SERVER if name == "{id}" and "/servers/" in path else value)
    return path


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
    outside_of_operations = {"MalformedRequest", "NoSuchPath", "MethodNotAllowed", "HeadersTooLarge"}
    assert described - used == {f"#/components/responses/{name}" for name in outside_of_operations}


def test_operations_are_named_once_and_every_tag_is_described() -> None:
    operations = [*OPERATIONS.values(), DOCUMENT["webhooks"]["vote"]["post"]]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert {tag for operation in operations for tag in operation["tags"]} == {
        tag["name"] for tag in DOCUMENT["tags"]
    }


def examples() -> Iterator[Any]:
    for node in nodes(DOCUMENT):
        if "schema" in node and "example" in node:
            yield pytest.param(node["schema"], node["example"], id=str(node["example"]))
        for name, example in node.get("examples", {}).items() if "schema" in node else ():
            yield pytest.param(node["schema"], found(example)["value"], id=name)


@pytest.mark.parametrize(("schema", "value"), list(examples()))
def test_an_example_is_valid(schema: dict[str, Any], value: Any) -> None:
    validator(schema).validate(value)


def test_operations_with_bodies_or_answers_show_examples() -> None:
    for (method, path), operation in OPERATIONS.items():
        holders = [found(response) for response in operation["responses"].values()]
        holders += [operation["requestBody"]] if "requestBody" in operation else []
        for holder in holders if (method, path) not in WITHOUT_EXAMPLES else ():
            assert holder["content"][JSON]["examples"], (method, path)
        assert all("example" in found(parameter) for parameter in operation.get("parameters", ()))


# -- The routes -------------------------------------------------------------------------------------------


def test_every_route_is_described_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Route] = []

    def recording(routes: Sequence[Route], policy: EdgePolicy) -> Any:
        served.extend(routes)
        return make_application(routes, policy)

    monkeypatch.setattr(composition, "make_application", recording)
    with running(tmp_path / "data") as gateway:
        assert gateway.request("GET", "/openapi.json").json() == json.loads(json.dumps(DOCUMENT))
    assert {(method, route.path) for route in served for method in route.endpoints} == set(OPERATIONS)


def test_every_path_tells_its_methods(gateway: ThreadGateway) -> None:
    for path, item in DOCUMENT["paths"].items():
        described = {*map(str.upper, item), "OPTIONS", *(["HEAD"] if "get" in item else [])}
        response = gateway.request("OPTIONS", filled(path))
        assert response.status_code == 204
        assert set(response.headers["allow"].split(", ")) == described


# -- Its words --------------------------------------------------------------------------------------------


def operation_of(request: requests.PreparedRequest) -> Any:
    """The operation that describes the request, or None."""
    path = urlsplit(request.url or "").path
    for (method, template), operation in OPERATIONS.items():
        if method == request.method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), str(path)):
            return operation
    return None


def expect(name: str, response: requests.Response) -> None:
    """The answer is the documented error, and its operation is described to give it."""
    reply = ERRORS[name].reply
    assert (response.status_code, response.json()) == (reply.status, json.loads(reply.body))
    assert {header.lower() for header in reply.headers} <= {header.lower() for header in response.headers}
    operation = operation_of(response.request)
    if operation is not None:
        described = found(operation["responses"][str(reply.status)])
        assert name in described["content"][JSON]["examples"]


@pytest.fixture
def key(gateway: ThreadGateway, receiver: Receiver) -> str:
    """The key of the examples' bot, which is approved and has a webhook, as their server has."""
    key = gateway.list_bot(BOT, SERVER_COUNT)
    gateway.list_server(SERVER)
    for one in (f"/manage/bots/{BOT}", f"/manage/servers/{SERVER}"):
        gateway.done("PUT", f"{one}/webhook", {"url": receiver.url})
    return key


@pytest.mark.usefixtures("key")
def test_all_operators_endpoints_refuse_in_the_documented_words(gateway: ThreadGateway) -> None:
    """No token, a wrong one, a listing that is unknown, a body that breaks a rule."""
    bodies = {"notJson": b"{", "notAnObject": b"[]", "doubledField": b'{"a": 1, "a": 2}'}
    for (method, path), operation in OPERATIONS.items():
        if operation["security"] != [{"operator": []}]:
            continue
        expect("operatorTokenRequired", gateway.request(method, filled(path)))
        headers = {"Authorization": "Bearer wrong"}
        expect("invalidOperatorToken", gateway.request(method, filled(path), headers=headers))
        headers = {"Authorization": f"Bearer {gateway.operator_token}"}
        if "/{id}" in path and "/users/" not in path:
            unknown = filled(path).replace(BOT, USER).replace(SERVER, USER)
            expect("noSuchListing", gateway.request(method, unknown, headers=headers))
        if "requestBody" in operation:
            for name, body in {**bodies, "bodyTooLarge": b" " * 65_537}.items():
                expect(name, gateway.request(method, filled(path), headers=headers, data=body))


ONE, NEW = f"/manage/bots/{BOT}", f"/manage/bots/{OTHER_BOT}"


def new(gateway: ThreadGateway) -> ThreadGateway:
    """Submits another bot, which nobody reviews."""
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT})
    return gateway


def redelivered(gateway: ThreadGateway, receiver: Receiver) -> requests.Response:
    receiver.default = status(500)
    delivery = gateway.done("POST", f"{ONE}/webhook/test", {"user": USER})["id"]
    return gateway.operate("POST", f"{ONE}/webhook/deliveries/{delivery}/redeliver")


def flooded(gateway: ThreadGateway, receiver: Receiver) -> requests.Response:
    receiver.default = status(500)
    return [gateway.operate("POST", f"{ONE}/webhook/test", {"user": USER}) for _ in range(6)][-1]


def unsigned(gateway: ThreadGateway) -> requests.Response:
    url = "https://discord.com/api/webhooks/723456789012345678/a-secret"
    gateway.done("PUT", f"{ONE}/webhook", {"url": url})
    return gateway.operate("POST", f"{ONE}/webhook/secret/rotate")


def removed_webhook(gateway: ThreadGateway) -> requests.Response:
    gateway.done("DELETE", f"{ONE}/webhook")
    return gateway.operate("GET", f"{ONE}/webhook")


Ask = Callable[[ThreadGateway, str, Receiver], requests.Response]
ASKED: dict[str, Ask] = {
    "noCountGiven": lambda g, key, _: g.stats(key, {}, BOT),
    "serverCountOutOfRange": lambda g, key, _: g.stats(key, {"server_count": 10_000_001}, BOT),
    "commandCountOutOfRange": lambda g, key, _: g.stats(key, {"command_count": "1"}, BOT),
    "serverCountTooFarOff": lambda g, key, _: g.stats(key, {"server_count": 5_000}, BOT),
    "authorizationRequired": lambda g, *_: g.voters(None, BOT),
    "invalidKey": lambda g, *_: g.voters("wrong", BOT),
    "botNotFound": lambda g, key, _: g.voters(key, USER),
    "tooManyRequests": lambda g, key, _: [g.stats(key, {"command_count": 1}, BOT) for _ in "123"][-1],
    "countUnknown": lambda g, *_: g.stats(g.list_bot(OTHER_BOT, None), {"server_count": 1}, OTHER_BOT),
    "malformedUser": lambda g, key, _: g.voters(key, BOT, "1"),
    "invalidFields": lambda g, *_: g.operate(
        "PUT", ONE, {"owner_id": "123", "name": "", "categories": ["Utility"]}
    ),
    "invalidId": lambda g, *_: g.operate("DELETE", "/manage/users/1"),
    "invalidQuery": lambda g, *_: g.operate("GET", "/manage/servers?limit=0"),
    "noSuchKey": lambda g, *_: g.operate("DELETE", f"{ONE}/keys/{KEY_ID}"),
    "noSuchWebhook": lambda g, *_: removed_webhook(g),
    "noSuchDelivery": lambda g, *_: g.operate("POST", f"{ONE}/webhook/deliveries/{DELIVERY_ID}/redeliver"),
    "listingExists": lambda g, *_: new(g).operate("POST", "/manage/bots", {**BOT_SUBMISSION, "id": BOT}),
    "notInReview": lambda g, *_: g.operate("POST", f"{ONE}/approve"),
    "keysNeedApproval": lambda g, *_: new(g).operate("POST", f"{NEW}/keys", {"name": "early"}),
    "tooManyKeys": lambda g, *_: [g.operate("POST", f"{ONE}/keys", {"name": "one"}) for _ in range(25)][-1],
    "votesNeedApproval": lambda g, *_: new(g).operate("POST", f"{NEW}/votes", {"user": USER}),
    "votedTooSoon": lambda g, *_: [g.operate("POST", f"{ONE}/votes", {"user": USER}) for _ in "12"][-1],
    "deliveryPending": lambda g, _, receiver: redelivered(g, receiver),
    "notSigned": lambda g, *_: unsigned(g),
    "tooManyTests": lambda g, _, receiver: flooded(g, receiver),
    "noSuchPath": lambda g, *_: g.request("GET", "/nowhere"),
    "methodNotAllowed": lambda g, *_: g.request("DELETE", "/healthz"),
}
ELSEWHERE = {
    "tooManyPending",
    *("operatorTokenRequired", "invalidOperatorToken", "noSuchListing"),
    *("notJson", "notAnObject", "doubledField", "bodyTooLarge"),
    *("bug", "unavailable", "notReady", "malformedRequest", "headersTooLarge"),
}


@pytest.mark.parametrize("name", sorted(ERRORS.keys() - ELSEWHERE))
def test_a_refusal_is_in_the_documented_words(
    name: str, gateway: ThreadGateway, key: str, receiver: Receiver
) -> None:
    expect(name, ASKED[name](gateway, key, receiver))


def test_a_line_that_is_full_is_told_in_the_documented_words(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path / "data", **{"webhooks.pending_per_endpoint": 1}) as gateway:
        gateway.list_bot(BOT)
        gateway.done("PUT", f"{ONE}/webhook", {"url": receiver.url})
        delivered = gateway.done("POST", f"{ONE}/webhook/test", {"user": USER})["id"]
        receiver.default = status(500)
        gateway.cast(path=ONE)
        expect("tooManyPending", gateway.operate("POST", f"{ONE}/webhook/deliveries/{delivered}/redeliver"))


def test_troubles_of_ours_are_told_in_the_documented_words(
    gateway: ThreadGateway, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise Unavailable("the disk does not keep up")

    with monkeypatch.context() as broken:
        broken.setattr(Journal, "append", full)
        expect("unavailable", gateway.stats(key, {"command_count": 1}, BOT))
        expect("unavailable", gateway.operate("DELETE", ONE))
        broken.setattr(Journal, "writable", False)
        expect("notReady", gateway.request("GET", "/readyz"))
        broken.delattr(LoopLag, "last_ms")
        bug = gateway.operate("GET", "/debug/state")
        told = ERRORS["bug"].reply.body.decode().replace(REQUEST_ID, bug.headers["x-request-id"])
        assert (bug.status_code, bug.json()) == (500, json.loads(told))


def test_what_is_not_http_is_refused_in_the_documented_words(gateway: ThreadGateway) -> None:
    asked = {"malformedRequest": b"?\r\n\r\n", "headersTooLarge": b"GET / HTTP/1.1\r\na: " + b"a" * 20_000}
    for name, sent in asked.items():
        head, _, body = gateway.raw(sent).partition(b"\r\n\r\n")
        reply = ERRORS[name].reply
        assert head.startswith(f"HTTP/1.1 {reply.status} ".encode())
        assert body == reply.body


# -- The webhook ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "ref", "test"),
    [("botVote", f"bots/{BOT}", False), ("serverVote", f"servers/{SERVER}", False), ("testVote", "", True)],
)
def test_the_webhook_is_described_as_it_is_sent(name: str, ref: str, test: bool) -> None:
    described = found(DOCUMENT["webhooks"]["vote"]["post"]["requestBody"]["content"][JSON]["examples"][name])
    assert json.loads(payload(Delivery(DELIVERY_ID, ref, USER, test, 0, 0))) == described["value"]


# -- The page ---------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Open and closed elements match; what they say, name and point at is kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.open += [tag] if tag != "meta" else []
        for name, value in attrs:
            self.ids += [value or ""] if name == "id" else []
            self.links |= {value or ""} if name in {"href", "src", "action"} else set()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_needs_nothing_else(gateway: ThreadGateway) -> None:
    response = gateway.request("GET", "/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    shown = Page(response.text)
    assert not shown.open
    assert len(set(shown.ids)) == len(shown.ids)
    assert shown.links - {"openapi.json"} <= {f"#{name}" for name in shown.ids}
    assert not shown.seen & {"script", "link", "img", "iframe", "form"}
    for (method, path), operation in OPERATIONS.items():
        assert f"{method} {path}" in shown.text
        assert operation["summary"] in shown.text
        assert operation["operationId"] in shown.ids


def test_text_is_never_markup_on_the_page() -> None:
    evil = "<script>alert(1)</script>&\"'"
    text = json.dumps(DOCUMENT).replace("Votegate is", json.dumps(evil)[1:-1]).replace("Example bot", "<b>&")
    shown = Page(page(json.loads(text)))
    assert "script" not in shown.seen
    assert "b" not in shown.seen
    assert evil in shown.text


def test_the_page_refuses_in_json(gateway: ThreadGateway) -> None:
    response = gateway.request("POST", "/docs")
    assert (response.status_code, response.json()["error"]) == (405, "Method not allowed.")
