"""pages/owner/overview.py: a listing's page shows its conditions, and checks them again."""

from collections.abc import Iterator

import pytest

from tests.support.listed_servers import listed, outcomes, reader, serving_servers, shown
from tests.support.page_visitor import words
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import CLEO, GOOD_SERVER, WITHOUT_BOT

HERE, CHECK = f"/servers/{GOOD_SERVER}/manage", f"/servers/{GOOD_SERVER}/manage/check"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving_servers(tmp_path_factory.mktemp("servers") / "data", **{"servers.grace_days": 2}) as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def all_is_well(gateway: PeopleGateway) -> None:
    gateway.stand_in.change_server(GOOD_SERVER, mfa_level=1, approximate_member_count=1_250)


def test_the_page_of_a_server_shows_its_conditions_and_its_json_the_same(gateway: PeopleGateway) -> None:
    ada = listed(gateway)
    text = words(ada.page(HERE))
    assert "Members met 1,250 at least 100" in text
    assert "API keys" not in text
    twin = ada.get(f"{HERE}.json").json()["listing"]["eligibility"]
    assert (twin["outcome"], len(twin["checks"])) == ("pass", 6)
    assert twin == shown(gateway)["eligibility"]


def test_a_listing_that_was_never_checked_says_so_until_its_owner_checks_it(gateway: PeopleGateway) -> None:
    ada = listed(gateway)
    server = shown(gateway)
    gateway.done("DELETE", f"/manage/servers/{GOOD_SERVER}")
    fields = ("id", "owner_id", "name", "description", "keywords", "category")
    gateway.done("POST", "/manage/servers", {name: server[name] for name in fields})
    assert shown(gateway)["eligibility"] is None
    assert "It was never checked." in ada.page(HERE)
    assert ada.post(CHECK).headers["Location"] == f"{HERE}#conditions"
    assert set(outcomes(gateway).values()) == {"pass"}


def test_a_failing_listing_says_when_it_is_hidden_and_its_owner_has_a_notice(gateway: PeopleGateway) -> None:
    ada = listed(gateway, decision="approve")
    gateway.stand_in.change_server(GOOD_SERVER, mfa_level=0)
    ada.acted(CHECK)
    text = words(ada.page(HERE))
    assert "Moderators need a second factor not met" in text
    assert "It does not meet every condition any more If nothing changes, it is hidden in 2 days" in text
    assert "does not meet every condition any more" in words(ada.page("/me/notices"))
    gateway.clock.advance(2 * 86_400)
    ada = reader(gateway)
    ada.acted(CHECK)
    text = words(ada.page(HERE))
    assert "It is hidden" in text
    assert "found failing: Moderators need a second factor" in text
    assert "hidden: Moderators need a second factor · you" in text
    assert "is hidden until it meets every condition again" in words(ada.page("/me/notices"))
    assert "Hidden: it does not meet every condition." in words(ada.page("/me"))
    gateway.stand_in.change_server(GOOD_SERVER, mfa_level=1)
    ada.acted(CHECK)
    assert shown(gateway)["eligibility"]["hidden_since"] is None
    assert "and is shown" in words(ada.page("/me/notices"))


def test_what_is_unknown_is_shown_with_the_link_that_adds_the_bot(gateway: PeopleGateway) -> None:
    ada = listed(gateway, WITHOUT_BOT)
    here = f"/servers/{WITHOUT_BOT}/manage"
    assert "Add our bot" in ada.page(here)
    gateway.stand_in.change_server(WITHOUT_BOT, bot=True)
    gateway.clock.advance(61)
    ada.acted(f"{here}/check")
    assert set(outcomes(gateway, WITHOUT_BOT).values()) == {"pass"}
    assert "Add our bot" not in ada.page(here)


def test_a_moderator_reads_the_same_lines_and_needs_to_confirm_no_owner(gateway: PeopleGateway) -> None:
    listed(gateway)
    cleo = gateway.person(CLEO)
    text = words(cleo.page(f"/review/servers/{GOOD_SERVER}"))
    assert "Members 1,250 (at least 100)" in text
    assert "Verified" in text
    seen = {"seen": cleo.get(f"/review/servers/{GOOD_SERVER}.json").json()["listing"]["updated_at"]}
    cleo.acted(f"/review/servers/{GOOD_SERVER}/approve", seen)
    assert shown(gateway)["state"] == "approved"


def test_a_moderator_checks_nothing_of_a_listing_of_others(gateway: PeopleGateway) -> None:
    listed(gateway)
    assert gateway.person(CLEO).post(CHECK).status_code == 403
