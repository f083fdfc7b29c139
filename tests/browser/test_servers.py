"""The way of a server in a real browser: read the list, choose, see the conditions, add the bot, list it, and
check it again; with and without script."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import THEMES, Theme
from tests.support.listed_servers import serving_servers, shown, unlist
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway
from tests.support.platform_stand_in import ADA, BEN, CLEO, GOOD_SERVER, SMALL, WITHOUT_BOT, StandIn

RIGHT_TO_LEFT = "חדר המלאכה של עדה"
ICONS = {404}
"""Chromium notes that the stand-in has no picture."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving_servers(tmp_path_factory.mktemp("servers") / "data") as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def nothing_is_listed(gateway: PeopleGateway) -> None:
    unlist(gateway, GOOD_SERVER, WITHOUT_BOT)
    as_before(gateway.stand_in)


def as_before(stand_in: StandIn) -> None:
    stand_in.change_server(WITHOUT_BOT, bot=False)
    stand_in.change_server(GOOD_SERVER, name="Ada's workshop", mfa_level=1)


def line(page: Page, condition: str) -> str:
    """The text of a line of the table of conditions."""
    return page.get_by_role("row").filter(has_text=condition).inner_text()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
def test_a_manager_lists_a_server_and_a_user_votes_for_it(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, ADA, java_script_enabled=scripts) as visitor:
        visitor.expected |= {*ICONS, 400}
        page = visitor.see("/me")
        page.get_by_role("main").get_by_role("link", name="Add yours").click()
        page.get_by_role("main").get_by_role("link", name="List a server").click()
        page.get_by_role("button", name="Read my servers").click()
        expect(page.get_by_role("table", name="Servers that you may manage")).to_be_visible()
        page.get_by_role("link", name="Choose The quiet library").click()
        conditions = page.get_by_role("region", name="Conditions")
        expect(conditions).to_contain_text("unknown")
        link = page.get_by_role("link", name="Add our bot").get_attribute("href") or ""
        assert f"guild_id={WITHOUT_BOT}" in link
        gateway.stand_in.change_server(WITHOUT_BOT, bot=True)  # what the platform does when it is added
        gateway.clock.advance(61)
        page.get_by_role("button", name="Check again").click()
        expect(page.get_by_role("link", name="Add our bot")).to_have_count(0)
        expect(conditions).not_to_contain_text("unknown")

        page.get_by_label("Description").fill("Quiet.")
        page.get_by_label("Keywords").fill("books")
        page.get_by_label("Category").select_option("Community")
        page.get_by_text("Announce each vote in a channel").click()
        page.get_by_label("Webhook").fill("https://elsewhere.example/votes")
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_role("alert")).to_contain_text("Webhook")
        expect(page.get_by_label("Keywords")).to_have_value("books")
        page.get_by_label("Webhook").fill("")
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()
        assert "1,250" in line(page, "Members")
        gateway.stand_in.change_server(WITHOUT_BOT, approximate_member_count=1_300)
        page.get_by_role("button", name="Check again").click()
        expect(page.get_by_text("The conditions were checked just now.")).to_be_visible()
        assert "1,300" in line(page, "Members")
        gateway.stand_in.change_server(WITHOUT_BOT, approximate_member_count=1_250)

    with signed_in(browser, gateway, CLEO, java_script_enabled=scripts) as visitor:
        visitor.expected |= ICONS
        page = visitor.see("/review")
        page.get_by_role("link", name="The quiet library").click()
        expect(page.locator(".checks li.good").filter(has_text="Community features are on")).to_be_visible()
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("It is approved")).to_be_visible()

    with signed_in(browser, gateway, BEN, java_script_enabled=scripts) as visitor:
        visitor.expected |= ICONS
        page = visitor.see(f"/servers/{WITHOUT_BOT}")
        page.get_by_role("link", name="Vote for The quiet library").first.click()
        page.get_by_role("button", name="Vote", exact=True).click()
        expect(page).to_have_title(re.compile("^Thank you: you voted for The quiet library"))
    assert shown(gateway, WITHOUT_BOT)["state"] == "approved"


@pytest.mark.parametrize("theme", THEMES)
def test_no_state_of_these_pages_has_a_barrier_or_is_wider_than_its_window(
    browser: Browser, gateway: PeopleGateway, theme: Theme
) -> None:
    gateway.stand_in.change_server(GOOD_SERVER, name=RIGHT_TO_LEFT)
    found = {}
    with signed_in(browser, gateway, ADA, color_scheme=theme) as visitor:
        visitor.expected |= {*ICONS, 409}
        page = visitor.see("/servers/new")
        found["no list"] = visitor.flaws()
        page.get_by_role("button", name="Read my servers").click()
        expect(page.get_by_role("table", name="Servers that you may manage")).to_be_visible()
        found["a list"] = visitor.flaws()
        for server in (SMALL, WITHOUT_BOT, GOOD_SERVER):
            visitor.see(f"/servers/new?id={server}")
            found[server] = visitor.flaws()
        gateway.clock.advance(600)
        page.get_by_label("Category").select_option("Other")
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_role("alert")).to_contain_text("You do not manage this server")
        found["too old a list"] = visitor.flaws()
        visitor.see("/servers/new").get_by_role("button", name="Read my servers").click()
        expect(page.get_by_role("table", name="Servers that you may manage")).to_be_visible()
        visitor.see(f"/servers/new?id={GOOD_SERVER}").get_by_label("Category").select_option("Other")
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()
        gateway.done("POST", f"/manage/servers/{GOOD_SERVER}/approve", {})
        gateway.stand_in.change_server(GOOD_SERVER, mfa_level=0)
        page.get_by_role("button", name="Check again").click()
        expect(page.get_by_text("If nothing changes")).to_be_visible()
        found["failing"] = visitor.flaws()
        gateway.clock.advance(8 * 86_400)
        visitor.see(f"/servers/{GOOD_SERVER}/manage").get_by_role("button", name="Check again").click()
        expect(page.get_by_role("heading", name="It is hidden")).to_be_visible()
        found["hidden"] = visitor.flaws()
        visitor.see("/me/notices")
        found["notices"] = visitor.flaws()
    assert {name: flaws for name, flaws in found.items() if flaws} == {}
