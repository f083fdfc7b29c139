"""pages/owner/overview.py: the state of a listing, its history, and the proof of its ownership."""

import json
import re
from datetime import datetime
from typing import get_args

import pytest

from actions.history import ACTION_NAMES
from core.clock import day_of
from core.rows import AuditAction
from pages.owner.overview import month_before
from tests.support.gateways import BOT, eventually
from tests.support.owned_listings import SERVER, TYPED, describe, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import BEN, CLEO, DAN, READY

HERE = f"/bots/{READY}/manage"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"chat_platform.cache_seconds": 600}  # a proof asks the platform all the same


def test_a_bot_in_review_has_its_place_and_the_time_since_which_it_waits(
    gateway: PeopleGateway, ada: Person
) -> None:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    list_bot(gateway, BOT, owner=BEN)
    list_bot(gateway)
    shown = words(ada.page(HERE))
    assert "In review, place 2. Waiting since" in shown
    gateway.done("DELETE", f"/manage/bots/{BOT}")
    assert "In review, place 1." in words(ada.page(HERE))


def test_a_denied_bot_says_why_and_what_to_do(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="deny")
    page = ada.page(HERE)
    assert "It is denied It is too quiet. Change what the moderator named." in words(page)
    assert f'<a class="button primary" href="{HERE}/profile">' in page


def test_what_is_missing_is_said_until_it_is_there(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="approve")
    assert json.loads(ada.get(HERE + ".json").content)["missing"] == [
        *("ownership", "key", "webhook", "counts", "support")
    ]
    gateway.done("PUT", f"/manage/bots/{READY}/actual-server-count", {"server_count": 12})
    key = gateway.done("POST", f"/manage/bots/{READY}/keys", {"name": "tests"})["key"]
    gateway.done("PUT", f"/manage/bots/{READY}/webhook", {"url": "http://127.0.0.1:9/"})
    assert gateway.stats(key, {"server_count": 12, "command_count": 3}, bot=READY).status_code == 200
    shown = words(ada.page(HERE))
    assert json.loads(ada.get(HERE + ".json").content)["missing"] == ["ownership", "support"]
    assert "Servers 12 pushed" in shown
    assert "Commands 3" in shown


def test_the_next_step_is_one_button_until_all_is_done(gateway: PeopleGateway, ada: Person) -> None:
    def step(person: Person = ada) -> str:
        page = person.page(HERE)
        assert page.count("button primary") <= 1
        return words(page.partition('<h2 id="next">')[2].partition("</h2>")[0])

    list_bot(gateway, extra=[BEN])
    assert step() == "Prove that the bot is yours"
    assert step(gateway.person(BEN)) == "Tell people how to get help", "a co-owner cannot prove it"
    assert step(gateway.person(CLEO)) == "", "a moderator only looks"
    gateway.done("POST", f"/manage/bots/{READY}/approve", {})
    assert step() == "Make an API key"
    key = shown_key(ada.post(HERE + "/keys", {"name": "production"}).text)
    assert step() == "Set up the webhook"
    gateway.done("PUT", f"/manage/bots/{READY}/webhook", {"url": "http://127.0.0.1:9/"})
    assert step() == "Prove that the bot is yours"
    describe(gateway, code_on(ada.page(HERE)))
    ada.acted(HERE + "/prove")
    assert step() == "Push your server count"
    gateway.done("PUT", f"/manage/bots/{READY}/actual-server-count", {"server_count": 12})
    assert gateway.stats(key, {"server_count": 12}, bot=READY).status_code == 200
    assert step() == "Tell people how to get help"
    ada.acted(HERE + "/profile", {**TYPED, "support_invite": "https://example.com/help"})
    assert step() == "Everything is set up"
    assert "6 of 6 done" in words(ada.page(HERE))
    describe(gateway, "A bot.")


def shown_key(page: str) -> str:
    return page.partition('id="secret">')[2].partition("<")[0]


def test_the_votes_of_the_month_are_compared_with_the_same_days_of_the_last_one(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway, decision="approve")
    counts = {day_of(at("2025-05-31")): 90, day_of(at("2025-05-10")): 2, day_of(at("2025-04-30")): 50}
    assert month_before(counts, day_of(at("2025-06-10"))) == 2
    assert month_before(counts, day_of(at("2025-06-30"))) == 2
    assert month_before({day_of(at("2025-02-28")): 7}, day_of(at("2025-03-31"))) == 7
    gateway.done("POST", f"/manage/bots/{READY}/votes", {"user": BEN})
    eventually(lambda: json.loads(ada.get(HERE + ".json").content)["votes"]["rank"] == 1)
    told = json.loads(ada.get(HERE + ".json").content)["votes"]
    assert (told["votes_this_month"], told["votes_before"], told["rank"]) == (1, 0, 1)
    assert "Votes this month 1 none on the same days last month" in words(ada.page(HERE))
    assert f"#1 of {told['listings']} listed" in words(ada.page(HERE))


def at(day: str) -> int:
    return int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() * 1_000)


def test_the_history_says_who_did_what_and_calls_oneself_you(gateway: PeopleGateway, ada: Person) -> None:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    ada.acted("/bots/new", TYPED)
    gateway.clock.advance(1)
    gateway.done("POST", f"/manage/bots/{READY}/deny", {"reason": "<script>alert(1)</script>"})
    page = ada.page(HERE)
    assert "submitted · you" in words(page)
    assert "denied: &lt;script&gt;alert(1)&lt;/script&gt; · the operator" in words(page)
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2
    ben = gateway.person(BEN)
    gateway.done("PUT", f"/manage/bots/{READY}/extra-owners/{BEN}", {})
    ben.acted(f"/bots/{READY}/invitation", {"act": "join"})
    assert "co-owner joined · Ben, who votes" in words(ada.page(HERE))
    assert "you" not in words(gateway.person(CLEO).page(HERE)).split("Recently")[1].split("About")[0]


def test_the_json_says_the_same_to_those_who_may_see_it(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN])
    shown = json.loads(ada.get(HERE + ".json").content)
    assert {**shown["listing"], "success": True} == gateway.kept(f"/manage/bots/{READY}")
    assert (shown["kind"], shown["is_proven"], shown["success"]) == ("bots", False, True)
    assert shown["history"][0]["deed"] == "submitted"
    assert "verify-" not in json.dumps(shown)
    may = {user: json.loads(gateway.person(user).get(HERE + ".json").content)["may"] for user in (BEN, CLEO)}
    assert may == {BEN: ["edit", "keys", "leave", "see", "webhook"], CLEO: ["decide", "review", "see"]}
    assert gateway.person(DAN).get(HERE + ".json").status_code == 404


def test_a_server_has_its_own_page_and_json(gateway: PeopleGateway, ada: Person) -> None:
    list_server(gateway, name="<i>Circle</i>")
    page = ada.page(f"/servers/{SERVER}/manage")
    assert "&lt;i&gt;Circle&lt;/i&gt;" in page
    assert "Ownership" not in page
    shown = json.loads(ada.get(f"/servers/{SERVER}/manage.json").content)
    assert (shown["kind"], shown["missing"]) == ("servers", ["invite"])
    gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
    assert json.loads(ada.get(f"/servers/{SERVER}/manage.json").content)["missing"] == ["webhook", "invite"]


# -- Ownership --------------------------------------------------------------------------------------------


def code_on(page: str) -> str:
    (code,) = re.findall(r"verify-[0-9a-f]{10}(?![0-9a-f])", page)
    return str(code)


def test_the_owner_proves_with_the_code_in_the_public_description(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway)
    describe(gateway, "A bot.")
    code = code_on(ada.page(HERE))
    refused = ada.post(HERE + "/prove")
    assert (refused.status_code, "does not contain the code" in refused.text) == (409, True)
    describe(gateway, f"A bot. {code}, and more.")
    assert "The ownership is verified." in words(ada.acted(HERE + "/prove"))
    assert "verify-" not in ada.page(HERE)
    assert json.loads(ada.get(HERE + ".json").content)["is_proven"] is True


def test_the_code_of_one_owner_proves_nothing_for_another(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    code = code_on(ada.page(HERE))
    describe(gateway, code)
    list_bot(gateway, owner=BEN)
    ben = gateway.person(BEN)
    assert code_on(ben.page(HERE)) != code
    assert ben.post(HERE + "/prove").status_code == 409
    describe(gateway, "A bot.")


def test_only_the_owner_sees_the_code(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    list_bot(gateway, extra=[BEN])
    for user in (BEN, CLEO):
        person = gateway.person(user)
        assert "verify-" not in person.page(HERE)
        assert person.post(HERE + "/prove").status_code == 403


def test_while_the_platform_is_away_nothing_is_proven(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    gateway.stand_in.goes_wrong(f"/applications/{READY}/rpc", "500")
    answer = ada.post(HERE + "/prove")
    assert (answer.status_code, "gives no answer that can be used" in answer.text) == (503, True)


def test_an_application_that_is_gone_proves_nothing(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, BOT)
    answer = ada.post(f"/bots/{BOT}/manage/prove")
    assert (answer.status_code, "knows no application" in answer.text) == (409, True)
    gateway.done("DELETE", f"/manage/bots/{BOT}")


def test_the_platform_is_not_asked_without_end(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    asked = gateway.stand_in.asked(f"/applications/{READY}/rpc")
    statuses = [ada.post(HERE + "/prove").status_code for _ in range(7)]
    assert statuses == [409] * 5 + [429] * 2
    assert gateway.stand_in.asked(f"/applications/{READY}/rpc") == asked + 5


def test_every_act_has_a_name() -> None:
    assert ACTION_NAMES.keys() == {*get_args(AuditAction)}
