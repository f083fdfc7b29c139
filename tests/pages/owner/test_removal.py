"""pages/owner/owners.py: a listing goes when its owner types its name."""

import pytest

from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person
from tests.support.platform_stand_in import READY

HERE = f"/bots/{READY}/manage/danger"
HOUR_SECONDS = 3_600


def is_there(gateway: PeopleGateway, path: str = f"bots/{READY}") -> bool:
    return gateway.operate("GET", f"/manage/{path}").status_code == 200


@pytest.mark.parametrize("typed", ["", "test bot", "Test bot 2", READY])
def test_another_name_removes_nothing(gateway: PeopleGateway, ada: Person, typed: str) -> None:
    list_bot(gateway)
    answer = ada.post(HERE, {"name": typed})
    assert (answer.status_code, "This is another name." in answer.text) == (400, True)
    assert is_there(gateway)


def test_the_name_removes_it(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, decision="approve")
    assert "It is removed" in words(ada.acted(HERE, {"name": "Test bot"}))
    assert not is_there(gateway)
    assert ada.get(HERE).status_code == 404


def test_a_name_is_typed_as_a_browser_shows_it(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway, name=" A  <b>bot</b> ")
    assert "Type “ A  &lt;b&gt;bot&lt;/b&gt; ”" in ada.page(HERE)
    ada.acted(HERE, {"name": "A <b>bot</b>"})
    assert not is_there(gateway)


def test_a_server_is_removed_too(gateway: PeopleGateway, ada: Person) -> None:
    list_server(gateway)
    ada.acted(f"/servers/{SERVER}/manage/danger", {"name": "Test server"})
    assert not is_there(gateway, f"servers/{SERVER}")


def test_it_takes_a_fresh_sign_in(gateway: PeopleGateway, ada: Person) -> None:
    list_bot(gateway)
    gateway.clock.advance(HOUR_SECONDS)
    for answer in (ada.get(HERE), ada.post(HERE, {"name": "Test bot"})):
        assert (answer.status_code, "Is it still you?" in answer.text) == (403, True)
    assert is_there(gateway)
