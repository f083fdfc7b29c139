"""A person's listings, notices and sessions, on a whole gateway."""

import html
import re

import pytest

from pages.account.my_pages import LISTINGS
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN

HOUR_SECONDS = 3_600


def submit(gateway: PeopleGateway, bot: str, owner: str) -> None:
    gateway.operate("DELETE", f"/manage/bots/{bot}")
    gateway.done("POST", "/manage/bots", {**BOT_SUBMISSION, "id": bot, "owner_id": owner})


def test_a_stranger_sees_the_first_page_and_is_sent_to_sign_in_by_all_others(gateway: PeopleGateway) -> None:
    stranger = gateway.person(None)
    assert "List your bot" in stranger.page("/")
    for path in ("/me", "/me/notices", "/me/sessions", "/me/data"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/signin?to={path}")


def test_one_sees_one_s_own_listings_their_state_and_their_place_in_the_queue(
    gateway: PeopleGateway, ada: Person
) -> None:
    submit(gateway, OTHER_BOT, BEN)
    gateway.clock.advance(1)
    submit(gateway, BOT, ADA)
    shown = words(ada.page("/me"))
    assert "Test bot" in shown
    assert "Next: prove that it is yours. In review Bot place 2" in shown
    assert f"/bots/{BOT}/manage" in ada.page("/me")
    assert OTHER_BOT not in ada.page("/me")


def test_who_owns_many_sees_them_in_pages(gateway: PeopleGateway) -> None:
    bots = [str(500_000_000_000_000_000 + number) for number in range(LISTINGS + 1)]
    for bot in bots:
        submit(gateway, bot, DAN)
    dan = gateway.person(DAN)
    first = dan.page("/me")
    assert [f"{bot}/manage" in first for bot in bots] == [True] * LISTINGS + [False]
    [following] = re.findall(r'href="(/me\?after=[^"]+)"', first)
    second = dan.page(html.unescape(following))
    assert [f"{bot}/manage" in second for bot in bots] == [False] * LISTINGS + [True]
    assert 'href="/me?after=' not in second
    gateway.operate("POST", f"/manage/bots/{bots[-1]}/approve")
    assert "1 new notice" in words(dan.page("/me"))


def test_a_decision_of_others_is_a_notice_until_it_is_read(gateway: PeopleGateway, ada: Person) -> None:
    submit(gateway, BOT, ADA)
    gateway.clock.advance(1)
    gateway.done("POST", f"/manage/bots/{BOT}/deny", {"reason": "It is <b>too</b> quiet."})
    assert "1 new notice" in words(ada.page("/me"))
    assert "Notices: 1 new" in words(ada.page("/bots")), "the bell of every page"
    told = ada.page("/me/notices")
    assert f'href="/bots/{BOT}/manage/profile"' in told
    assert "is denied: It is &lt;b&gt;too&lt;/b&gt; quiet." in told
    gateway.clock.advance(1)
    until = told.partition('name="until" value="')[2].partition('"')[0]
    assert '<li class="new">' not in ada.acted("/me/notices", {"until": until})
    assert "new notice" not in ada.page("/me")
    assert "Notices: 1 new" not in words(ada.page("/bots"))


def test_an_invitation_is_a_notice_that_leads_to_the_answer(gateway: PeopleGateway) -> None:
    submit(gateway, BOT, ADA)
    gateway.clock.advance(1)
    gateway.done("PUT", f"/manage/bots/{BOT}/extra-owners/{BEN}")
    ben = gateway.person(BEN)
    assert "Notices: 1 new" in words(ben.page("/bots"))
    told = ben.page("/me/notices")
    assert "You are invited to be a co-owner of Test bot" in words(told)
    assert "Accept or decline" in words(told)
    assert f'href="/bots/{BOT}/invitation"' in told
    ben.acted(f"/bots/{BOT}/invitation", {"act": "decline"})
    assert "You are invited" not in words(ben.page("/me/notices"))


def test_what_came_while_the_page_was_read_stays_new(gateway: PeopleGateway, ada: Person) -> None:
    submit(gateway, BOT, ADA)
    gateway.clock.advance(1)
    gateway.done("POST", f"/manage/bots/{BOT}/deny", {"reason": "It is quiet."})
    shown = ada.page("/me/notices")
    gateway.clock.advance(1)
    gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": 12})
    until = shown.partition('name="until" value="')[2].partition('"')[0]
    ada.acted("/me/notices", {"until": until})
    assert "1 new notice" in words(ada.page("/me"))
    for odd in ("", "soon", "9" * 19):
        ada.acted("/me/notices", {"until": odd})
    gateway.clock.advance(1)
    gateway.done("PUT", f"/manage/bots/{BOT}/actual-server-count", {"server_count": 13})
    assert "1 new notice" in words(ada.page("/me")), "nobody has read what is to come"


def test_one_s_own_acts_are_no_notices(gateway: PeopleGateway, ada: Person) -> None:
    submit(gateway, BOT, ADA)
    assert "submitted" not in ada.page("/me/notices")


def test_sessions_are_listed_and_ended_one_by_one_and_together(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    here, there, elsewhere = (gateway.person(BEN) for _ in range(3))
    page = here.page("/me/sessions")
    ids = page.split('name="session" value="')[1:]
    assert page.count("this browser") == 1
    chosen = ids[0].partition('"')[0]
    here.acted("/me/sessions", {"session": chosen})
    assert sorted(each.get("/me").status_code for each in (here, there, elsewhere)) == [200, 200, 303]
    here.acted("/me/sessions", {"session": "others"})
    assert [each.get("/me").status_code for each in (here, there, elsewhere)] == [200, 303, 303]
    for wrong in ("", "nothing", "0" * 16):
        here.acted("/me/sessions", {"session": wrong})
    assert here.get("/me").status_code == 200


def test_a_session_ends_when_it_is_idle_or_too_old(gateway: PeopleGateway) -> None:
    person, moderator = gateway.person(BEN), gateway.person(CLEO)
    gateway.clock.advance(12 * HOUR_SECONDS)
    assert (person.get("/me").status_code, moderator.get("/me").status_code) == (200, 303)
    for _ in range(8):
        gateway.clock.advance(11 * 24 * HOUR_SECONDS)
        assert person.get("/me").status_code == 200
    gateway.clock.advance(2 * 24 * HOUR_SECONDS)
    assert person.get("/me").status_code == 303


@pytest.mark.parametrize("path", ["/", "/me", "/me/notices", "/me/sessions", "/me/data"])
def test_a_part_of_a_page_can_be_drawn_alone(ada: Person, path: str) -> None:
    answer = ada.get(path, **{"HX-Request": "true"})
    assert (answer.status_code, "<html" in answer.text) == (200, False)


def test_pages_of_people_are_in_no_cache(ada: Person) -> None:
    for path in ("/", "/me", "/me/data.json"):
        assert ada.get(path).headers["Cache-Control"] == "no-store"
