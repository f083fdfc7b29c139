"""Walks of a visitor, a voter, an owner, a moderator and a server owner on the platform of `make demo`.

Each is walked on a phone and on a computer, and each page on the way is looked at in both themes. A walk that
has a goal counts the clicks to it.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from demo.known import UNLISTED_BOTS, UNLISTED_SERVERS
from demo.people import ADA, BEN, CLEO, DAN
from tests.support.demo_site import DemoSite, demo_site
from tests.support.walker import Walk, walking

WIDTHS = (360, 1_280)
BOT_OF = dict(zip(WIDTHS, UNLISTED_BOTS, strict=True))
SERVER_OF = dict(zip(WIDTHS, UNLISTED_SERVERS, strict=True))
"""Bots and servers that nobody has submitted, one for a walk of each width."""
DECISIONS = 3
"""The listings that a moderator approves in a walk."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSite]:
    with demo_site(tmp_path_factory.mktemp("demo")) as site:
        yield site


def signs_in(walk: Walk, person: str) -> None:
    """Go the way through the platform, from the page of the sign-in."""
    page = walk.page
    walk.click(page.get_by_role("button", name="Continue to"))
    walk.choose(page.locator(f"input[value='{person}']"))
    walk.click(page.get_by_role("button", name="Approve"))


# -- A visitor -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_a_visitor_looks_around(browser: Browser, site: DemoSite, width: int) -> None:
    bot, server = site.ref("Groove Box"), site.ref("Pixel Harbour")
    owner = site.listings["Groove Box"].owner.id
    with walking(browser, site, None, width) as walk:
        walk.see(
            "/",
            "/bots",
            "/bots?category=Music",
            "/bots/ranking",
            "/servers/ranking",
            "/bots?q=nothing+at+all+of+this",
            "/servers",
        )
        walk.see(
            f"/{bot}", f"/{server}", f"/users/{owner}", f"/{bot}/commands", f"/{bot}/votes", f"/{bot}/vote"
        )
        walk.see("/signin", "/terms", "/privacy")
        walk.see(*(f"/{site.ref(name)}" for name in ("طرب", "まんが図書館", "تعلم معنا")))
        walk.visitor.expected.add(404)
        walk.see("/nowhere")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_visitor_finds_a_music_bot_and_adds_it_with_two_clicks(
    browser: Browser, site: DemoSite, width: int
) -> None:
    with walking(browser, site, None, width) as walk:
        page = walk.visitor.see("/")
        page.locator("main").get_by_role("search").locator("input[name=q]").fill("music bot")
        page.keyboard.press("Enter")
        page.wait_for_url("**/bots?*")
        walk.look()
        first = page.locator(".found > li").first
        name = first.get_by_role("heading").inner_text()
        assert "Music" in site.listings[name].fields["categories"]
        page.route(
            "**/oauth2/authorize?*", lambda route: route.fulfill(body="The platform asks for a server.")
        )
        walk.click(first.get_by_role("link", name=f"Add {name}"))
        assert f"client_id={site.listings[name].id}" in page.url
        assert walk.clicks <= 2


@pytest.mark.parametrize("width", WIDTHS)
def test_a_visitor_joins_a_server_with_two_clicks(browser: Browser, site: DemoSite, width: int) -> None:
    with walking(browser, site, None, width) as walk:
        page = walk.visitor.see("/")
        page = walk.click(page.get_by_role("link", name="Join Pixel Harbour").first)
        expect(page.get_by_role("heading", name="Pixel Harbour")).to_be_visible()
        assert walk.clicks <= 2


# -- A voter -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_a_voter_votes_and_reports(browser: Browser, site: DemoSite, width: int) -> None:
    ready = site.ref({360: "Chess Corner", 1_280: "Sakura Lounge"}[width])
    with walking(browser, site, BEN.id, width) as walk:
        walk.see("/", "/me", "/me/votes", "/me/notices", "/me/sessions", "/me/data")
        walk.see(f"/{site.ref('Groove Box')}/invitation", f"/me/reminders/{site.ref('Groove Box')}")
        page = walk.see(f"/{ready}/vote")
        walk.click(page.get_by_role("button", name=re.compile("^Vote")))
        expect(page.get_by_role("heading", level=1)).to_contain_text("Thank you")
        walk.look()
        walk.see(f"/{ready}/vote")
        page = walk.see(f"/{ready}/report")
        walk.choose(page.get_by_role("radio").first)
        walk.click(page.get_by_role("button", name="Send the report"))
        walk.look()


# -- An owner ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_an_owner_looks_at_everything(browser: Browser, site: DemoSite, width: int) -> None:
    manage = f"/{site.ref('Groove Box')}/manage"
    tabs = ("", "/votes", "/profile", "/keys", "/webhook", "/webhook/deliveries", "/owners", "/danger")
    with walking(browser, site, ADA.id, width) as walk:
        walk.see("/me", "/me/notices", *(manage + tab for tab in tabs))
        walk.see(*(f"/{site.ref(name)}/manage" for name in ("Lyra", "Photo Postcard", "Sketch Sprint")))
        walk.see(f"/{site.ref('Night Radio')}/manage", f"/{site.ref('Night Radio')}/manage/webhook")


@pytest.mark.parametrize("width", WIDTHS)
def test_an_owner_comes_from_the_submission_to_the_first_webhook_with_sixteen_clicks(
    browser: Browser, site: DemoSite, width: int
) -> None:
    ref = f"bots/{BOT_OF[width]}"
    with walking(browser, site, None, width) as walk:
        page = walk.visitor.see("/")
        if width < 1_280:
            walk.choose(page.get_by_role("button", name="Menu"))
        page = walk.click(page.get_by_role("link", name="Add yours").locator("visible=true"))
        walk.click(page.get_by_role("link", name="Submit a bot").locator("visible=true"))
        signs_in(walk, ADA.id)
        walk.look()
        page.get_by_label("Application ID").fill(BOT_OF[width])
        walk.click(page.get_by_role("button", name="Look it up"))
        walk.look()
        page.get_by_label("Short description").fill("Runs marbles down a track, and bets on the winner.")
        page.get_by_label("Description", exact=True).fill("Each player builds a piece of track in turn.")
        walk.choose(page.get_by_label("Fun & Games"))
        walk.click(page.get_by_role("button", name="Send for review"))
        page.wait_for_url(f"**/{ref}/manage")
        walk.look()
        site.done("POST", f"/manage/{ref}/approve", {})

        walk.visitor.see(f"/{ref}/manage")
        walk.look()
        walk.click(page.get_by_role("navigation").get_by_role("link", name="API keys"))
        page.get_by_label("Name").fill("production")
        walk.click(page.get_by_role("button", name="Make a key"))
        walk.look()
        walk.click(page.get_by_role("link", name="Next: set up the webhook"))
        page.get_by_label("Address").fill(f"{site.stand_in.url}/stand-in/receiver")
        walk.click(page.get_by_role("button", name="Save and send a test"))
        expect(page.get_by_text("Every vote reaches you")).to_be_visible()
        walk.look()
        assert walk.clicks <= 16


# -- A moderator ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_a_moderator_decides_with_two_clicks_each(browser: Browser, site: DemoSite, width: int) -> None:
    with walking(browser, site, CLEO.id, width) as walk:
        walk.see("/review/votes", "/review?show=reported", "/review?show=mine", "/review?show=decided")
        walk.see(*(f"/review/{site.ref(name)}" for name in ("Coin Harbor", "Plant Parents", "Night Radio")))
        page = walk.see("/review")
        walk.click(page.get_by_role("link", name="Begin with the first"))
        for _ in range(DECISIONS):
            walk.look()
            sure = page.get_by_label("I have checked")
            if sure.count():
                walk.choose(sure)
            name = page.get_by_role("heading", level=1).inner_text()
            walk.click(page.get_by_role("button", name=re.compile("(Approve|Agree) and next")))
            expect(page.get_by_role("heading", level=1)).not_to_have_text(name)
        assert walk.clicks <= 2 * DECISIONS


# -- The owner of a server -----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
def test_the_owner_of_a_server_lists_another_one(browser: Browser, site: DemoSite, width: int) -> None:
    manage, server = f"/{site.ref('Pixel Harbour')}/manage", SERVER_OF[width]
    with walking(browser, site, DAN.id, width) as walk:
        walk.see(
            "/me", *(manage + tab for tab in ("", "/votes", "/profile", "/webhook", "/owners", "/danger"))
        )
        walk.see(f"/{site.ref('Plant Parents')}/manage")
        page = walk.see("/servers/new")
        walk.click(page.get_by_role("button", name="Read my servers"))
        page.wait_for_url("**/servers/new")
        walk.look()
        walk.click(page.get_by_role("link", name=f"Choose {UNLISTED_SERVERS[server]}"))
        walk.look()
        page.get_by_label("Description", exact=True).fill("A small street with a light in each window.")
        page.get_by_label("Category").select_option("Community")
        page.get_by_label("Invite link", exact=True).fill(server)
        walk.click(page.get_by_role("button", name="Send for review"))
        page.wait_for_url(f"**/servers/{server}/manage")
        walk.look()
