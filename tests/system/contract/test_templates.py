"""Templates: named by a code or a link that the chat platform confirms, and checked again each day."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.gateways import BOT, BOT_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, CLEO, EMILS_TEMPLATE, GAME_NIGHT, STUDY_HALL

HERE = f"/manage/templates/{GAME_NIGHT}"
PATH = f"/guilds/templates/{GAME_NIGHT}"
BODY: dict[str, Any] = {
    "owner_id": ADA,
    "name": "Game night",
    "description": "A server for a group that plays every week.",
    "categories": ["Gaming"],
}
NEW = "/templates/new"
TYPED = {"id": GAME_NIGHT, **{name: BODY[name] for name in ("name", "description", "categories")}}
UNKNOWN_CODE = "Nothing00000"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("templates") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def unlisted(gateway: PeopleGateway) -> None:
    for code in (GAME_NIGHT, STUDY_HALL, EMILS_TEMPLATE):
        gateway.operate("DELETE", f"/manage/templates/{code}")


def submitted(gateway: PeopleGateway, code: str = GAME_NIGHT, **fields: object) -> Any:
    return gateway.done("POST", "/manage/templates", {**BODY, "id": code, **fields})


def refused(gateway: PeopleGateway, **fields: object) -> Any:
    answer = gateway.operate("POST", "/manage/templates", {**BODY, "id": GAME_NIGHT, **fields})
    assert answer.status_code == 400, answer.text
    return answer.json()["fields"]


def listed(gateway: PeopleGateway) -> None:
    submitted(gateway)
    gateway.done("POST", f"{HERE}/approve", {})


@pytest.mark.parametrize(
    "given",
    [
        GAME_NIGHT,
        f"https://discord.new/{GAME_NIGHT}",
        f"https://discord.com/template/{GAME_NIGHT}",
        f"discord.new/{GAME_NIGHT}/",
    ],
)
def test_a_template_is_named_by_its_code_or_its_link_and_the_platform_tells_its_numbers(
    gateway: PeopleGateway, given: str
) -> None:
    shown = submitted(gateway, given)
    assert (shown["id"], shown["state"]) == (GAME_NIGHT, "in_review")
    assert shown["template"] == {
        "checked_at": gateway.clock.now_ms(),
        "problem": None,
        "use_count": 3_912,
        "channel_count": 8,
        "role_count": 3,
    }
    assert [(each["name"], each["outcome"]) for each in shown["eligibility"]["checks"]] == [
        ("exists", "pass")
    ]


@pytest.mark.parametrize(
    "given",
    ["", "short", "https://discord.new/", "x" * 33, "Game Night 1", f"https://discord.new/{GAME_NIGHT}?x=1"],
)
def test_what_is_no_code_of_a_template_is_refused(gateway: PeopleGateway, given: str) -> None:
    assert list(refused(gateway, id=given)) == ["id"]


def test_a_template_that_the_platform_does_not_know_is_refused(gateway: PeopleGateway) -> None:
    assert refused(gateway, id=UNKNOWN_CODE) == {"id": "does not exist at the chat platform"}


@pytest.mark.parametrize("fault", ["slow", "cut", "html", "500", "deep", "404", "types", "missing"])
def test_a_platform_without_a_usable_answer_stops_nobody_and_a_moderator_sees_that(
    gateway: PeopleGateway, fault: str
) -> None:
    gateway.stand_in.goes_wrong(PATH, fault)
    shown = submitted(gateway)
    assert (shown["eligibility"]["outcome"], shown["template"]) == ("unknown", None)
    page = gateway.person(CLEO).get(f"/review/templates/{GAME_NIGHT}")
    assert "It exists at the chat platform unknown" in words(page.text)


def test_the_page_shows_what_you_get_as_a_tree_and_leads_to_the_platform(gateway: PeopleGateway) -> None:
    gateway.person(ADA)
    listed(gateway)
    visitor = gateway.person(None)
    page = visitor.get(f"/templates/{GAME_NIGHT}")
    assert f'href="{gateway.stand_in.url}/use/{GAME_NIGHT}"' in page.text
    shown = words(page.text)
    for part in (
        "Use this template",
        "8 channels, 3 roles",
        "3,912 times",
        "Hosts only",
        "who-is-in",
        "Regular",
    ):
        assert part in shown, (part, shown)
    assert "Text channel, closed: planning" in shown
    assert "Made by Ada, who owns bots" in shown
    value = visitor.get(f"/templates/{GAME_NIGHT}.json").json()
    assert (value["use_count"], value["channel_count"], value["role_count"]) == (3_912, 8, 3)
    assert value["invite_url"] == f"{gateway.stand_in.url}/use/{GAME_NIGHT}"


def test_a_tree_of_537_channels_says_how_many_more_there_are(gateway: PeopleGateway) -> None:
    server = {
        "channels": [{"id": number, "type": 0, "name": f"c{number}"} for number in range(1, 538)],
        "roles": [{"id": number, "name": f"r{number}"} for number in range(288)],
    }
    gateway.stand_in.change_template("ManyOfThem00", serialized_source_guild=server)
    submitted(gateway, "ManyOfThem00")
    gateway.done("POST", "/manage/templates/ManyOfThem00/approve", {})
    shown = words(gateway.person(None).get("/templates/ManyOfThem00").text)
    assert "537 channels, 287 roles" in shown
    assert "and 37 more channels and categories" in shown
    assert "and 37 more roles" in shown
    assert ("c500" in shown, "c501" in shown) == (True, False)


def test_names_of_the_platform_change_no_page(gateway: PeopleGateway) -> None:
    odd = "<script>alert(1)</script>\u202e\u0000" + "x" * 1_000
    server = {"channels": [{"id": 1, "type": 0, "name": odd}], "roles": [{"id": 1, "name": odd}]}
    gateway.stand_in.change_template("OddNames0000", serialized_source_guild=server)
    submitted(gateway, "OddNames0000")
    gateway.done("POST", "/manage/templates/OddNames0000/approve", {})
    page = gateway.person(None).get("/templates/OddNames0000").text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert "x" * 101 not in page


def test_a_restart_keeps_the_tree(gateway: PeopleGateway) -> None:
    listed(gateway)
    gateway.stop()
    gateway.start()
    shown = words(gateway.person(None).get(f"/templates/{GAME_NIGHT}").text)
    for part in ("8 channels, 3 roles", "who-is-in", "Regular"):
        assert part in shown, (part, shown)


def test_the_moderator_sees_the_tree_before_a_decision(gateway: PeopleGateway) -> None:
    submitted(gateway)
    shown = words(gateway.person(CLEO).get(f"/review/templates/{GAME_NIGHT}").text)
    for part in ("It exists at the chat platform yes", "8 channels, 3 roles", "who-is-in", "Verified"):
        assert part in shown, (part, shown)


def test_a_user_who_made_the_template_has_proven_to_own_it_and_others_have_not(
    gateway: PeopleGateway,
) -> None:
    for code, is_proven in ((GAME_NIGHT, True), (EMILS_TEMPLATE, False)):
        ada = gateway.person(ADA)
        answer = ada.post(NEW, {**TYPED, "id": f"https://discord.new/{code}"})
        assert (answer.status_code, answer.headers.get("Location")) == (303, f"/templates/{code}/manage")
        review = gateway.person(CLEO).get(f"/review/templates/{code}.json").json()
        assert review["is_proven"] == is_proven


def test_a_form_comes_back_with_the_reason_at_its_field(gateway: PeopleGateway) -> None:
    ada = gateway.person(ADA)
    gone = ada.post(NEW, {**TYPED, "id": UNKNOWN_CODE})
    assert gone.status_code == 400
    assert "The chat platform knows no such template." in words(gone.text)
    assert UNKNOWN_CODE in gone.text
    submitted(gateway, owner_id=BEN)
    taken = ada.post(NEW, {**TYPED, "id": f"https://discord.new/{GAME_NIGHT}"})
    assert taken.status_code == 409
    assert f'href="/templates/{GAME_NIGHT}/take-over"' in taken.text


def test_the_user_who_made_a_template_takes_it_over_and_nobody_else_does(gateway: PeopleGateway) -> None:
    submitted(gateway, owner_id=BEN)
    here = f"/templates/{GAME_NIGHT}/take-over"
    for user, status in ((CLEO, 409), (ADA, 303)):
        person = gateway.person(user)
        assert "Take this template over" in words(person.get(here).text)
        assert person.post(here, {}).status_code == status
    assert gateway.done("GET", HERE)["owner_id"] == ADA


def test_an_owner_checks_a_template_again(gateway: PeopleGateway) -> None:
    listed(gateway)
    gateway.clock.advance(60)
    gateway.stand_in.change_template(GAME_NIGHT, usage_count=4_000)
    ada = gateway.person(ADA)
    page = ada.get(f"/templates/{GAME_NIGHT}/manage")
    assert "Read my servers again" not in page.text
    assert ada.post(f"/templates/{GAME_NIGHT}/manage/check", {}).status_code == 303
    shown = gateway.done("GET", HERE)["template"]
    assert (shown["use_count"], shown["checked_at"]) == (4_000, gateway.clock.now_ms())
    gateway.stand_in.change_template(GAME_NIGHT, usage_count=3_912)


def test_a_template_that_exists_waits_in_the_queue_like_others(gateway: PeopleGateway) -> None:
    gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
    gateway.clock.advance(1)
    submitted(gateway)
    queue = [each["id"] for each in gateway.person(CLEO).get("/review.json").json()["queue"]]
    assert queue.index(BOT) < queue.index(GAME_NIGHT)
