"""pages/owner/take_over.py: a user who proves to own a listing gets it, and both owners read of it."""

import re
from collections.abc import Iterator

import pytest

from core.actors import user_actor
from tests.support.gateways import SERVER_SUBMISSION
from tests.support.listed_servers import reader, serving_servers, unlist
from tests.support.owned_listings import TYPED, describe, forbid_to_submit, list_bot
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import ADA, BEN, GOOD_SERVER, MANAGED, READY
from tests.support.slots_set import ownership_proven

HERE = f"/bots/{READY}/take-over"
MANAGE = f"/bots/{READY}/manage"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving_servers(tmp_path_factory.mktemp("taken") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway) -> None:
    gateway.clock.advance(600)
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    unlist(gateway, GOOD_SERVER, MANAGED)
    describe(gateway, "A bot.")


def code_on(page: str) -> str:
    (code,) = re.findall(r'<code class="once" id="proof">(verify-[0-9a-f]{10})</code>', page)
    return str(code)


def list_server(gateway: PeopleGateway, server: str, owner: str) -> None:
    gateway.done("POST", "/manage/servers", {**SERVER_SUBMISSION, "id": server, "owner_id": owner})


# -- Bots -------------------------------------------------------------------------------------------------


def test_the_form_of_a_listed_bot_leads_to_the_take_over(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    for answer in (ada.get(f"/bots/new?id={READY}"), ada.post("/bots/new", TYPED)):
        assert answer.status_code == 409
        assert f'href="{HERE}"' in answer.text
    assert f'href="{HERE}"' not in gateway.person(BEN).get(f"/bots/new?id={READY}").text


def test_a_squatted_bot_goes_to_the_one_whose_code_is_in_its_description(
    gateway: PeopleGateway, ada: Person
) -> None:
    list_bot(gateway, owner=BEN, decision="approve", name="Squatted")
    key = gateway.done("POST", f"/manage/bots/{READY}/keys", {"name": "tests"})["key"]
    gateway.done("PUT", f"/manage/bots/{READY}/webhook", {"url": "http://127.0.0.1:9/"})
    gateway.done("POST", f"/manage/bots/{READY}/votes", {"user": ADA})
    code = code_on(ada.page(HERE))
    refused = ada.post(HERE)
    assert (refused.status_code, "does not contain the code" in refused.text) == (409, True)
    describe(gateway, f"A bot. {code}")
    assert "It is yours now." in words(ada.acted(HERE))
    shown = gateway.done("GET", f"/manage/bots/{READY}")
    assert (shown["owner_id"], shown["state"], shown["name"]) == (ADA, "approved", "Squatted")
    assert gateway.voters(key, READY, ADA).status_code == 401
    assert gateway.operate("GET", f"/manage/bots/{READY}/webhook").status_code == 404
    assert (
        gateway.done("POST", f"/manage/bots/{READY}/votes/check", {"users": [ADA]})["votes"][0]["vote"] == 1
    )
    ben = gateway.person(BEN)
    assert ben.get(MANAGE).status_code == 404
    assert "Squatted is not yours any more" in words(ben.page("/me/notices"))
    assert "Squatted was taken over: its new owner proved the ownership" in words(ada.page("/me/notices"))


def test_a_denied_bot_leads_its_new_owner_to_the_profile(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN, decision="deny")
    describe(gateway, code_on(ada.page(HERE)))
    assert ada.post(HERE).headers["Location"] == f"{MANAGE}/profile"
    assert "Test bot" not in words(gateway.person(BEN).page("/me/notices"))


def test_the_code_of_another_user_takes_nothing(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    describe(gateway, code_on(gateway.person(BEN).page(MANAGE)))
    assert ada.post(HERE).status_code == 409
    assert gateway.done("GET", f"/manage/bots/{READY}")["owner_id"] == BEN


def test_a_proven_owner_keeps_the_bot(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    ben, code = gateway.person(BEN), code_on(ada.page(HERE))
    describe(gateway, f"{code_on(ben.page(MANAGE))} {code}")
    ben.acted(f"{MANAGE}/prove")
    page = ada.page(HERE)
    assert "The present owner has proven that they own the bot." in words(page)
    assert '<code class="code">' not in page
    assert ada.post(HERE).status_code == 409
    assert gateway.done("GET", f"/manage/bots/{READY}")["owner_id"] == BEN


def test_while_the_platform_is_away_nothing_is_taken(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    gateway.stand_in.goes_wrong(f"/applications/{READY}/rpc", "500")
    answer = ada.post(HERE)
    assert (answer.status_code, "gives no answer that can be used" in answer.text) == (503, True)


def test_who_asks_the_platform_too_often_has_to_wait(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    statuses = [ada.post(HERE).status_code for _ in range(6)]
    assert statuses == [409] * 5 + [429]


def test_who_may_submit_nothing_takes_nothing(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN)
    describe(gateway, code_on(ada.page(HERE)))
    forbid_to_submit(gateway, ADA, 60)
    answer = ada.post(HERE)
    assert (answer.status_code, "It was &lt;b&gt;spam&lt;/b&gt;." in answer.text) == (403, True)
    gateway.clock.advance(60)


def test_who_owns_it_is_led_to_it_and_a_listing_that_is_not_there_is_404(
    gateway: PeopleGateway, ada: Person
) -> None:
    assert ada.get(HERE).status_code == 404
    list_bot(gateway)
    for answer in (ada.get(HERE), ada.post(HERE)):
        assert (answer.status_code, answer.headers["Location"]) == (303, MANAGE)


def test_the_page_shows_nothing_that_the_owner_wrote(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, owner=BEN, name="Squatted")
    assert "Squatted" not in ada.page(HERE)


# -- Servers ----------------------------------------------------------------------------------------------


def test_the_owner_at_the_platform_takes_a_server_over(gateway: PeopleGateway) -> None:
    list_server(gateway, GOOD_SERVER, BEN)
    ada, here = reader(gateway), f"/servers/{GOOD_SERVER}/take-over"
    assert f'href="{here}"' in ada.page("/servers/new")
    assert "Take this server over" in words(ada.page(here))
    assert "It is yours now." in words(ada.acted(here))
    assert gateway.done("GET", f"/manage/servers/{GOOD_SERVER}")["owner_id"] == ADA


def test_a_manager_takes_an_unproven_server_and_no_proven_one(gateway: PeopleGateway) -> None:
    list_server(gateway, MANAGED, BEN)
    here = f"/servers/{MANAGED}/take-over"
    ada = reader(gateway)
    assert ada.post(here).status_code == 303
    gateway.done("DELETE", f"/manage/servers/{MANAGED}")
    list_server(gateway, MANAGED, BEN)
    prove_for(gateway, f"servers/{MANAGED}", BEN)
    answer = ada.post(here)
    assert (answer.status_code, "proven that they manage the server" in answer.text) == (409, True)
    assert gateway.done("GET", f"/manage/servers/{MANAGED}")["owner_id"] == BEN


def test_without_a_list_the_page_offers_to_read_it_and_takes_nothing(gateway: PeopleGateway) -> None:
    list_server(gateway, GOOD_SERVER, BEN)
    here = f"/servers/{GOOD_SERVER}/take-over"
    ada = gateway.person(ADA)
    assert "Read my servers" in words(ada.page(here))
    assert ada.post(here).status_code == 409
    assert ada.sign_in_as(ADA, here).headers["Location"] == here
    assert ada.post(here).status_code == 303


def test_who_does_not_manage_the_server_is_told_so(gateway: PeopleGateway) -> None:
    list_server(gateway, GOOD_SERVER, ADA)
    ben, here = gateway.person(None), f"/servers/{GOOD_SERVER}/take-over"
    ben.sign_in_as(BEN, here)
    assert "You do not manage this server." in words(ben.page(here))
    assert ben.post(here).status_code == 409
    gateway.stand_in.goes_wrong("/users/@me/guilds", "500")
    ben.sign_in_as(BEN, here)
    assert "gives no answer that can be used" in words(ben.page(here))


def prove_for(gateway: PeopleGateway, ref: str, user: str) -> None:
    """Note a proof of the user, as the submission of a server does."""
    proven = ownership_proven(ref, gateway.clock.now_ms(), by=user_actor(user))
    gateway.on_loop(lambda: gateway.gateway.ledger.commit([proven]))
