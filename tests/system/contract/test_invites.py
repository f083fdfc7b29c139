"""The invite of a server: it exists, leads to that server, and never ends. The chat platform says so."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gateways import SERVER_SUBMISSION, eventually
from tests.support.listed_servers import TYPED, reader, serving_servers, unlist
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, GOOD_SERVER

HERE = f"/manage/servers/{GOOD_SERVER}"
BODY = {**SERVER_SUBMISSION, "id": GOOD_SERVER, "owner_id": ADA}
EDIT = {name: value for name, value in BODY.items() if name != "id"}
WRONG = {
    "nothing": "does not exist at the chat platform, or has ended: make an invite that never expires",
    "server-2": "leads to another server: make an invite in this one",
    "friends": "leads to another server: make an invite in this one",
    "for-a-week": "expires: make an invite that never does",
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving_servers(tmp_path_factory.mktemp("invites") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def unlisted(gateway: PeopleGateway) -> None:
    unlist(gateway, GOOD_SERVER)


def submitted(gateway: PeopleGateway, **fields: object) -> Any:
    return gateway.done("POST", "/manage/servers", {**BODY, **fields})


@pytest.mark.parametrize("given", ["server-1", "https://discord.gg/server-1", "discord.com/invite/server-1"])
def test_a_valid_invite_is_kept_as_its_code_with_the_people_on_the_server(
    gateway: PeopleGateway, given: str
) -> None:
    shown = submitted(gateway, invite=given)
    assert shown["invite"] == "server-1"
    assert shown["invite_check"] == {
        "code": "server-1",
        "checked_at": gateway.clock.now_ms(),
        "problem": None,
        "approximate_member_count": 1_250,
        "approximate_presence_count": 180,
    }


@pytest.mark.parametrize("code", WRONG)
def test_an_invite_that_is_not_valid_is_refused_with_the_reason(gateway: PeopleGateway, code: str) -> None:
    refused = gateway.operate("POST", "/manage/servers", {**BODY, "invite": code})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"invite": WRONG[code]})
    submitted(gateway)
    refused = gateway.operate("PUT", HERE, {**EDIT, "invite": code})
    assert (refused.status_code, refused.json()["fields"]) == (400, {"invite": WRONG[code]})
    assert gateway.done("GET", HERE)["invite"] is None


@pytest.mark.parametrize("fault", ["500", "missing", "html"])
def test_while_the_platform_is_away_an_invite_is_taken_as_unknown(gateway: PeopleGateway, fault: str) -> None:
    code = "server-1"
    gateway.stand_in.goes_wrong(f"/invites/{code}", fault)
    shown = submitted(gateway, invite=code)
    assert (shown["invite"], shown["invite_check"]) == (code, None)


def test_only_a_new_invite_is_asked_about(gateway: PeopleGateway) -> None:
    submitted(gateway, invite="server-1")
    asked = gateway.stand_in.asked("/invites/server-1")
    gateway.done("PUT", HERE, {**EDIT, "invite": "server-1", "name": "Another name"})
    gateway.done("PUT", HERE, {**EDIT, "invite": None})
    assert gateway.stand_in.asked("/invites/server-1") == asked
    gateway.done("PUT", HERE, {**EDIT, "invite": "server-1"})
    assert gateway.stand_in.asked("/invites/server-1") == asked + 1


def test_a_form_is_refused_before_the_platform_is_asked(gateway: PeopleGateway) -> None:
    asked = gateway.stand_in.asked("/invites/server-1")
    refused = gateway.operate("POST", "/manage/servers", {**BODY, "invite": "server-1", "name": ""})
    assert refused.status_code == 400
    assert gateway.stand_in.asked("/invites/server-1") == asked


def test_a_report_makes_the_platform_be_asked_again(gateway: PeopleGateway) -> None:
    submitted(gateway, invite="server-1")
    gateway.done("POST", f"{HERE}/approve", {})
    cleo, review = gateway.person(CLEO), f"/review/servers/{GOOD_SERVER}"
    assert "1,250 members, 180 online," in words(cleo.page(review))
    gateway.stand_in.change_invite("server-1", "gone")
    gateway.person(BEN).acted(f"/servers/{GOOD_SERVER}/report", {"reason": "broken_invite"})
    found = eventually(lambda: gateway.done("GET", HERE)["invite_check"]["problem"])
    assert found == "gone"
    assert "This invite does not exist, or has ended." in words(cleo.page(review))
    gateway.stand_in.change_invite("server-1", GOOD_SERVER)


def test_owners_name_the_invite_in_the_forms_of_pages(gateway: PeopleGateway) -> None:
    person: Person = reader(gateway)
    refused = person.post("/servers/new", {**TYPED, "invite": "server-2"})
    assert refused.status_code == 400
    assert "This invite leads to another server." in words(refused.text)
    assert person.post("/servers/new", {**TYPED, "invite": "https://discord.gg/server-1"}).status_code == 303
    shown = gateway.done("GET", HERE)
    assert (shown["invite"], shown["invite_check"]["problem"]) == ("server-1", None)
    refused = person.post(f"/servers/{GOOD_SERVER}/manage/profile", {**TYPED, "invite": "for-a-week"})
    assert refused.status_code == 400
    assert "This invite expires." in words(refused.text)
