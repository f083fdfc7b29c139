"""pages/account/invitations.py: an invited person accepts or declines, and others do not see it."""

import pytest

from core.audit_log import KEPT
from pages.account.my_pages import INVITATIONS
from tests.support.gateways import BOT_SUBMISSION
from tests.support.owned_listings import forbid_to_submit, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY

HERE = f"/bots/{READY}/invitation"
MEMBER = f"/manage/bots/{READY}/extra-owners/{BEN}"


@pytest.fixture
def ben(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(600)
    return gateway.person(BEN)


def invited(gateway: PeopleGateway) -> None:
    list_bot(gateway)
    gateway.done("PUT", MEMBER, {})


def test_who_is_invited_finds_it_and_accepts(gateway: PeopleGateway, ben: Person) -> None:
    invited(gateway)
    gateway.person(ADA)
    mine = ben.page("/me")
    assert "Test bot you are invited to be a co-owner" in words(mine)
    assert f'href="{HERE}"' in mine
    page = words(ben.page(HERE))
    assert (
        f"Ada, who owns bots ID {ADA} Ada, who owns bots invites you to become a co-owner of Test bot ."
        in page
    )
    assert "You are a co-owner now." in words(ben.acted(HERE, {"act": "join"}))
    assert gateway.done("GET", f"/manage/bots/{READY}")["extra_owners"] == [BEN]
    assert "Test bot has a new co-owner." in words(gateway.person(ADA).page("/me/notices"))
    assert ben.get(HERE).status_code == 403, "it is answered"


def test_who_declines_has_nothing_and_the_owner_is_told(gateway: PeopleGateway, ben: Person) -> None:
    invited(gateway)
    gateway.done("PUT", f"/manage/bots/{READY}/hand-over", {"heir": BEN})
    assert "You declined." in words(ben.acted(HERE, {"act": "decline"}))
    ben.acted(HERE, {"act": "decline_offer"})
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    assert (kept["owner_id"], kept["extra_owners"], kept["invited"], kept["hand_over"]) == (ADA, [], [], None)
    assert ben.get(HERE).status_code == 404
    told = words(gateway.person(ADA).page("/me/notices"))
    assert "Somebody declined to be a co-owner of Test bot ." in told
    assert "Your offer to hand over Test bot was declined. You stay the owner." in told


@pytest.mark.parametrize("act", ["join", "take", "decline", "decline_offer", "", "x"])
def test_nobody_else_answers(gateway: PeopleGateway, act: str) -> None:
    gateway.clock.advance(600)
    invited(gateway)
    before = gateway.done("GET", f"/manage/bots/{READY}")
    for user, status in ((DAN, 404), (ADA, 403), (CLEO, 403)):
        person = gateway.person(user)
        assert [person.get(HERE).status_code, person.post(HERE, {"act": act}).status_code] == [status] * 2
    assert gateway.done("GET", f"/manage/bots/{READY}") == before


@pytest.mark.parametrize("act", ["take", "decline_offer", "", "x"])
def test_who_is_invited_cannot_answer_what_was_not_asked(
    gateway: PeopleGateway, ben: Person, act: str
) -> None:
    invited(gateway)
    assert ben.post(HERE, {"act": act}).status_code == 404
    assert gateway.done("GET", f"/manage/bots/{READY}")["invited"] == [BEN]


def test_who_is_not_signed_in_signs_in_first(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    invited(gateway)
    answer = gateway.person(None).get(HERE)
    assert (answer.status_code, answer.headers["Location"].startswith("/signin")) == (303, True)


def test_a_withdrawn_invitation_is_gone(gateway: PeopleGateway, ben: Person) -> None:
    invited(gateway)
    gateway.done("DELETE", MEMBER)
    assert ben.post(HERE, {"act": "join"}).status_code == 404
    assert "you are invited" not in words(ben.page("/me"))


def test_the_link_of_a_server_is_for_its_heir_alone(gateway: PeopleGateway, ben: Person) -> None:
    list_server(gateway)
    assert ben.get("/servers/1/invitation").status_code == 404


def test_of_many_invitations_the_first_are_shown(gateway: PeopleGateway, ben: Person) -> None:
    bots = [str(800_000_000_000_000_000 + number) for number in range(INVITATIONS + 2)]
    for bot in bots:
        list_bot(gateway, bot, owner=DAN)
        gateway.done("PUT", f"/manage/bots/{bot}/extra-owners/{BEN}", {})
    page = ben.page("/me")
    assert page.count("you are invited to be a co-owner") == INVITATIONS
    assert "There are 2 more." in words(page)
    for bot in bots:
        gateway.done("DELETE", f"/manage/bots/{bot}")


@pytest.mark.parametrize("who", [ADA, BEN], ids=["owner", "heir"])
def test_nobody_inherits_while_owner_or_heir_may_not_submit(gateway: PeopleGateway, who: str) -> None:
    gateway.clock.advance(600)
    list_bot(gateway)
    gateway.done("PUT", f"/manage/bots/{READY}/hand-over", {"heir": BEN})
    ben = gateway.person(BEN)
    forbid_to_submit(gateway, who, 60)
    refused = ben.post(HERE, {"act": "take"})
    assert (refused.status_code, "It was" in words(refused.text)) == (
        (403, True) if who == BEN else (409, False)
    )
    assert gateway.done("GET", f"/manage/bots/{READY}")["owner_id"] == ADA
    gateway.clock.advance(61)
    ben.acted(HERE, {"act": "take"})
    assert gateway.done("GET", f"/manage/bots/{READY}")["owner_id"] == BEN


def test_a_new_owner_who_saves_often_washes_no_notice_away(gateway: PeopleGateway, ben: Person) -> None:
    list_bot(gateway)
    gateway.done("PUT", f"/manage/bots/{READY}/hand-over", {"heir": BEN})
    ben.acted(HERE, {"act": "take"})
    form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"} | {"owner_id": BEN}
    for number in range(KEPT + 1):
        gateway.clock.advance(1)
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, "name": f"Version {number}"})
    assert f"Version {KEPT} has a new owner." in words(gateway.person(ADA).page("/me/notices"))
