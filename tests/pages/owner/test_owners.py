"""pages/owner/owners.py: only the owner invites others, and nobody becomes an owner without consent."""

import re
from typing import Any

import pytest

from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY

BOT, INVITATION = f"/bots/{READY}", f"/bots/{READY}/invitation"
HERE, KEYS = f"{BOT}/manage/owners", f"{BOT}/manage/keys"
HOUR_SECONDS = 3_600
STRANGER = "210000000000000000"


def shown(gateway: PeopleGateway, one: str = BOT) -> dict[str, Any]:
    found: dict[str, Any] = gateway.done("GET", f"/manage{one}")
    return found


def owners(gateway: PeopleGateway) -> tuple[str, list[str], list[str]]:
    kept = shown(gateway)
    return kept["owner_id"], kept["extra_owners"], kept["invited"]


def invite(owner: Person, user: str) -> str:
    return words(owner.acted(HERE, {"act": "invite", "user": user}))


def issue(gateway: PeopleGateway, user: str, name: str) -> str:
    """Issue a key on the page, and return its value."""
    answer = gateway.person(user).post(KEYS, {"name": name})
    found = re.search(r"vg_[\w-]{43}", answer.text)
    assert found is not None
    return found[0]


def test_an_invitation_gives_no_right_until_it_is_accepted(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="approve")
    before = shown(gateway)
    page = invite(ada, BEN)
    assert "The person is invited." in page
    assert f"{gateway.base_url}{INVITATION}" in page
    after = shown(gateway)
    assert {name for name in after if after[name] != before[name]} == {"invited"}
    ben = gateway.person(BEN)
    for tab in ("", "/profile", "/keys", "/webhook", "/owners", "/leave", ".json"):
        assert ben.get(f"{BOT}/manage{tab}").status_code == 404
    assert owners(gateway) == (ADA, [], [BEN])


@pytest.mark.parametrize("typed", ["", "1", "<script>alert(1)</script>"])
def test_what_is_no_user_is_shown_again(gateway: PeopleGateway, ada: Person, typed: str) -> None:
    list_bot(gateway)
    for act, field in (("invite", "user"), ("offer", "heir")):
        answer = ada.post(HERE, {"act": act, field: typed})
        assert (answer.status_code, f'id="{field}-problem"' in answer.text) == (400, True)
        assert typed.replace("<", "&lt;").replace(">", "&gt;") in answer.text
    assert owners(gateway) == (ADA, [], [])


def test_owners_who_have_signed_in_are_shown_by_name(gateway: PeopleGateway, ada: Person) -> None:
    gateway.person(BEN)
    list_bot(gateway, extra=[BEN, STRANGER])
    page = words(ada.page(HERE))
    assert f"Ben, who votes ID {BEN} co-owner" in page
    assert f"? {STRANGER} co-owner" in page


def test_a_co_owner_leaves_and_the_owner_is_told(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN])
    ben = gateway.person(BEN)
    assert "You lose your rights on this listing at once." in words(ben.page(f"{BOT}/manage/leave"))
    assert "You have left the listing." in words(ben.acted(f"{BOT}/manage/leave"))
    assert owners(gateway) == (ADA, [], [])
    assert ben.get(f"{BOT}/manage").status_code == 404
    assert "A co-owner has left Test bot ." in words(ada.page("/me/notices"))


def test_a_moderator_who_is_named_decides_as_before_and_who_joined_can_leave_to_decide(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway)
    cleo = gateway.person(CLEO)
    invite(ada, CLEO)
    ada.acted(HERE, {"act": "offer", "heir": CLEO})
    desk = f"/review{BOT}"
    assert f"{desk}/approve" in cleo.page(desk)
    cleo.acted(INVITATION, {"act": "join"})
    assert f"{desk}/approve" not in cleo.page(desk)
    cleo.acted(f"{BOT}/manage/leave")
    assert f"{desk}/approve" in cleo.page(desk)
    seen = str(shown(gateway)["updated_at"])
    assert cleo.post(f"{desk}/deny", {"seen": seen, "words": "It is silent."}).status_code == 303
    assert shown(gateway)["state"] == "denied"


def test_the_keys_of_who_was_taken_out_are_listed_and_revoked(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN], decision="approve")
    mine = issue(gateway, ADA, "of Ada")
    theirs = [issue(gateway, BEN, name) for name in ("first of Ben", "second of Ben", "third of Ben")]
    assert "Keys of former owners" not in ada.page(HERE)
    page = ada.acted(HERE, {"act": "remove", "user": BEN})
    assert "This person has no rights on the listing any more." in words(page)
    assert ("of Ada" in page, page.count("of Ben</th>")) == (False, 3)
    ids = re.findall(r'name="key" value="([0-9a-f]{24})"', page)
    assert [gateway.voters(key, READY).status_code for key in (mine, *theirs)] == [200] * 4
    page = ada.acted(HERE, {"act": "revoke", "key": ids[0]})
    assert page.count("of Ben</th>") == 2
    page = ada.acted(HERE, {"act": "revoke", "key": "all"})
    assert "Keys of former owners" not in page
    assert [gateway.voters(key, READY).status_code for key in (mine, *theirs)] == [200, 401, 401, 401]


def test_a_key_of_a_present_owner_is_not_revoked_here(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN], decision="approve")
    key = issue(gateway, BEN, "of Ben")
    (listed,) = gateway.done("GET", f"/manage{BOT}/keys")["keys"]
    for which in (listed["id"], "all"):
        ada.acted(HERE, {"act": "revoke", "key": which})
    assert gateway.voters(key, READY).status_code == 200


def test_an_old_value_that_works_on_is_one_of_its_maker(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN], decision="approve")
    issue(gateway, BEN, "of Ben")
    (listed,) = gateway.done("GET", f"/manage{BOT}/keys")["keys"]
    ada.post(f"{KEYS}/{listed['id']}/rotate", {"overlap_seconds": "3600"})
    ada.acted(HERE, {"act": "remove", "user": BEN})
    assert "Keys of former owners" in ada.page(HERE)
    ada.post(f"{KEYS}/{listed['id']}/rotate", {"overlap_seconds": "0"})
    assert "Keys of former owners" not in ada.page(HERE)


@pytest.mark.parametrize("kind", ["bots", "servers"])
def test_a_listing_is_handed_over_when_the_successor_accepts(
    gateway: PeopleGateway, ada: Person, kind: str
) -> None:
    one = BOT if kind == "bots" else f"/servers/{SERVER}"
    if kind == "bots":
        list_bot(gateway, extra=[DAN])
    else:
        list_server(gateway)
    page = ada.acted(f"{one}/manage/owners", {"act": "offer", "heir": BEN})
    assert "You stay the owner unless they accept." in words(page)
    ben = gateway.person(BEN)
    assert (shown(gateway, one)["owner_id"], ben.get(f"{one}/manage").status_code) == (ADA, 404)
    assert "you are offered the ownership" in words(ben.page("/me"))
    assert "The listing is yours now." in words(ben.acted(f"{one}/invitation", {"act": "take"}))
    assert shown(gateway, one)["owner_id"] == BEN
    assert ben.get(f"{one}/manage/owners").status_code == 200
    name = shown(gateway, one)["name"]
    assert f"{name} is yours now." in words(ben.page("/me/notices"))
    if kind == "bots":
        assert {*shown(gateway)["extra_owners"]} == {ADA, DAN}
        assert "Test bot has a new owner." in words(ada.page("/me/notices"))
    else:
        assert ada.get(f"{one}/manage").status_code == 404


def test_an_offer_is_withdrawn_and_lapses(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    ben = gateway.person(BEN)
    ada.acted(HERE, {"act": "offer", "heir": BEN})
    ada.acted(HERE, {"act": "withdraw"})
    assert ben.post(INVITATION, {"act": "take"}).status_code == 404
    ada.acted(HERE, {"act": "offer", "heir": BEN})
    gateway.clock.advance(7 * 86_400)
    ben, ada = gateway.person(BEN), gateway.person(ADA)
    assert "The offer has lapsed" in words(ben.page(INVITATION))
    assert "offered the ownership" not in words(ben.page("/me"))
    assert ben.post(INVITATION, {"act": "take"}).status_code == 404
    assert "Offer the ownership" in ada.page(HERE)
    assert owners(gateway) == (ADA, [], [])


def test_what_was_done_before_in_another_window_is_no_error(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN])
    for _ in "12":
        page = ada.acted(HERE, {"act": "remove", "user": BEN})
    assert BEN not in page
    ada.acted(HERE, {"act": "withdraw"})


def test_there_is_room_for_4(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[BEN])
    for number in range(3):
        invite(ada, str(int(STRANGER) + number))
    assert 'value="invite"' not in ada.page(HERE)
    answer = ada.post(HERE, {"act": "invite", "user": DAN})
    assert (answer.status_code, len(owners(gateway)[2])) == (409, 3)


def test_it_takes_a_fresh_sign_in(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    gateway.clock.advance(HOUR_SECONDS)
    for answer in (ada.get(HERE), ada.post(HERE, {"act": "invite", "user": BEN})):
        assert (answer.status_code, "Is it still you?" in answer.text) == (403, True)
        assert f'name="to" value="{HERE}"' in answer.text
    assert owners(gateway) == (ADA, [], [])


def test_a_server_has_a_hand_over_alone(gateway: PeopleGateway, ada: Person) -> None:
    list_server(gateway)
    here = f"/servers/{SERVER}/manage/owners"
    page = ada.page(here)
    assert ("Hand over the ownership" in page, "Co-owners" in page) == (True, False)
    ada.acted(here, {"act": "invite", "user": BEN})
    assert "you are invited" not in words(gateway.person(BEN).page("/me"))
