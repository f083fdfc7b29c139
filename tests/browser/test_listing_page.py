"""The page of a listing in a real browser: its tabs, Join, Share, and code in a text from right to left."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.support.browser import THEMES, Theme
from tests.support.gateways import BOT, BOT_SUBMISSION, OTHER_BOT, SERVER_SUBMISSION
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, GOOD_SERVER

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
HERE, SERVER = f"/bots/{BOT}", f"/servers/{GOOD_SERVER}"
LONG = "x" * 100
LARGE = "LargeServer1"
"""A template of a server with more channels than a page shows, and long names."""
PAGES = (
    HERE,
    f"{HERE}/commands",
    f"{HERE}/votes",
    SERVER,
    f"/bots/{OTHER_BOT}",
    f"/users/{ADA}",
    f"/templates/{LARGE}",
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("listing") / "data") as gateway:
        gateway.person(ADA)
        bot = {
            **BOT_SUBMISSION,
            "owner_id": ADA,
            "description": "# Plays\n\nAny song.\n\n## Set it up\n\n### On a phone\n\n1. Add it\n",
            "website": "https://bot.example",
            "source": f"https://{LONG[:60]}.example/{LONG}",
            "tags": ["lo-fi", LONG[:32]],
            "commands": ["/play song: Plays a song", f"/{LONG[:59]}: {LONG}"],
        }
        arabic = {
            **BOT_SUBMISSION,
            "id": OTHER_BOT,
            "owner_id": ADA,
            "name": "بوت الموسيقى",
            "description": "اكتب `/play song` في أي قناة صوتية لتشغيل الأغاني.\n\n```\n/setup #music\n```\n",
        }
        for form in (bot, arabic):
            gateway.done("POST", "/manage/bots", form)
            gateway.done("POST", f"/manage/bots/{form['id']}/approve", {})
        server = {**SERVER_SUBMISSION, "id": GOOD_SERVER, "owner_id": ADA, "invite": "server-1"}
        gateway.done("POST", "/manage/servers", server)
        gateway.done("POST", f"/manage{SERVER}/approve", {})
        gateway.cast(BEN, f"/manage{HERE}")
        list_large_template(gateway)
        yield gateway


def list_large_template(gateway: PeopleGateway) -> None:
    numbers = range(1, 538)
    kinds = {number: 4 for number in numbers if number % 9 == 0}
    channels = [
        {"id": each, "type": kinds.get(each, 0), "name": LONG[: each % 100], "parent_id": each - each % 9}
        for each in numbers
    ]
    roles = [{"id": each, "name": LONG, "color": each * 65_521} for each in range(255)]
    gateway.stand_in.change_template(LARGE, serialized_source_guild={"channels": channels, "roles": roles})
    profile = {"name": LONG, "description": LONG, "categories": ["Chat", "Design", "Event"]}
    gateway.done("POST", "/manage/templates", {**profile, "id": LARGE, "owner_id": ADA})
    gateway.done("POST", f"/manage/templates/{LARGE}/approve", {})


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [320, 1280])
def test_every_page_of_a_listing_is_without_barriers_and_fits(
    browser: Browser, gateway: PeopleGateway, theme: Theme, width: int
) -> None:
    with signed_in(browser, gateway, None, color_scheme=theme) as visitor:
        visitor.page.set_viewport_size({"width": width, "height": 800})
        for path in PAGES:
            visitor.see(path)
            assert visitor.flaws() == [], path


@SCRIPTS
def test_a_visitor_reads_the_commands_and_the_votes(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see(HERE)
        levels = [
            each.evaluate("each => each.tagName") for each in page.locator(".prose :is(h2, h3, h4)").all()
        ]
        assert levels == ["H2", "H3", "H4"]
        tabs = page.get_by_role("navigation", name=BOT_SUBMISSION["name"])
        tabs.get_by_role("link", name="Commands").click()
        expect(page).to_have_url(f"{gateway.base_url}{HERE}/commands")
        expect(page.get_by_role("cell", name="Plays a song", exact=True)).to_be_visible()
        tabs.get_by_role("link", name="Votes").click()
        expect(page).to_have_url(f"{gateway.base_url}{HERE}/votes")
        expect(tabs.get_by_role("link", name="Votes")).to_have_attribute("aria-current", "page")


@SCRIPTS
def test_the_address_can_be_copied_without_a_browser_that_shares(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see(HERE)
        page.get_by_role("button", name="Share").press("Enter")
        dialog = page.get_by_role("dialog", name="Share")
        expect(dialog).to_contain_text(f"{gateway.base_url}{HERE}")
        if scripts:
            assert visitor.flaws() == []
        dialog.get_by_role("button", name="Close").press("Enter")
        expect(dialog).to_be_hidden()


def test_a_browser_that_shares_is_asked_to(browser: Browser, gateway: PeopleGateway) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.see(HERE)
        page.evaluate("navigator.share = async (shared) => { window.shared = shared; }")
        page.get_by_role("button", name="Share").click()
        expect(page.get_by_role("dialog", name="Share")).to_be_hidden()
        assert page.evaluate("window.shared") == {
            "title": BOT_SUBMISSION["name"],
            "url": f"{gateway.base_url}{HERE}",
        }


@pytest.mark.parametrize("width", [360, 1280])
def test_a_visitor_joins_a_server_in_two_clicks(browser: Browser, gateway: PeopleGateway, width: int) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=False) as visitor:
        visitor.page.set_viewport_size({"width": width, "height": 800})
        page = visitor.see("/servers")
        page.get_by_role("heading", name=SERVER_SUBMISSION["name"]).get_by_role("link").click()
        page.get_by_role("link", name="Join", exact=True).click()
        expect(page).to_have_url(f"{gateway.stand_in.url}/join/server-1")


def test_code_in_a_text_from_right_to_left_is_not_mirrored(browser: Browser, gateway: PeopleGateway) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.see(f"/bots/{OTHER_BOT}")
        directions = "each => getComputedStyle(each).direction"
        assert page.locator(".prose p").first.evaluate(directions) == "rtl"
        for code in page.locator(".prose code").all():
            assert code.evaluate(directions) == "ltr"


def test_the_bar_at_the_bottom_of_a_phone_hides_nothing_that_has_the_focus(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with signed_in(browser, gateway, None) as visitor:
        page = visitor.page
        for height in range(480, 900, 20):
            page.set_viewport_size({"width": 360, "height": height})
            visitor.see(f"{HERE}/votes")
            table = page.get_by_text("As a table")
            while not table.evaluate("each => each === document.activeElement"):
                page.keyboard.press("Tab")
            focused, bar = table.bounding_box(), page.locator(".thumb").bounding_box()
            assert focused is not None
            assert bar is not None
            assert focused["y"] + focused["height"] <= bar["y"], height


@SCRIPTS
def test_a_chart_is_one_stop_of_the_tab_key_and_says_the_value_of_each_bar(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with signed_in(browser, gateway, None, java_script_enabled=scripts) as visitor:
        page = visitor.see(f"{HERE}/votes")
        group = page.get_by_role("radiogroup", name="Votes per day")
        bars = group.get_by_role("radio")
        assert bars.count() == 30
        page.get_by_role("navigation", name=BOT_SUBMISSION["name"]).get_by_role("link", name="Votes").focus()
        page.keyboard.press("Tab")
        expect(bars.first).to_be_focused()
        page.keyboard.press("ArrowLeft")
        expect(bars.last).to_be_focused()
        expect(bars.last).to_have_accessible_name(re.compile(": 1 vote$"))
        assert said(group) == [bars.last.locator("xpath=..").inner_text()]
        page.keyboard.press("ArrowLeft")
        expect(bars.nth(28)).to_have_accessible_name(re.compile(": 0 votes$"))
        assert said(group) == [bars.nth(28).locator("xpath=..").inner_text()]
        group.locator("label").nth(3).hover()
        assert said(group) == [group.locator("label").nth(3).inner_text()]
        page.keyboard.press("Tab")
        expect(page.get_by_text("As a table")).to_be_focused()


def said(group: Locator) -> list[str]:
    """Return the values that a chart shows."""
    return [
        each.inner_text()
        for each in group.locator("span").all()
        if each.evaluate("each => getComputedStyle(each).clipPath") == "none"
    ]


def test_a_review_of_nothing_but_lines_pushes_away_no_other(gateway: PeopleGateway, browser: Browser) -> None:
    lines = "a\n" * 499 + "b"
    gateway.done("PUT", f"/manage{HERE}/ratings/{BEN}", {"stars": 1, "text": lines})
    with browser.new_context(viewport={"width": 360, "height": 800}) as context:
        page = context.new_page()
        page.goto(f"{gateway.base_url}{HERE}/reviews")
        box = page.locator(".reviews .written").bounding_box()
    assert box is not None
    assert box["height"] < 800
