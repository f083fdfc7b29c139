"""Security events have a log of their own, with user, address and request id, and with no secret."""

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests

from tests.support.co_owners import let_join
from tests.support.gateways import OWNER
from tests.support.logged_answers import output
from tests.support.owned_listings import list_bot
from tests.support.people_gateway import FROM_PLATFORM, PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY, decided_at
from watchers.security_log import LOGGER

Line = dict[str, Any]
BOT = f"bots/{READY}"
ADDRESS = "127.0.0.1"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("security") / "data") as gateway:
        yield gateway


class Told:
    """The lines of the security log since the last look."""

    def __init__(self) -> None:
        self.stream = io.BytesIO()

    def lines(self) -> list[Line]:
        text = self.stream.getvalue().decode()
        self.stream.seek(0)
        self.stream.truncate()
        return [json.loads(line) for line in text.splitlines()]

    def only(self, answer: requests.Response) -> Line:
        """Return the one line that an answer has caused, without the fields of every line."""
        (line,) = self.lines()
        assert line.pop("request") == answer.headers["X-Request-Id"]
        assert line.pop("address") == ADDRESS
        assert (line.pop("logger"), line.pop("level")) == (LOGGER, "INFO")
        assert line.pop("message").startswith(line["event"])
        del line["time"]
        return line


@pytest.fixture
def told(gateway: PeopleGateway, monkeypatch: pytest.MonkeyPatch) -> Iterator[Told]:
    gateway.clock.advance(600)
    log, told = logging.getLogger(LOGGER), Told()
    handler = output(told.stream, "json").handler()
    monkeypatch.setattr(log, "handlers", [handler])
    monkeypatch.setattr(log, "propagate", False)
    before = log.level
    log.setLevel(logging.INFO)
    yield told
    log.setLevel(before)


def test_a_wrong_operator_token_is_logged_without_its_value(gateway: PeopleGateway, told: Told) -> None:
    guess = {"Authorization": "Bearer a-guess-of-the-token"}
    guesses: tuple[Callable[[], requests.Response], ...] = (
        lambda: gateway.request("GET", "/manage/bots", headers=guess),
        lambda: gateway.request("GET", "/metrics", headers=guess),
        lambda: gateway.person(None).sign_in("a-guess-of-the-token"),
    )
    for attempt in guesses:
        answer = attempt()
        assert b"a-guess" not in told.stream.getvalue()
        assert told.only(answer) == {"event": "wrong_operator_token"}
    assert gateway.request("GET", "/manage/bots").status_code == 401
    assert told.lines() == [], "no token is no guess"


def test_the_sign_in_and_sign_out_of_an_operator_are_logged(gateway: PeopleGateway, told: Told) -> None:
    operator = gateway.person(None)
    assert told.only(operator.sign_in()) == {"event": "operator_signed_in"}
    assert told.only(operator.post("/debug/sign-out")) == {"event": "operator_signed_out"}
    operator.post("/debug/sign-out")
    assert told.lines() == []


def test_a_sign_in_and_the_ends_of_sessions_are_logged(gateway: PeopleGateway, told: Told) -> None:
    ada, user = gateway.person(None), f"users/{ADA}"
    assert told.only(ada.sign_in_as(ADA)) == {"event": "signed_in", "by": user, "user": user}
    gateway.clock.advance(1)
    other = gateway.person(ADA)
    told.lines()
    (session, *_) = gateway.done("GET", f"/manage/users/{ADA}/sessions")["sessions"]
    ended = {"event": "sessions_ended", "user": user, "sessions": "1"}
    assert told.only(ada.post("/me/sessions", {"session": session["id"]})) == {**ended, "by": user}
    ada.sign_in_as(ADA)
    told.lines()
    answer = gateway.operate("DELETE", f"/manage/users/{ADA}/sessions")
    assert {**told.only(answer), "sessions": "1"} == {**ended, "by": "operator"}
    assert other.get("/me").status_code == 303


@pytest.mark.parametrize(
    ("why", "come"),
    [
        ("cancelled", lambda person: person.sign_in_as(BEN, decision="cancel")),
        ("state", lambda person: person.get("/signin/callback?code=a-code&state=a-state")),
        ("state", lambda person: person.come_back(f"{decided_at(person.started(), BEN)}x")),
    ],
)
def test_a_failed_sign_in_is_logged(
    gateway: PeopleGateway, told: Told, why: str, come: Callable[[Any], requests.Response]
) -> None:
    assert told.only(come(gateway.person(None))) == {"event": "sign_in_failed", "why": why}


def test_a_quarantine_and_a_refused_sign_in_are_logged(gateway: PeopleGateway, told: Told) -> None:
    path, user = f"/manage/users/{DAN}/quarantines/sign_in", f"users/{DAN}"
    imposed = gateway.operate("PUT", path, {"reason": "A reason of somebody."})
    assert told.only(imposed) == {"event": "quarantined", "by": "operator", "user": user, "act": "sign_in"}
    refused = gateway.person(None).sign_in_as(DAN)
    assert refused.status_code == 403
    assert told.only(refused) == {"event": "sign_in_failed", "why": "refused", "user": user}
    lifted = gateway.operate("DELETE", path)
    assert told.only(lifted)["event"] == "quarantine_lifted"


def test_a_refused_form_is_logged(gateway: PeopleGateway, told: Told) -> None:
    ada = gateway.person(ADA)
    told.lines()
    for path, by in (("/me/naming", f"users/{ADA}"), ("/signin", f"users/{ADA}")):
        answer = ada.request("POST", path, FROM_PLATFORM)
        assert answer.status_code == 403
        assert told.only(answer) == {"event": "form_refused", "by": by}
    stranger = gateway.person(None).request("POST", "/debug/sign-in", FROM_PLATFORM)
    assert told.only(stranger) == {"event": "form_refused"}


def test_a_given_and_a_taken_role_are_logged(gateway: PeopleGateway, told: Told) -> None:
    path = f"/manage/users/{BEN}/moderator"
    role = {"by": "operator", "user": f"users/{BEN}", "role": "moderator"}
    assert told.only(gateway.operate("PUT", path, {})) == {"event": "role_given", **role}
    assert told.only(gateway.operate("DELETE", path)) == {"event": "role_taken", **role}


def test_issued_rotated_and_revoked_keys_are_logged_without_their_values(
    gateway: PeopleGateway, told: Told
) -> None:
    list_bot(gateway, decision="approve")
    told.lines()
    path = f"/manage/{BOT}/keys"
    issued = gateway.operate("POST", path, {"name": "a name"})
    key = issued.json()["id"]
    fact = {"by": "operator", "listing": BOT, "key": key}
    assert issued.json()["key"].encode() not in told.stream.getvalue()
    assert told.only(issued) == {"event": "key_issued", **fact}
    rotated = gateway.operate("POST", f"{path}/{key}/rotate", {})
    assert told.only(rotated) == {"event": "key_rotated", **fact}
    assert told.only(gateway.operate("DELETE", f"{path}/{key}")) == {"event": "key_revoked", **fact}
    ada = gateway.person(ADA)
    told.lines()
    assert told.only(ada.post(f"/{BOT}/manage/keys", {"name": "x"}))["by"] == f"users/{ADA}"


def test_a_new_owner_is_logged(gateway: PeopleGateway, told: Told) -> None:
    list_bot(gateway, owner=OWNER)
    told.lines()
    let_join(gateway, READY, CLEO)
    invited, joined = told.lines()
    assert (invited["event"], joined["event"]) == ("co_owner_invited", "co_owner_joined")
    assert joined["user"] == f"users/{CLEO}"
    offered = gateway.operate("PUT", f"/manage/{BOT}/hand-over", {"heir": ADA})
    line = told.only(offered)
    assert (line["event"], line["owner"], line["heir"]) == (
        "hand_over_offered",
        f"users/{OWNER}",
        f"users/{ADA}",
    )
    gateway.done("POST", f"/manage/{BOT}/hand-over/accept", {"heir": ADA})
    line, kept = told.lines()
    assert (line["event"], line["owner"]) == ("handed_over", f"users/{ADA}")
    assert (kept["event"], kept["user"]) == ("co_owner_joined", f"users/{OWNER}")


def test_a_removed_listing_is_logged(gateway: PeopleGateway, told: Told) -> None:
    list_bot(gateway, decision="approve")
    ada = gateway.person(ADA)
    told.lines()
    removed = ada.post(f"/{BOT}/manage/danger", {"name": "Test bot"})
    assert removed.status_code == 303
    assert told.only(removed) == {"event": "listing_removed", "by": f"users/{ADA}", "listing": BOT}
