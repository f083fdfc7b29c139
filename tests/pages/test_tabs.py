"""pages/tabs.py: a page has the tabs that its visitor may open."""

import re

import pytest

from tests.support.owned_listings import SERVER, list_bot, list_server
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO, READY


@pytest.fixture(scope="module")
def gateway(gateway: PeopleGateway) -> PeopleGateway:
    list_bot(gateway, extra=[BEN])
    list_server(gateway)
    return gateway


def tabs(page: str) -> list[str]:
    (found,) = re.findall(r'<nav class="tabs".*?</nav>', page, re.DOTALL)
    return re.findall(r">([^<>]+)</a>", found)


@pytest.mark.parametrize(
    ("user", "shown"),
    [
        (ADA, ["Overview", "Votes", "Profile", "API keys", "Webhook", "Owners", "Danger zone"]),
        (BEN, ["Overview", "Votes", "Profile", "API keys", "Webhook", "Leave"]),
        (CLEO, ["Overview", "Votes"]),
    ],
)
def test_tabs_are_those_that_one_may_open(gateway: PeopleGateway, user: str, shown: list[str]) -> None:
    assert tabs(gateway.person(user).page(f"/bots/{READY}/manage")) == shown


def test_a_server_has_no_keys(gateway: PeopleGateway) -> None:
    page = gateway.person(ADA).page(f"/servers/{SERVER}/manage")
    assert tabs(page) == ["Overview", "Votes", "Profile", "Webhook", "Owners", "Danger zone"]


def test_the_tab_that_is_open_is_said_and_titles_name_the_listing(gateway: PeopleGateway) -> None:
    page = gateway.person(ADA).page(f"/bots/{READY}/manage/profile")
    assert '/manage/profile" aria-current="page"' in page
    assert "<title>Test bot - Profile" in page
