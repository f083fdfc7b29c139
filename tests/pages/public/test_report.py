"""pages/public/report.py: a user reports a public listing."""

import json
import re

import pytest

from pages.public.report import REPORTS
from tests.support.gateways import BOT, BOT_SUBMISSION, SERVER, SERVER_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO

HERE = f"/bots/{BOT}/report"


@pytest.fixture(autouse=True)
def listed(gateway: PeopleGateway) -> None:
    for path in (f"bots/{BOT}", f"servers/{SERVER}"):
        gateway.operate("DELETE", f"/manage/{path}")
    gateway.clock.advance(REPORTS.window_seconds)
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA, "name": "Jukebox"})
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "owner_id": ADA})
    for path in (f"bots/{BOT}", f"servers/{SERVER}"):
        gateway.done("POST", f"/manage/{path}/approve", {})


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    return gateway.person(BEN)


def reports(gateway: PeopleGateway, path: str = f"bots/{BOT}") -> list[tuple[str, str, str]]:
    found = gateway.done("GET", f"/manage/{path}/reports")["reports"]
    return [(each["by"], each["reason"], each["text"]) for each in found]


def test_a_user_reports_a_listing_and_the_moderators_get_it(gateway: PeopleGateway, ben: Person) -> None:
    page = words(ben.page(HERE))
    assert "Report Jukebox" in page
    assert "The owner never learns who reported the listing." in page
    answer = ben.post(HERE, {"reason": "does_not_work", "text": "It is silent."})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/bots/{BOT}")
    assert "Thank you. The moderators have your report." in ben.page(f"/bots/{BOT}")
    assert reports(gateway) == [(f"users/{BEN}", "does_not_work", "It is silent.")]
    assert "Jukebox" in gateway.person(CLEO).page("/review?show=reported")


def test_the_form_names_nobody_else_as_its_author(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(HERE, {"reason": "breaks_rules", "user": CLEO})
    assert [by for by, _, _ in reports(gateway)] == [f"users/{BEN}"]


def test_a_second_report_replaces_the_first(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(HERE, {"reason": "does_not_work", "text": "It is silent."})
    again = ben.page(HERE)
    assert "You have reported it already." in words(again)
    assert "It is silent.</textarea>" in again
    ben.acted(HERE, {"reason": "breaks_rules"})
    assert reports(gateway) == [(f"users/{BEN}", "breaks_rules", "")]


def test_only_a_server_has_an_invite_to_report(gateway: PeopleGateway, ben: Person) -> None:
    assert "Its invite is broken" not in ben.page(HERE)
    assert ben.post(HERE, {"reason": "broken_invite"}).status_code == 400
    there = f"/servers/{SERVER}/report"
    assert "Its invite is broken" in ben.page(there)
    ben.acted(there, {"reason": "broken_invite"})
    assert reports(gateway, f"servers/{SERVER}") == [(f"users/{BEN}", "broken_invite", "")]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"text": "It is silent."}, "reason"),
        ({"reason": "boring", "text": "It is silent."}, "reason"),
        ({"reason": "other", "text": " "}, "text"),
        ({"reason": "other", "text": "x" * 1_001}, "text"),
        ({"reason": "other", "text": "\u202e."}, "text"),
    ],
)
def test_a_report_that_says_nothing_is_shown_again(
    gateway: PeopleGateway, ben: Person, fields: dict[str, str], wrong: str
) -> None:
    answer = ben.post(HERE, fields)
    assert answer.status_code == 400
    assert f'id="{wrong}-problem"' in answer.text
    assert fields["text"] in answer.text
    assert reports(gateway) == []


def test_a_listing_that_is_not_public_cannot_be_reported(gateway: PeopleGateway, ben: Person) -> None:
    gateway.done("POST", f"/manage/bots/{BOT}/withdraw", {"reason": "It is silent."})
    assert ben.get(HERE).status_code == 404
    assert ben.post(HERE, {"reason": "does_not_work"}).status_code == 404


def test_who_reports_too_often_has_to_wait_and_loses_no_word(gateway: PeopleGateway, ben: Person) -> None:
    for _ in range(REPORTS.requests):
        ben.acted(HERE, {"reason": "does_not_work"})
    refused = ben.post(HERE, {"reason": "breaks_rules", "text": "It asks for passwords."})
    assert (refused.status_code, "It asks for passwords.</textarea>" in refused.text) == (429, True)
    gateway.person(CLEO).acted(HERE, {"reason": "breaks_rules"})
    gateway.clock.advance(REPORTS.window_seconds)
    ben.acted(HERE, {"reason": "breaks_rules"})


def test_the_owner_never_learns_who_reported(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(HERE, {"reason": "other", "text": "It asks for passwords."})
    ada = gateway.person(ADA)
    for path in ("/me", "/me/notices", "/me/data.json", f"/bots/{BOT}/manage", f"/bots/{BOT}/manage.json"):
        page = ada.page(path)
        assert BEN not in page
        assert "passwords" not in page


def test_nor_does_a_moderator_who_owns_the_listing(gateway: PeopleGateway, ben: Person) -> None:
    gateway.done("DELETE", f"/manage/bots/{BOT}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": CLEO})
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    ben.acted(HERE, {"reason": "other", "text": "It asks for passwords."})
    cleo = gateway.person(CLEO)
    for path in (f"/review/bots/{BOT}", f"/review/bots/{BOT}.json", "/review?show=reported"):
        page = cleo.page(path)
        assert BEN not in page
        assert "passwords" not in page


def test_a_user_s_data_have_the_report_and_an_erasure_takes_it(gateway: PeopleGateway, ben: Person) -> None:
    ben.acted(HERE, {"reason": "other", "text": "It asks for passwords."})
    at_ms = gateway.clock.now_ms()
    expected = {"listing": f"bots/{BOT}", "at_ms": at_ms, "reason": "other", "text": "It asks for passwords."}
    assert json.loads(ben.get("/me/data.json").content)["reports"] == [expected]
    ben.acted("/me/data", {"word": "erase"})
    assert reports(gateway) == []


def bell(person: Person) -> str:
    """Return the name of the bell of a page."""
    found = re.search(
        r'class="button bare square bell".*?<span class="hidden">(.*?)</span>', person.page("/me")
    )
    assert found is not None
    return found[1]


@pytest.mark.parametrize(
    ("way", "reason"), [("reports/settle", {}), ("withdraw", {"reason": "It is silent."})]
)
def test_a_reporter_gets_a_notice_without_the_decision_once_it_is_settled(
    gateway: PeopleGateway, ben: Person, way: str, reason: dict[str, str]
) -> None:
    ben.acted(HERE, {"reason": "other", "text": "It asks for passwords."})
    gateway.clock.advance(1)
    assert "about Jukebox" not in words(ben.page("/me/notices"))
    gateway.done("POST", f"/manage/bots/{BOT}/{way}", reason)
    name = "Jukebox" if way == "reports/settle" else BOT  # strangers do not see what is not public
    assert bell(ben) == "Notices: 1 new"
    page = words(ben.page("/me/notices"))
    assert f"We have looked at your report about {name} . Thank you." in page
    assert "It is silent." not in page
    (notice,) = gateway.done("GET", f"/manage/users/{BEN}/notices")["notices"]
    assert (notice["deed"], notice["by"], notice["about"]) == ("report_settled", "gateway", "")
    assert ben.get("/me/data.json").json()["account"]["settled_reports"] == [
        {"at_ms": gateway.clock.now_ms(), "listing": f"bots/{BOT}"}
    ]
    ben.acted("/me/notices", {"until": str(notice["at"])})
    assert bell(ben) == "Notices"


def test_the_notice_goes_with_the_listing_and_not_to_who_settles(gateway: PeopleGateway, ben: Person) -> None:
    cleo = gateway.person(CLEO)
    for person in (ben, cleo):
        person.acted(HERE, {"reason": "does_not_work"})
    seen = " ".join(each["id"] for each in gateway.done("GET", f"/manage/bots/{BOT}/reports")["reports"])
    cleo.acted(f"/review/bots/{BOT}/settle", {"reports": seen})
    assert "about Jukebox" in words(ben.page("/me/notices"))
    assert "about Jukebox" not in words(cleo.page("/me/notices"))
    gateway.done("DELETE", f"/manage/bots/{BOT}")
    gateway.clock.advance(1)
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "owner_id": ADA, "name": "Another"})
    gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
    assert "We have looked" not in words(ben.page("/me/notices"))
