"""web/people/owner_pages.py: the owner alone says who the owners are."""

import pytest

from tests.support.owned_listings import list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, CLEO, DAN, READY

HERE = f"/bots/{READY}/manage/owners"
HOUR_SECONDS = 3_600


def owners(gateway: PeopleGateway) -> tuple[str, list[str]]:
    kept = gateway.done("GET", f"/manage/bots/{READY}")
    return kept["owner_id"], kept["extra_owners"]


def test_the_owner_names_extra_owners_and_the_profile_stays(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="approve")
    before = gateway.done("GET", f"/manage/bots/{READY}")
    shown = ada.acted(HERE, {"extra_owners": f"{BEN}\r\n{DAN}"})
    assert "It is saved." in words(shown)
    after = gateway.done("GET", f"/manage/bots/{READY}")
    changed = {name for name in after if after[name] != before[name]}
    assert (owners(gateway), changed - {"updated_at"}) == ((ADA, [BEN, DAN]), {"extra_owners"})
    ada.acted(HERE, {"extra_owners": ""})
    assert owners(gateway) == (ADA, [])


def test_owners_who_have_signed_in_are_shown_by_name(gateway: PeopleGateway, ada: Person) -> None:
    gateway.person(BEN)
    list_bot(gateway, extra=[BEN, "210000000000000000"])
    shown = words(ada.page(HERE))
    assert f"together with Ben, who votes {BEN} , 210000000000000000" in shown


@pytest.mark.parametrize("typed", [ADA, "1", f"{BEN}\n{BEN}", "<script>alert(1)</script>"])
def test_refused_owners_are_shown_again(gateway: PeopleGateway, ada: Person, typed: str) -> None:
    list_bot(gateway, extra=[DAN])
    answer = ada.post(HERE, {"extra_owners": typed})
    assert (answer.status_code, 'id="extra_owners-problem"' in answer.text) == (400, True)
    assert typed.replace("<", "&lt;").replace(">", "&gt;") in answer.text
    assert owners(gateway) == (ADA, [DAN])


def test_a_bot_is_handed_over_to_an_extra_owner_alone(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, extra=[DAN, BEN])
    for stranger in (CLEO, ADA, ""):
        answer = ada.post(HERE, {"act": "hand_over", "heir": stranger})
        assert (answer.status_code, 'id="heir-problem"' in answer.text) == (400, True)
    shown = ada.acted(HERE, {"act": "hand_over", "heir": BEN})
    assert "The bot has a new owner." in words(shown)
    assert owners(gateway) == (BEN, [ADA, DAN])
    assert ada.get(HERE).status_code == 403
    assert gateway.person(BEN).get(HERE).status_code == 200
    told = {user: words(gateway.person(user).page("/me/notices")) for user in (BEN, ADA, DAN)}
    assert "Test bot is yours now." in told[BEN]
    assert ("Test bot has a new owner." in told[ADA], "Test bot has a new owner." in told[DAN]) == (
        True,
        True,
    )
    assert "1 new notice" in words(gateway.person(BEN).page("/me"))
    assert "handed over" in words(gateway.person(BEN).page(f"/bots/{READY}/manage"))


def test_to_save_the_owners_of_a_denied_bot_sends_it_again_and_says_so(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway, decision="deny")
    assert "Saving sends it to the moderators again." in words(ada.page(HERE))
    ada.acted(HERE, {"extra_owners": BEN})
    assert gateway.done("GET", f"/manage/bots/{READY}")["state"] == "in_review"


def test_it_takes_a_fresh_sign_in(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    gateway.clock.advance(HOUR_SECONDS)
    for answer in (ada.get(HERE), ada.post(HERE, {"extra_owners": BEN})):
        assert (answer.status_code, "Is it still you?" in answer.text) == (403, True)
        assert f'name="to" value="{HERE}"' in answer.text
    assert owners(gateway) == (ADA, [])
