"""The pages for everybody in a real browser: a stranger's way to a vote, and names of any script."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from pages.public.lists import LISTED
from tests.support.browser import THEMES, Theme, visiting
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA
from tests.support.public_scene import BOTS, COUNT, HARD, HARD_BOTS, RTL, RTL_BOT, list_hard_names, list_many

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
PHONE: ViewportSize = {"width": 360, "height": 800}
HARD_PAGES = (
    "/",
    "/bots?category=Economy",
    "/servers",
    f"/servers/{RTL_BOT}",
    *(f"/bots/{id}" for id in HARD_BOTS),
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("public") / "data") as gateway:
        list_many(gateway)
        list_hard_names(gateway)
        yield gateway


def names(page: Page) -> list[str]:
    return page.locator(".found h3").all_inner_texts()


@SCRIPTS
def test_a_stranger_finds_a_bot_by_its_category_and_comes_to_its_vote(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see("/")
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Bots").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bots")
        page.get_by_role("navigation", name="Category").get_by_role("link", name="Music").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bots: Music")
        page.get_by_role("navigation", name="Sort by").get_by_role("link", name="Name").click()
        expect(page.get_by_role("link", name="Name", exact=True)).to_have_attribute("aria-current", "true")
        assert names(page) == ["Bot 00", "Bot 10", "Bot 20"]
        page.get_by_role("link", name="Bot 10", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bot 10")
        page.get_by_role("link", name="Vote for Bot 10").first.click()
        expect(page).to_have_url(f"{gateway.base_url}/bots/{BOTS[10]}/vote")
        expect(page.get_by_role("button", name="Sign in and vote")).to_be_visible()


@SCRIPTS
def test_on_a_phone_a_list_begins_with_listings_and_its_categories_come_by_a_press(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see("/bots")
        music = page.get_by_role("navigation", name="Category").get_by_role("link", name="Music")
        expect(music).to_be_visible()
        expect(page.get_by_text("Filters", exact=True)).to_be_hidden()
        page.set_viewport_size(PHONE)
        expect(music).to_be_hidden()
        expect(page.locator(".found li").first).to_be_in_viewport(ratio=1)
        page.get_by_text("Filters", exact=True).click()
        expect(music).to_be_visible()
        music.click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Bots: Music")
        expect(page.get_by_role("link", name=re.compile("^Music.*remove$"))).to_be_visible()
        expect(music).to_be_hidden()
        if scripts:
            assert visitor.flaws() == []


@SCRIPTS
def test_the_pages_of_a_list_are_turned_and_it_begins_anew(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see("/bots?category=Other&sort=name")
        first = names(page)
        assert len(first) == LISTED
        expect(page.get_by_role("link", name="Back to the first page")).to_have_count(0)
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("link", name="Back to the first page")).to_be_visible()
        assert first + names(page) == [f"Bot {number:02}" for number in range(COUNT)]
        expect(page.get_by_role("link", name="Next")).to_have_count(0)
        page.get_by_role("link", name="Back to the first page").click()
        expect(page.get_by_role("link", name="Next")).to_be_visible()
        assert names(page) == first


def test_the_whole_card_is_pressed_and_the_keyboard_comes_to_every_listing(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.see("/bots?category=Music&sort=name")
        card = page.locator(".found li").first
        box = card.bounding_box()
        assert box is not None
        card.click(position={"x": box["width"] - 4, "y": box["height"] - 4})
        expect(page.get_by_role("heading", level=1)).to_have_text("Bot 00")
        visitor.see("/bots?category=Music&sort=name")
        page.get_by_role("link", name="Bot 10", exact=True).focus()
        for name in ("Vote for Bot 10", "Add Bot 10"):
            page.keyboard.press("Tab")
            expect(page.get_by_role("link", name=name)).to_be_focused()
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Bot 20", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Bot 20")


@pytest.mark.parametrize("theme", THEMES)
def test_no_name_makes_a_barrier_or_a_page_that_scrolls_sideways(
    browser: Browser, gateway: PeopleGateway, theme: Theme
) -> None:
    found = {}
    with signed_in(browser, gateway, None, color_scheme=theme) as visitor:
        visitor.page.set_viewport_size(PHONE)
        for path in HARD_PAGES:
            visitor.see(path)
            if flaws := [*visitor.barriers(), *(["too wide"] if visitor.overflow() else [])]:
                found[path] = flaws
    assert found == {}


def test_a_name_from_right_to_left_is_written_so_and_stands_beside_its_icon(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.see(f"/bots/{RTL_BOT}")
        heading = page.get_by_role("heading", level=1)
        expect(heading).to_have_css("direction", "rtl")
        left = heading.evaluate(
            "each => { const range = document.createRange(); range.selectNodeContents(each);"
            " return range.getBoundingClientRect().left }"
        )
        icon = page.locator(".portrait .icon").bounding_box()
        assert icon is not None
        assert 0 < left - (icon["x"] + icon["width"]) < 40
        expect(page.locator(".prose")).to_have_css("direction", "rtl")
        expect(page.get_by_role("button", name="Save")).to_have_css("direction", "ltr")
        visitor.see("/bots?category=Economy")
        assert sorted(names(page)) == sorted(each.strip() for each in HARD)
        expect(page.get_by_role("link", name=RTL, exact=True)).to_have_css("direction", "rtl")


def test_a_search_suggests_names_while_it_is_typed(browser: Browser, gateway: PeopleGateway) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.see("/bots")
        page.locator("main input[name=q]").fill("bot 1")
        expect(page.locator("datalist option").first).to_have_attribute("value", "Bot 10")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{gateway.base_url}/bots?q=bot+1")
        assert visitor.flaws() == []


def test_a_badge_is_drawn_in_a_page_of_another_site(browser: Browser, gateway: PeopleGateway) -> None:
    with visiting(browser, gateway) as visitor:
        page = visitor.page
        page.set_content(f'<img src="{gateway.base_url}/bots/{RTL_BOT}/badge.svg" alt="votes">')
        expect(page.get_by_role("img")).not_to_have_js_property("naturalWidth", 0)
        assert page.get_by_role("img").evaluate("each => each.naturalHeight") == 20


def test_an_owner_gets_the_badge_to_copy_and_others_do_not(browser: Browser, gateway: PeopleGateway) -> None:
    here, words = f"/bots/{BOTS[0]}", "A badge for pages of your own"
    with signed_in(browser, gateway, None) as visitor:
        expect(visitor.see(here).get_by_text(words)).to_have_count(0)
    with signed_in(browser, gateway, ADA) as visitor:
        page = visitor.see(here)
        page.get_by_text(words).click()
        address = gateway.base_url + here
        expect(page.locator("#badge")).to_have_text(f"[![Votes]({address}/badge.svg)]({address})")
        assert visitor.flaws() == []
