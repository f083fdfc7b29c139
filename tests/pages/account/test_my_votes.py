"""pages/account/my_votes.py: a person's votes and reminders, on a whole gateway."""

import html
import re
from functools import partial
from typing import Any

import pytest

from core.events import ListingReviewed, ReminderSet
from core.user_rows import user_ref
from pages.account.my_votes import VOTED
from people.choices import REMINDERS_MOST
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER, SERVER_SUBMISSION
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, DAN
from tests.support.sample_rows import listed as listed_events
from tests.support.slots_set import eligibility_checked

HOUR, DAY = 3_600, 86_400
BOT_REF, OTHER_REF, SERVER_REF = f"bots/{BOT}", f"bots/{OTHER_BOT}", f"servers/{SERVER}"


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    return {"votes.cooldown_seconds": 12 * HOUR}


@pytest.fixture(autouse=True)
def listings(gateway: PeopleGateway) -> None:
    """A bot and a server, both approved and without votes."""
    for ref, submission in ((BOT_REF, BOT_SUBMISSION), (SERVER_REF, SERVER_SUBMISSION)):
        listed(gateway, ref, submission)
    gateway.operate("DELETE", f"/manage/users/{BEN}")
    gateway.clock.advance(1)


def listed(gateway: PeopleGateway, ref: str, submission: dict[str, Any]) -> None:
    kind, its_id = ref.split("/")
    gateway.operate("DELETE", f"/manage/{ref}")
    gateway.done("POST", f"/manage/{kind}", {**submission, "id": its_id, "owner_id": DAN})
    gateway.done("POST", f"/manage/{ref}/approve", {})


def vote(gateway: PeopleGateway, ref: str, user: str = BEN) -> None:
    gateway.done("POST", f"/manage/{ref}/votes", {"user": user})


def remind(person: Person, ref: str, remind: str = "on", to: str = "/me/votes") -> str:
    return person.acted("/me/reminders", {"listing": ref, "remind": remind, "to": to})


def votes(person: Person, query: str = "") -> Any:
    return person.get(f"/me/votes.json{query}").json()


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    return gateway.person(BEN)


def test_one_sees_what_one_can_vote_for_now_and_then_what_one_can_later_the_next_first(
    gateway: PeopleGateway, ben: Person
) -> None:
    assert "You have not voted yet" in words(ben.page("/me/votes"))
    assert votes(ben) == {"success": True, "votes": [], "next": None, "is_named": False}
    vote(gateway, BOT_REF)
    gateway.clock.advance(12 * HOUR)
    vote(gateway, BOT_REF)
    at_ms = gateway.clock.now_ms()
    gateway.clock.advance(HOUR)
    vote(gateway, SERVER_REF)
    shown = ben.page("/me/votes")
    assert shown.index(">Later<") < shown.index("Test bot") < shown.index("Test server")
    assert "You can vote for these now" not in shown
    assert "Next vote in 11 hours, at " in words(shown)
    assert "You gave it 2 votes." in words(shown)
    assert f"{BOT_REF}/vote" not in shown
    assert votes(ben)["votes"][0] == {
        "listing": BOT_REF,
        "name": "Test bot",
        "votes": 2,
        "last_at": at_ms,
        "next_at": at_ms + 12 * HOUR * 1_000,
        "reminder": False,
    }
    gateway.clock.advance(11 * HOUR)
    shown = ben.page("/me/votes")
    assert f'href="/{BOT_REF}/vote"' in shown.partition(">Later<")[0]
    assert f"{SERVER_REF}/vote" not in shown
    assert words(shown).partition("Later")[2].find("Test server") > 0


def test_the_time_of_the_next_vote_is_said_as_on_the_vote_page(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    gateway.clock.advance(HOUR + 12 * 60)
    when = re.search(r"again in 10 hours 48 minutes , at (\S+ \S+ UTC)", words(ben.page(f"/{BOT_REF}/vote")))
    assert when is not None
    assert f"Next vote in 10 hours 48 minutes, at {when[1]}" in words(ben.page("/me/votes"))


def test_the_pages_lead_there(ben: Person) -> None:
    for path in ("/", "/me"):
        assert 'href="/me/votes"' in ben.page(path)


def test_one_sees_one_s_own_votes_alone(gateway: PeopleGateway, ada: Person, ben: Person) -> None:
    vote(gateway, BOT_REF, ADA)
    assert votes(ben)["votes"] == []
    assert [each["listing"] for each in votes(ada)["votes"]] == [BOT_REF]


def test_a_vote_after_the_first_look_is_there_at_once(gateway: PeopleGateway, ben: Person) -> None:
    assert votes(ben)["votes"] == []
    vote(gateway, BOT_REF)
    assert [each["votes"] for each in votes(ben)["votes"]] == [1]


def test_many_votes_come_in_pages_that_stay_as_they_are_while_votes_come_in(
    gateway: PeopleGateway, ben: Person
) -> None:
    refs = [f"bots/{600_000_000_000_000_000 + number}" for number in range(VOTED + 2)]
    for ref in refs:
        listed(gateway, ref, BOT_SUBMISSION)
        gateway.clock.advance(1)
        vote(gateway, ref)
    gateway.clock.advance(12 * HOUR)
    first = votes(ben)
    assert [each["listing"] for each in first["votes"]] == refs[:1:-1]
    vote(gateway, BOT_REF)
    second = votes(ben, f"?after={first['next']}")
    assert [each["listing"] for each in second["votes"]] == [*refs[1::-1], BOT_REF]
    assert second["next"] is None
    [following] = re.findall(r'href="(/me/votes\?after=[^"]+)"', ben.page("/me/votes"))
    assert refs[0] in ben.page(html.unescape(following))
    for odd in ("x", "1", "9" * 40, "1.users/1", "1.bots/' or"):
        assert len(ben.get(f"/me/votes.json?after={odd}").json()["votes"]) == VOTED


def test_what_was_removed_goes_quietly(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    vote(gateway, SERVER_REF)
    remind(ben, BOT_REF)
    gateway.operate("DELETE", f"/manage/{BOT_REF}")
    gateway.clock.advance(13 * HOUR)
    assert {each["listing"] for each in votes(ben)["votes"]} == {SERVER_REF}
    assert "ready" not in words(ben.page("/"))
    assert "You can vote for" not in words(ben.page("/me/notices"))


def test_of_what_is_not_public_any_more_one_sees_no_name_and_no_state(
    gateway: PeopleGateway, ben: Person
) -> None:
    vote(gateway, BOT_REF)
    remind(ben, BOT_REF)
    gateway.clock.advance(13 * HOUR)
    hidden = ListingReviewed(BOT_REF, "denied", "A secret reason.", gateway.clock.now_ms())
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([hidden]))
    shown = ben.page("/me/votes")
    assert "a listing that is not public" in words(shown)
    for secret in ("Test bot", "denied", "secret"):
        assert secret not in words(shown)
    assert f"/{BOT_REF}/vote" not in shown
    [row] = votes(ben)["votes"]
    assert (row["name"], row["votes"], row["reminder"]) == (None, 1, True)
    assert "You can vote for" not in words(ben.page("/me/notices"))
    remind(ben, BOT_REF, "off")
    assert votes(ben)["votes"][0]["reminder"] is False


def test_a_reminder_is_one_notice_when_the_cooldown_ends_after_each_vote(
    gateway: PeopleGateway, ben: Person
) -> None:
    vote(gateway, BOT_REF)
    assert "You are reminded when" in remind(ben, BOT_REF)
    for number in range(1, 3):
        gateway.clock.advance(12 * HOUR - 1)
        assert "You can vote for" not in words(ben.page("/me/notices"))
        assert "1 ready" not in words(ben.page("/"))
        gateway.clock.advance(1)
        told = ben.page("/me/notices")
        assert words(told).count("You can vote for Test bot again.") == 1
        assert f'href="/{BOT_REF}/vote"' in told
        assert "1 ready" in words(ben.page("/"))
        assert "1 new notice" in words(ben.page("/me"))
        gateway.clock.advance(5 * HOUR)
        assert words(ben.page("/me/notices")).count("You can vote for Test bot again.") == 1
        until = told.partition('name="until" value="')[2].partition('"')[0]
        read = ben.acted("/me/notices", {"until": until})
        assert words(read).count("You can vote for Test bot again.") == 1
        assert "ready" not in words(ben.page("/"))
        assert "new notice" not in words(ben.page("/me"))
        vote(gateway, BOT_REF)
        assert "You can vote for" not in words(ben.page("/me/notices")), number


def test_a_notice_and_what_was_read_survive_a_restart(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    remind(ben, BOT_REF)
    gateway.clock.advance(13 * HOUR)
    gateway.stop()
    gateway.start()
    told = ben.page("/me/notices")
    assert words(told).count("You can vote for Test bot again.") == 1
    assert '<li class="new">' in told
    ben.acted("/me/notices", {"until": told.partition('name="until" value="')[2].partition('"')[0]})
    gateway.stop()
    gateway.start()
    again = ben.page("/me/notices")
    assert words(again).count("You can vote for Test bot again.") == 1
    assert '<li class="new">' not in again


def test_one_press_turns_it_off_on_each_page_that_shows_it(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    for page in ("/me/votes", "/me/notices"):
        remind(ben, BOT_REF)
        gateway.clock.advance(13 * HOUR)
        vote(gateway, BOT_REF)
        gateway.clock.advance(13 * HOUR)
        assert "Turn the reminder off" in ben.page(page)
        assert "You are not reminded of it any more." in remind(ben, BOT_REF, "off", page)
        assert "You can vote for" not in words(ben.page("/me/notices"))
    assert votes(ben)["votes"][0]["reminder"] is False


def test_the_page_that_a_message_leads_to_asks_and_its_button_turns_the_reminder_off(
    gateway: PeopleGateway, ben: Person
) -> None:
    remind(ben, BOT_REF)
    before = gateway.done("GET", "/debug/overview.json")["positions"]["head"]
    asked = ben.page(f"/me/reminders/{BOT_REF}")
    assert "You are reminded when you can vote for Test bot again." in words(asked)
    assert gateway.done("GET", "/debug/overview.json")["positions"]["head"] == before
    assert votes(ben)["votes"][0]["reminder"] is True
    form = asked.partition('action="/me/reminders"')[2].partition("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)">', form))
    assert fields == {"listing": BOT_REF, "to": "/me/votes", "remind": "off"}
    assert "You are not reminded of it any more." in ben.acted("/me/reminders", fields)
    assert "You are not reminded of Test bot." in words(ben.page(f"/me/reminders/{BOT_REF}"))
    assert votes(ben)["votes"] == []


def test_who_is_not_signed_in_comes_back_to_the_page_that_asks_and_nothing_is_off_by_that(
    gateway: PeopleGateway, ben: Person
) -> None:
    remind(ben, BOT_REF)
    here = f"/me/reminders/{BOT_REF}"
    stranger = gateway.person(None)
    answer = stranger.get(here)
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"/signin?to={here}"
    back = stranger.sign_in_as(BEN, here)
    assert back.headers["Location"] == here
    assert "Turn the reminder off" in stranger.page(here)
    assert votes(ben)["votes"][0]["reminder"] is True


def test_the_page_of_a_reminder_says_nothing_of_what_is_not_public(
    gateway: PeopleGateway, ada: Person, ben: Person
) -> None:
    remind(ben, BOT_REF)
    hidden = ListingReviewed(BOT_REF, "denied", "A secret reason.", gateway.clock.now_ms())
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([hidden]))
    asked = words(ben.page(f"/me/reminders/{BOT_REF}"))
    assert "Turn the reminder off" in asked
    for secret in ("Test bot", "denied", "secret"):
        assert secret not in asked
    assert ada.get(f"/me/reminders/{BOT_REF}").status_code == 404
    remind(ben, BOT_REF, "off")
    assert ben.get(f"/me/reminders/{BOT_REF}").status_code == 404
    assert ben.get("/me/reminders/bots/999999999999999999").status_code == 404


def test_of_a_server_that_is_hidden_no_notice_comes_until_it_is_shown_again(
    gateway: PeopleGateway, ben: Person
) -> None:
    vote(gateway, SERVER_REF)
    remind(ben, SERVER_REF)
    gateway.clock.advance(13 * HOUR)
    now_ms = gateway.clock.now_ms()
    hidden, shown = (eligibility_checked(SERVER_REF, (), now_ms, *since) for since in ((now_ms, now_ms), ()))
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([hidden]))
    assert "You can vote for" not in words(ben.page("/me/notices"))
    assert "1 ready" not in words(ben.page("/"))
    assert votes(ben)["votes"][0]["name"] is None
    assert ben.post("/me/reminders", {"listing": SERVER_REF, "remind": "on"}).status_code == 404
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([shown]))
    assert words(ben.page("/me/notices")).count("You can vote for Test server again.") == 1


def test_below_a_vote_that_counted_one_press_turns_the_reminder_on_and_off(ben: Person) -> None:
    here = f"/{BOT_REF}/vote"
    assert "Remind me" not in ben.page(here)
    ben.acted(here)
    assert "Remind me" in ben.page(here)
    assert "You are reminded when you can vote for it again." in remind(ben, BOT_REF, to=here)
    assert "Turn the reminder off" in ben.page(here)
    assert "Remind me" in remind(ben, BOT_REF, "off", here)
    assert votes(ben)["votes"][0]["votes"] == 1


def test_opting_out_before_the_end_leaves_no_notice(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    remind(ben, BOT_REF)
    gateway.clock.advance(11 * HOUR)
    remind(ben, BOT_REF, "off")
    gateway.clock.advance(2 * HOUR)
    assert "You can vote for" not in words(ben.page("/me/notices"))


def test_a_reminder_that_comes_after_the_end_says_nothing_of_it(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    gateway.clock.advance(13 * HOUR)
    remind(ben, BOT_REF)
    assert "You can vote for" not in words(ben.page("/me/notices"))


def test_one_is_reminded_of_a_listing_before_the_first_vote(ben: Person) -> None:
    shown = remind(ben, BOT_REF)
    assert "Test bot" in words(shown)
    never = {"votes": 0, "last_at": None, "next_at": None}
    assert votes(ben)["votes"] == [{"listing": BOT_REF, "name": "Test bot", **never, "reminder": True}]


def test_a_full_list_says_so_and_changes_nothing(gateway: PeopleGateway, ben: Person) -> None:
    refs = [f"bots/{700_000_000_000_000_000 + number}" for number in range(REMINDERS_MOST)]
    now_ms = gateway.clock.now_ms()
    for ref in refs:
        events = [*listed_events(ref), ReminderSet(user_ref(BEN), ref, now_ms)]
        gateway.on_loop(partial(gateway.gateway.ledger.commit, events))
    assert "You have as many reminders as one can have." in remind(ben, BOT_REF)
    assert len(gateway.done("GET", f"/manage/users/{BEN}/reminders")["reminders"]) == REMINDERS_MOST
    remind(ben, refs[0], "off")
    assert "You are reminded when" in remind(ben, BOT_REF)


@pytest.mark.parametrize(
    "to", ["//evil.example/vote", "/\\evil.example/vote", "/x\r\nX-Y: z/vote", "/bots/\0/vote"]
)
def test_a_reminder_of_what_is_no_listing_leads_to_no_other_place(ben: Person, to: str) -> None:
    listing = to.removeprefix("/").removesuffix("/vote")
    answer = ben.post("/me/reminders", {"listing": listing, "remind": "off", "to": to})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/me/votes")


@pytest.mark.parametrize("listing", ["", "bots/1", "bots/999999999999999999", "users/1", "x" * 300])
def test_there_is_no_reminder_of_what_is_not_there(ben: Person, listing: str) -> None:
    answer = ben.post("/me/reminders", {"listing": listing, "remind": "on", "to": "/me/votes"})
    assert answer.status_code == 404


@pytest.mark.parametrize("to", ["//elsewhere.example/", "https://elsewhere.example", "", "/me/data"])
def test_the_way_back_leads_nowhere_else(ben: Person, to: str) -> None:
    answer = ben.post("/me/reminders", {"listing": BOT_REF, "remind": "on", "to": to})
    assert answer.headers["Location"] == "/me/votes"
    own = ben.post("/me/reminders", {"listing": BOT_REF, "remind": "off", "to": f"/{BOT_REF}/vote"})
    assert own.headers["Location"] == f"/{BOT_REF}/vote"


def test_the_operator_sees_and_clears_the_reminders_of_a_user(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    at_ms = gateway.clock.now_ms()
    remind(ben, BOT_REF)
    path = f"/manage/users/{BEN}/reminders"
    end_ms = at_ms + 12 * HOUR * 1_000
    row = {
        "listing": BOT_REF,
        "name": "Test bot",
        "set_at": at_ms,
        "ends_at": end_ms,
        "is_due": False,
        "is_new": False,
        "message": "none",
    }
    assert gateway.done("GET", path)["reminders"] == [row]
    gateway.clock.advance(12 * HOUR)
    assert gateway.done("GET", path)["reminders"] == [{**row, "is_due": True, "is_new": True}]
    gateway.done("DELETE", path)
    assert gateway.done("GET", path)["reminders"] == []
    gateway.done("DELETE", path)
    assert gateway.operate("GET", "/manage/users/999999999999999999/reminders").status_code == 404


def test_reminders_and_their_notices_are_in_the_download_and_go_with_the_user(
    gateway: PeopleGateway, ben: Person
) -> None:
    vote(gateway, BOT_REF)
    at_ms = gateway.clock.now_ms()
    remind(ben, BOT_REF)
    gateway.clock.advance(12 * HOUR)
    known = ben.get("/me/data.json").json()
    end_ms = at_ms + 12 * HOUR * 1_000
    assert known["reminders"] == [
        {"listing": BOT_REF, "set_ms": at_ms, "ends_ms": end_ms, "is_due": True, "is_new": True}
    ]
    assert "reminders" not in known["account"]
    assert gateway.person(BEN).post("/me/data", {"word": "erase"}).status_code == 303
    again = gateway.person(BEN)
    assert votes(again)["votes"] == []
    assert again.get("/me/data.json").json()["reminders"] == []
    assert "You can vote for" not in words(again.page("/me/notices"))
    assert gateway.done("POST", "/debug/verify")["equal"] is True


def test_the_content_of_the_page_can_be_drawn_alone(gateway: PeopleGateway, ben: Person) -> None:
    vote(gateway, BOT_REF)
    answer = ben.get("/me/votes", **{"HX-Request": "true"})
    assert (answer.status_code, "<html" in answer.text, "Test bot" in answer.text) == (200, False, True)
