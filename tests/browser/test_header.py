"""The header and the footer of every page for people: by keyboard, zoomed, and without popovers or script."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import WIDTHS
from tests.support.gateways import BOT
from tests.support.owned_listings import list_bot
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN

VOTE = f"/bots/{BOT}/vote"
ARABIC = "صندوق الموسيقى العربي الطويل"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("site") / "data") as gateway:
        list_bot(gateway, BOT, owner=ADA, decision="approve", name=ARABIC)
        yield gateway


def tab_to(page: Page, name: str) -> None:
    for _ in range(30):
        page.keyboard.press("Tab")
        if name in page.evaluate("document.activeElement.textContent"):
            return
    raise AssertionError(name)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_account_menu_opens_closes_and_gives_the_focus_back_by_keyboard(
    browser: Browser, site: PeopleGateway, width: int, scripts: bool
) -> None:
    with signed_in(browser, site, BEN, java_script_enabled=scripts) as ben:
        page = ben.page
        page.set_viewport_size({"width": width, "height": 800})
        ben.see("/bots")
        button, votes = (
            page.locator("button.who"),
            page.locator("#account").get_by_role("link", name="My votes"),
        )
        tab_to(page, "Your account")
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        expect(votes).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.locator("#account a").first).to_be_focused()
        page.keyboard.press("Escape")
        expect(votes).to_be_hidden()
        expect(button).to_be_focused()
        page.keyboard.press("Enter")
        tab_to(page, "My votes")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("My votes")


def test_the_menu_of_a_phone_has_the_search_and_every_kind(browser: Browser, site: PeopleGateway) -> None:
    with signed_in(browser, site, None) as stranger:
        stranger.page.set_viewport_size({"width": 320, "height": 640})
        page = stranger.see("/")
        page.get_by_role("button", name="Menu").press("Enter")
        sheet = page.locator("#everything")
        for name in ("Bots", "Servers", "Docs"):
            expect(sheet.get_by_role("link", name=name, exact=True)).to_be_visible()
        assert stranger.barriers() == []
        assert stranger.overflow() == 0
        sheet.get_by_role("searchbox").fill(ARABIC)
        page.keyboard.press("Enter")
        expect(page.get_by_role("main").get_by_role("link", name=ARABIC, exact=True)).to_be_visible()


def test_who_has_no_popovers_reaches_the_account_and_the_way_out_from_the_footer(
    browser: Browser, site: PeopleGateway
) -> None:
    with signed_in(browser, site, BEN, java_script_enabled=False) as ben:
        page = ben.see("/bots")
        page.get_by_role("contentinfo").get_by_role("link", name="Your account").click()
        page.get_by_role("link", name="Devices").click()
        page.get_by_role("main").get_by_role("button", name="Sign out", exact=True).click()
        expect(page.get_by_text("You are signed out.")).to_be_visible()


@pytest.mark.parametrize("paths", [("/", VOTE, "/me/votes", "/me/sessions", "/me/data", "/nothing")])
def test_nothing_is_cut_off_at_twice_the_size_or_in_the_colours_of_the_system(
    browser: Browser, site: PeopleGateway, paths: tuple[str, ...]
) -> None:
    with signed_in(
        browser, site, BEN, device_scale_factor=2, forced_colors="active", reduced_motion="reduce"
    ) as ben:
        ben.expected.add(404)
        ben.page.set_viewport_size({"width": 640, "height": 400})
        wider = {}
        for path in paths:
            page = ben.see(path)
            wider[path] = ben.overflow()
            moving = page.evaluate("document.getAnimations().length")
            assert moving == 0, path
        assert set(wider.values()) == {0}, wider
