"""The refusals in the OpenAPI document have the texts that the program answers."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests

from core.failures import Unavailable
from handlers.reply import JSON
from journal.journal import Journal
from kinds.registry import KINDS
from kinds.servers import SERVERS
from kinds.themes import THEMES
from openapi.errors import REQUEST_ID
from openapi.examples import BOT, DELIVERY_ID, KEY_ID, QUARANTINE, SERVER_COUNT, SESSION_ID, USER
from serving.timeline import LoopLag
from tests.support.contract import sample_submission
from tests.support.gateways import BOT_SUBMISSION, OTHER_BOT, ThreadGateway, eventually, running
from tests.support.made_listings import MADE_IDS, list_made
from tests.support.media_files import picture
from tests.support.openapi_lookup import ERRORS, OPERATIONS, PUBLIC, filled, found
from tests.support.webhook_receiver import Receiver, status


def operation_of(request: requests.PreparedRequest) -> Any:
    """Return the operation that describes the request, or None."""
    path = urlsplit(request.url or "").path
    for (method, template), operation in OPERATIONS.items():
        if method == request.method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), str(path)):
            return operation
    return None


def expect(name: str, response: requests.Response) -> None:
    """Check that the answer is the documented error, and that its operation lists it."""
    operation = operation_of(response.request)
    error = ERRORS[name].public if operation in PUBLIC else ERRORS[name]
    reply = error.reply
    assert (response.status_code, response.json()) == (reply.status, json.loads(reply.body))
    assert {header.lower() for header in reply.headers} <= {header.lower() for header in response.headers}
    if operation is not None:
        described = found(operation["responses"][str(reply.status)])
        assert error.name in described["content"][JSON]["examples"]


FILE = "application/octet-stream"
CUT = picture()[:200]
UPLOAD = {"user": USER, "kind": "bots", "field": "banner"}
"""The query of an upload; other operations that take a body have none."""


@pytest.fixture
def key(gateway: ThreadGateway, receiver: Receiver) -> str:
    """List the listings of the examples, with webhooks. Return a key of the bot."""
    key = gateway.list_bot(BOT, SERVER_COUNT)
    gateway.list_server(SERVERS.id.sample)
    list_made(gateway, is_approved=True)
    for kind in KINDS:
        if kind.has("webhook"):
            gateway.done("PUT", f"/manage/{kind.ref(kind.id.sample)}/webhook", {"url": receiver.url})
    return key


@pytest.mark.usefixtures("key")
def test_all_operators_endpoints_refuse_in_the_documented_words(gateway: ThreadGateway) -> None:
    """Try no token, a wrong one, an unknown listing, and bodies that break a rule."""
    bodies = {"notJson": b"{", "notAnObject": b"[]", "doubledField": b'{"a": 1, "a": 2}'}
    for (method, path), operation in OPERATIONS.items():
        if operation["security"] != [{"operator": []}]:
            continue
        gateway.clock.advance(10)  # so that the address is not refused for its many failures
        expect("operatorTokenRequired", gateway.request(method, filled(path)))
        headers = {"Authorization": "Bearer wrong"}
        expect("invalidOperatorToken", gateway.request(method, filled(path), headers=headers))
        headers = {"Authorization": f"Bearer {gateway.operator_token}"}
        if "/{id}" in path and "/users/" not in path:
            unknown = filled(path)
            for known in (BOT, SERVERS.id.sample, *MADE_IDS.values()):
                unknown = unknown.replace(known, OTHER_BOT)
            expect("noSuchListing", gateway.request(method, unknown, headers=headers))
        taken = operation.get("requestBody", {"content": {}})["content"]
        refused = {**bodies, "bodyTooLarge": b" " * 65_537} if JSON in taken else {}
        if FILE in taken:
            refused = {"uploadTooLarge": bytes(gateway.settings.files.upload_bytes + 1), "invalidFile": CUT}
        for name, body in refused.items():
            expect(name, gateway.request(method, filled(path), headers=headers, data=body, params=UPLOAD))


EDIT = {name: value for name, value in BOT_SUBMISSION.items() if name not in {"id", "extra_owners"}}
ONE, NEW, WHO = f"/manage/bots/{BOT}", f"/manage/bots/{OTHER_BOT}", f"/manage/users/{USER}"


def new(gateway: ThreadGateway) -> ThreadGateway:
    """Submit another bot, which nobody reviews."""
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": OTHER_BOT})
    return gateway


def invited(gateway: ThreadGateway, count: int) -> requests.Response:
    """Invite so many users. Return the last answer."""
    users = [str(10**17 + number) for number in range(count)]
    return [gateway.operate("PUT", f"{ONE}/extra-owners/{user}", {}) for user in users][-1]


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


def without_session(gateway: ThreadGateway) -> requests.Response:
    gateway.done("PUT", f"{WHO}/moderator")
    return gateway.operate("DELETE", f"{WHO}/sessions/{SESSION_ID}")


def quarantined(gateway: ThreadGateway) -> requests.Response:
    terms = {"reason": QUARANTINE.reason, "until": QUARANTINE.until_ms}
    gateway.done("PUT", f"{WHO}/quarantines/vote", terms)
    return gateway.operate("POST", f"{ONE}/votes", {"user": USER})


def submitted_theme(gateway: ThreadGateway) -> str:
    theme = {**sample_submission(gateway, THEMES), "primary": "#000000"}
    return f"/manage/themes/{gateway.done('POST', '/manage/themes', theme)['id']}"


def struck_like(gateway: ThreadGateway) -> requests.Response:
    """Give a like half a day ago, and strike it out now."""
    here = f"/manage/themes/{THEMES.id.sample}"
    gateway.done("PUT", f"{here}/likes/{USER}")
    gateway.clock.advance(43_200)
    gateway.done("POST", f"{here}/votes/strike", {"users": [USER], "reason": "Bought."})
    return gateway.operate("PUT", f"{here}/likes/{USER}")


REVIEW = {"stars": 4, "text": "It counts well, and its owner helps."}
REVIEWED = f"{ONE}/ratings/{USER}"


def reviewed(gateway: ThreadGateway, count: int) -> requests.Response:
    """Vote for so many bots and review them. Return the last answer."""
    for bot in (str(int(OTHER_BOT) + number) for number in range(count)):
        gateway.list_bot(bot)
        gateway.done("POST", f"/manage/bots/{bot}/votes", {"user": USER})
        last = gateway.operate("PUT", f"/manage/bots/{bot}/ratings/{USER}", REVIEW)
    return last


def reported(gateway: ThreadGateway, count: int) -> requests.Response:
    """Report so many reviews of a bot. Return the last answer."""
    for user in (str(int(USER) + number) for number in range(count)):
        gateway.done("POST", f"{ONE}/votes", {"user": user})
        gateway.done("PUT", f"{ONE}/ratings/{user}", REVIEW)
        report = {"user": BOT_SUBMISSION["owner_id"], "reason": "breaks_rules"}
        last = gateway.operate("POST", f"{ONE}/ratings/{user}/reports", report)
    return last


def removed_review(gateway: ThreadGateway) -> requests.Response:
    gateway.done("POST", f"{ONE}/votes", {"user": USER})
    gateway.done("PUT", REVIEWED, REVIEW)
    gateway.done("POST", f"{REVIEWED}/remove", {"reason": "It insults."})
    return gateway.operate("PUT", REVIEWED, REVIEW)


def renamed(gateway: ThreadGateway, name: str) -> requests.Response:
    return gateway.operate("PUT", ONE, {**EDIT, "name": name})


def edit_of_the_quarantined(gateway: ThreadGateway) -> requests.Response:
    terms = {"reason": "You submitted malware.", "until": QUARANTINE.until_ms}
    gateway.done("PUT", f"/manage/users/{EDIT['owner_id']}/quarantines/submit", terms)
    return renamed(gateway, "Renamed")


def outdated(gateway: ThreadGateway) -> requests.Response:
    renamed(gateway, "Renamed")
    return gateway.operate("POST", f"{ONE}/change/agree", {"version": "0" * 16})


Ask = Callable[[ThreadGateway, str, Receiver], requests.Response]
ASKED: dict[str, Ask] = {
    "noCountGiven": lambda g, key, _: g.stats(key, {}, BOT),
    "serverCountOutOfRange": lambda g, key, _: g.stats(key, {"server_count": 10_000_001}, BOT),
    "commandCountOutOfRange": lambda g, key, _: g.stats(key, {"command_count": "1"}, BOT),
    "serverCountTooFarOff": lambda g, key, _: g.stats(key, {"server_count": 5_000}, BOT),
    "authorizationRequired": lambda g, *_: g.voters(None, BOT),
    "invalidKey": lambda g, *_: g.voters("wrong", BOT),
    "keyWithScheme": lambda g, key, _: g.voters(f"Bearer {key}", BOT),
    "botNotFound": lambda g, key, _: g.voters(key, USER),
    "tooManyRequests": lambda g, key, _: [g.stats(key, {"command_count": 1}, BOT) for _ in "123"][-1],
    "countUnknown": lambda g, *_: g.stats(g.list_bot(OTHER_BOT, None), {"server_count": 1}, OTHER_BOT),
    "malformedUser": lambda g, key, _: g.voters(key, BOT, "1"),
    "invalidFields": lambda g, *_: g.operate(
        "PUT", ONE, {"owner_id": "123", "name": "", "categories": ["Utility"]}
    ),
    "invalidId": lambda g, *_: g.operate("DELETE", "/manage/users/1"),
    "invalidAct": lambda g, *_: g.operate("DELETE", f"{WHO}/quarantines/sleep"),
    "invalidQuery": lambda g, *_: g.operate("GET", "/manage/servers?limit=0"),
    "noSuchKey": lambda g, *_: g.operate("DELETE", f"{ONE}/keys/{KEY_ID}"),
    "noSuchWebhook": lambda g, *_: removed_webhook(g),
    "noSuchDelivery": lambda g, *_: g.operate("POST", f"{ONE}/webhook/deliveries/{DELIVERY_ID}/redeliver"),
    "noSuchUser": lambda g, *_: g.operate("GET", WHO),
    "noSuchSession": lambda g, *_: without_session(g),
    "noSuchQuarantine": lambda g, *_: g.operate("DELETE", f"{WHO}/quarantines/vote"),
    "noInvitation": lambda g, *_: g.operate("POST", f"{ONE}/extra-owners/{USER}/accept", {}),
    "noExtraOwner": lambda g, *_: g.operate("DELETE", f"{ONE}/extra-owners/{USER}"),
    "noHandOver": lambda g, *_: g.operate("DELETE", f"{ONE}/hand-over"),
    "ownsAlready": lambda g, *_: g.operate("PUT", f"{ONE}/hand-over", {"heir": BOT_SUBMISSION["owner_id"]}),
    "tooManyOwners": lambda g, *_: invited(g, 5),
    "listingExists": lambda g, *_: new(g).operate("POST", "/manage/bots", {**BOT_SUBMISSION, "id": BOT}),
    "notInReview": lambda g, *_: g.operate("POST", f"{ONE}/approve"),
    "isApproved": lambda g, *_: g.operate("POST", f"{ONE}/deny", {"reason": "No."}),
    "notApproved": lambda g, *_: new(g).operate("POST", f"{NEW}/withdraw", {"reason": "No."}),
    "noChange": lambda g, *_: g.operate("POST", f"{ONE}/change/agree", {"version": "0" * 16}),
    "otherVersion": lambda g, *_: outdated(g),
    "ownerQuarantined": lambda g, *_: edit_of_the_quarantined(g),
    "keysNeedApproval": lambda g, *_: new(g).operate("POST", f"{NEW}/keys", {"name": "early"}),
    "tooManyKeys": lambda g, *_: [g.operate("POST", f"{ONE}/keys", {"name": "one"}) for _ in range(25)][-1],
    "tooManyWaiting": lambda g, *_: [
        g.operate("POST", "/manage/themes", {**sample_submission(g, THEMES), "primary": colour})
        for colour in ("#010101", "#020202")
    ][-1],
    "notPublic": lambda g, *_: new(g).operate(
        "POST", f"{NEW}/reports", {"user": USER, "reason": "breaks_rules"}
    ),
    "noReports": lambda g, *_: g.operate("POST", f"{ONE}/reports/settle", {}),
    "votesNeedApproval": lambda g, *_: new(g).operate("POST", f"{NEW}/votes", {"user": USER}),
    "votedTooSoon": lambda g, *_: [g.operate("POST", f"{ONE}/votes", {"user": USER}) for _ in "12"][-1],
    "likesNeedApproval": lambda g, *_: g.operate("PUT", f"{submitted_theme(g)}/likes/{USER}"),
    "likedTooSoon": lambda g, *_: struck_like(g),
    "ratingsNeedApproval": lambda g, *_: new(g).operate("PUT", f"{NEW}/ratings/{USER}", REVIEW),
    "ratesOwn": lambda g, *_: g.operate("PUT", f"{ONE}/ratings/{BOT_SUBMISSION['owner_id']}", REVIEW),
    "hasNotVoted": lambda g, *_: g.operate("PUT", REVIEWED, REVIEW),
    "tooManyRatings": lambda g, *_: reviewed(g, 101),
    "ratingWasRemoved": lambda g, *_: removed_review(g),
    "noSuchRating": lambda g, *_: g.operate("POST", f"{REVIEWED}/remove", {"reason": "It insults."}),
    "tooManyReports": lambda g, *_: reported(g, 11),
    "quarantined": lambda g, *_: quarantined(g),
    "deliveryPending": lambda g, _, receiver: redelivered(g, receiver),
    "placeLost": lambda g, *_: g.operate("GET", "/manage/votes?after=1-0-00000000"),
    "noWorkers": lambda g, *_: g.operate("POST", "/debug/restart"),
    "notSuspended": lambda g, *_: g.operate("POST", f"{ONE}/webhook/probe"),
    "notSigned": lambda g, *_: unsigned(g),
    "tooManyTests": lambda g, _, receiver: flooded(g, receiver),
    "noSuchPath": lambda g, *_: g.request("GET", "/nowhere"),
    "methodNotAllowed": lambda g, *_: g.request("DELETE", "/healthz"),
}
ELSEWHERE = {
    *("countAskedFor", "tooManyPending", "nothingToProbe", "moderatorBySettings"),
    *("operatorTokenRequired", "invalidOperatorToken", "noSuchListing"),
    *("notJson", "notAnObject", "doubledField", "bodyTooLarge"),
    *("invalidFile", "uploadTooLarge", "fileNotRead"),
    *("bug", "unavailable", "notReady", "malformedRequest", "headersTooLarge"),
}


CODED = {name for name, error in ERRORS.items() if not error.code.startswith("public_")}
"""The public endpoints answer the others."""


@pytest.mark.parametrize("name", sorted(CODED - ELSEWHERE))
def test_a_refusal_is_in_the_documented_words(
    name: str, gateway: ThreadGateway, key: str, receiver: Receiver
) -> None:
    expect(name, ASKED[name](gateway, key, receiver))


def test_a_probe_of_nothing_is_refused_in_the_documented_words(tmp_path: Path, receiver: Receiver) -> None:
    with running(tmp_path / "data", **{"webhooks.retries": 0, "webhooks.suspend_after": 1}) as gateway:
        gateway.list_bot(BOT)
        gateway.done("PUT", f"{ONE}/webhook", {"url": receiver.url})
        receiver.default = status(500)
        gateway.cast(path=ONE)
        eventually(lambda: gateway.done("GET", f"{ONE}/webhook")["suspension"])
        expect("nothingToProbe", gateway.operate("POST", f"{ONE}/webhook/probe"))


def test_too_many_pending_deliveries_are_refused_in_the_documented_words(
    tmp_path: Path, receiver: Receiver
) -> None:
    with running(tmp_path / "data", **{"webhooks.pending_per_endpoint": 1}) as gateway:
        gateway.list_bot(BOT)
        gateway.done("PUT", f"{ONE}/webhook", {"url": receiver.url})
        delivered = gateway.done("POST", f"{ONE}/webhook/test", {"user": USER})["id"]
        receiver.default = status(500)
        gateway.cast(path=ONE)
        expect("tooManyPending", gateway.operate("POST", f"{ONE}/webhook/deliveries/{delivered}/redeliver"))


def test_the_dismissal_of_a_moderator_of_the_settings_is_refused_in_the_documented_words(
    tmp_path: Path,
) -> None:
    with running(tmp_path / "data", **{"web.moderators": [USER]}) as gateway:
        expect("moderatorBySettings", gateway.operate("DELETE", f"{WHO}/moderator"))


def test_failures_of_the_gateway_are_answered_in_the_documented_words(
    gateway: ThreadGateway, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> int:
        raise Unavailable("the disk does not keep up")

    with monkeypatch.context() as broken:
        broken.setattr(Journal, "append", full)
        expect("unavailable", gateway.stats(key, {"command_count": 1}, BOT))
        expect("unavailable", gateway.operate("DELETE", ONE))
        broken.setattr("decoder.decoder.MOST_WAITING", 0)
        headers = {"Authorization": f"Bearer {gateway.operator_token}"}
        path = "/manage/files"
        expect("fileNotRead", gateway.request("POST", path, headers=headers, data=picture(), params=UPLOAD))
        broken.setattr(Journal, "why_not_writable", "no space left on the disk")
        expect("notReady", gateway.request("GET", "/readyz"))
        broken.delattr(LoopLag, "samples_ms")
        bug = gateway.operate("GET", "/debug/overview.json")
        told = ERRORS["bug"].reply.body.decode().replace(REQUEST_ID, bug.headers["x-request-id"])
        assert (bug.status_code, bug.json()) == (500, json.loads(told))


def test_malformed_http_is_refused_in_the_documented_words(gateway: ThreadGateway) -> None:
    asked = {"malformedRequest": b"?\r\n\r\n", "headersTooLarge": b"GET / HTTP/1.1\r\na: " + b"a" * 20_000}
    for name, sent in asked.items():
        head, _, body = gateway.raw(sent).partition(b"\r\n\r\n")
        reply = ERRORS[name].reply
        assert head.startswith(f"HTTP/1.1 {reply.status} ".encode())
        assert body == reply.body
