"""Emojis go to a server of the chat platform through the bot of the site, if its manager wants them there."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from tests.support.gateways import WAIT_SECONDS
from tests.support.listed_emojis import approved, digest
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.platform_stand_in import (
    ADA,
    BEN,
    BOT_TOKEN,
    GOOD_SERVER,
    MANAGED,
    NOT_MANAGED,
    WITHOUT_BOT,
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    settings = {"chat_platform.bot_token": BOT_TOKEN, "chat_platform.timeout_seconds": 1}
    with serving(tmp_path_factory.mktemp("emojis") / "data", **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def one(gateway: PeopleGateway) -> str:
    return approved(gateway, digest(gateway, 1), name="single")


@pytest.fixture(scope="module")
def package(gateway: PeopleGateway) -> str:
    return approved(gateway, *(digest(gateway, number) for number in range(10, 14)))


def manager(gateway: PeopleGateway, here: str, user: str = ADA) -> Person:
    """Return a user whose servers the platform has just said, on a new day."""
    gateway.clock.advance(86_400)
    for server in (GOOD_SERVER, MANAGED, WITHOUT_BOT):
        gateway.stand_in.change_server(server, bot_adds_emojis=True, emoji_slots=1_000)
    person = Person(gateway)
    assert person.sign_in_as(user, f"{here}/add-to-server").headers["Location"] == f"{here}/add-to-server"
    return person


def emojis(gateway: PeopleGateway, server: str = GOOD_SERVER) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bot {BOT_TOKEN}"}
    url = f"{gateway.stand_in.access.api_url}/guilds/{server}/emojis"
    found: list[dict[str, Any]] = requests.get(url, headers=headers, timeout=WAIT_SECONDS).json()
    return found


def add(person: Person, here: str, *numbers: int, server: str = GOOD_SERVER) -> requests.Response:
    return person.post(f"{here}/add-to-server", {"server": server, "pictures": [*map(str, numbers)]})


def test_the_page_of_an_emoji_leads_there(gateway: PeopleGateway, one: str) -> None:
    assert f'href="{one}/add-to-server"' in gateway.person(None).page(one)


def test_a_stranger_signs_in_first(gateway: PeopleGateway, one: str) -> None:
    answer = gateway.person(None).get(f"{one}/add-to-server")
    assert answer.status_code in {303, 401}
    assert 'name="to"' in answer.text or "/signin" in answer.headers["Location"]


def test_a_manager_chooses_a_server_and_confirms(gateway: PeopleGateway, one: str) -> None:
    ada = manager(gateway, one)
    choice = ada.page(f"{one}/add-to-server")
    for server in (GOOD_SERVER, MANAGED):
        assert f'href="{one}/add-to-server?server={server}"' in choice
    assert NOT_MANAGED not in choice
    question = ada.page(f"{one}/add-to-server?server={GOOD_SERVER}")
    assert ":single:" in question
    assert "permissions=8796093022208" in question
    before = emojis(gateway)
    answer = add(ada, one, 1)
    assert (answer.status_code, answer.headers["Location"]) == (303, one)
    assert "your server has the emojis now" in words(ada.page(one))
    assert [each["name"] for each in emojis(gateway)[len(before) :]] == ["single"]


def test_a_package_goes_there_with_its_numbers_or_a_part_of_it(gateway: PeopleGateway, package: str) -> None:
    ada = manager(gateway, package)
    before = len(emojis(gateway, MANAGED))
    assert add(ada, package, 1, 2, 3, 4, server=MANAGED).status_code == 303
    assert add(ada, package, 3, server=MANAGED).status_code == 303
    names = [each["name"] for each in emojis(gateway, MANAGED)[before:]]
    assert names == ["shroom_1", "shroom_2", "shroom_3", "shroom_4", "shroom_3"]


def test_a_form_that_is_sent_twice_adds_its_emojis_once(gateway: PeopleGateway, package: str) -> None:
    ada = manager(gateway, package)
    before = len(emojis(gateway, MANAGED))
    page = ada.page(f"{package}/add-to-server?server={MANAGED}")
    once = re.findall('name="once" value="([0-9a-f]{32})"', page)
    sent = {"server": MANAGED, "pictures": ["1", "2"], "once": once}
    with ThreadPoolExecutor(2) as presses:
        answers = [*presses.map(lambda _: ada.post(f"{package}/add-to-server", sent), range(2))]
    answers.append(ada.post(f"{package}/add-to-server", sent))
    assert [each.status_code for each in answers] == [303, 303, 303]
    assert [each["name"] for each in emojis(gateway, MANAGED)[before:]] == ["shroom_1", "shroom_2"]
    again = ada.page(f"{package}/add-to-server?server={MANAGED}")
    assert once != re.findall('name="once" value="([0-9a-f]{32})"', again)


def refused(answer: requests.Response, status: int, text: str) -> None:
    assert (answer.status_code, text in words(answer.text)) == (status, True), words(answer.text)


@pytest.mark.parametrize("server", [NOT_MANAGED, "399999999999999999", "", "../users", "1/../2"])
def test_nothing_is_added_to_a_server_that_the_user_does_not_manage(
    gateway: PeopleGateway, one: str, server: str
) -> None:
    refused(add(manager(gateway, one), one, 1, server=server), 409, "You do not manage this server")
    assert gateway.stand_in.asked(f"/guilds/{NOT_MANAGED}/emojis") == 0


def test_a_user_whose_list_is_too_old_reads_it_again(gateway: PeopleGateway, one: str) -> None:
    ada = manager(gateway, one)
    gateway.clock.advance(601)
    refused(add(ada, one, 1), 409, "the list of your servers is too old")
    assert "Read my servers" in words(ada.page(f"{one}/add-to-server"))
    refused(add(manager(gateway, one, BEN), one, 1), 409, "You do not manage this server")


def test_a_form_without_an_emoji_adds_nothing(gateway: PeopleGateway, one: str) -> None:
    ada, before = manager(gateway, one), len(emojis(gateway))
    refused(add(ada, one), 400, "Choose at least one emoji")
    refused(add(ada, one, 0, 2, -1), 400, "Choose at least one emoji")
    assert len(emojis(gateway)) == before


def test_a_server_without_room_says_so_and_what_was_added_before(
    gateway: PeopleGateway, package: str
) -> None:
    ada = manager(gateway, package)
    gateway.stand_in.change_server(GOOD_SERVER, emoji_slots=len(emojis(gateway)) + 2)
    answer = add(ada, package, 1, 2, 3, 4)
    refused(answer, 503, "The server has no room for another emoji")
    refused(answer, 503, "Added before that: shroom_1 shroom_2")
    ticked = [f'value="{number}" checked' in answer.text for number in (1, 2, 3, 4)]
    assert ticked == [False, False, True, True]


def test_a_bot_that_may_not_and_one_that_is_not_there_say_so(gateway: PeopleGateway, one: str) -> None:
    ada = manager(gateway, one)
    gateway.stand_in.change_server(GOOD_SERVER, bot_adds_emojis=False)
    refused(add(ada, one, 1), 503, "Give it the permission Create Expressions")
    refused(add(ada, one, 1, server=WITHOUT_BOT), 503, "Our bot is not in this server")


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("slow", "did not answer in time"),
        ("cut", "did not answer in time"),
        ("lost", "did not answer in time"),
        ("500", "gives no answer that can be used"),
        ("html", "gives no answer that can be used"),
        ("401", "gives no answer that can be used"),
    ],
)
def test_what_goes_wrong_at_the_platform_is_said_in_words(
    gateway: PeopleGateway, one: str, fault: str, text: str
) -> None:
    ada = manager(gateway, one)
    gateway.stand_in.goes_wrong(f"/guilds/{GOOD_SERVER}/emojis", fault)
    refused(add(ada, one, 1), 503, text)
    assert add(ada, one, 1).status_code == 303


def test_while_the_platform_limits_us_it_says_to_try_later(gateway: PeopleGateway, one: str) -> None:
    ada = manager(gateway, one)
    gateway.stand_in.goes_wrong(f"/guilds/{MANAGED}/emojis", "429-long")
    refused(add(ada, one, 1, server=MANAGED), 503, "takes no more emojis at the moment")


def test_a_user_adds_at_most_50_emojis_a_day(gateway: PeopleGateway, package: str) -> None:
    ada = manager(gateway, package)
    for _ in range(12):
        assert add(ada, package, 1, 2, 3, 4).status_code == 303
    answer = add(ada, package, 1, 2, 3, 4)
    refused(answer, 429, "as many emojis as is allowed in a day")
    refused(answer, 429, "Added before that: shroom_1 shroom_2")
    assert add(manager(gateway, package), package, 1).status_code == 303


def test_an_emoji_in_review_is_added_nowhere(gateway: PeopleGateway, one: str) -> None:
    hidden = approved(gateway, digest(gateway, 30), name="hidden")
    ada = manager(gateway, one)
    gateway.done("POST", f"/manage{hidden}/withdraw", {"reason": "It offends somebody."})
    assert add(ada, hidden, 1).status_code == 404
    assert ada.get(f"{hidden}/add-to-server").status_code == 404


def test_without_a_bot_token_there_is_no_such_page(tmp_path: Any) -> None:
    with serving(tmp_path / "data") as gateway:
        here = approved(gateway, digest(gateway, 1))
        ada = manager(gateway, here)
        assert "add-to-server" not in ada.page(here)
        assert ada.get(f"{here}/add-to-server").status_code == 404
        assert add(ada, here, 1).status_code == 404


def test_other_kinds_have_no_such_page(gateway: PeopleGateway) -> None:
    assert gateway.person(ADA).get("/sounds/0123456789ab/add-to-server").status_code == 404
