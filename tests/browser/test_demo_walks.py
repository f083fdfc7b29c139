"""Walks of a visitor, a voter, an owner, a moderator and a server owner on the platform of `make demo`.

Each is walked on a phone and on a computer, and each page on the way is looked at in both themes.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from demo.people import ADA, BEN, CLEO, DAN
from tests.support.demo_site import DemoSite, demo_site
from tests.support.walker import walking

WIDTHS = (360, 1_280)
DECISIONS = 3
"""The listings that a moderator approves in a walk."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoSite]:
    with demo_site(tmp_path_factory.mktemp("demo")) as site:
        yield site


@pytest.mark.parametrize("width", WIDTHS)
def test_a_visitor_looks_around(browser: Browser, site: DemoSite, width: int) -> None:
    bot, server = site.ref("Groove Box"), site.ref("Pixel Harbour")
    with walking(browser, site, None, width) as walk:
        walk.see("/", "/bots", "/bots?category=Music", "/servers", f"/{bot}", f"/{server}")
        walk.see(
            f"/{site.ref('طرب')}",
            f"/{site.ref('まんが図書館')}",
            f"/{site.ref('تعلم معنا')}",
            f"/{bot}/vote",
            "/signin",
        )
        walk.visitor.expected.add(404)
        walk.see("/nowhere")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_voter(browser: Browser, site: DemoSite, width: int) -> None:
    with walking(browser, site, BEN.id, width) as walk:
        walk.see(
            "/",
            "/me",
            "/me/votes",
            "/me/notices",
            "/me/sessions",
            "/me/data",
            f"/{site.ref('Groove Box')}/invitation",
        )


@pytest.mark.parametrize("width", WIDTHS)
def test_an_owner(browser: Browser, site: DemoSite, width: int) -> None:
    manage = f"/{site.ref('Groove Box')}/manage"
    tabs = ("", "/votes", "/profile", "/keys", "/webhook", "/webhook/deliveries", "/owners", "/danger")
    with walking(browser, site, ADA.id, width) as walk:
        walk.see("/me", "/me/notices", *(manage + tab for tab in tabs))
        others = ("Night Radio", "Lyra", "Photo Postcard", "Sketch Sprint")
        walk.see(*(f"/{site.ref(name)}/manage" for name in others))
        walk.see(f"/{site.ref('Night Radio')}/manage/webhook", "/bots/new")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_moderator_decides_with_two_clicks_each(browser: Browser, site: DemoSite, width: int) -> None:
    with walking(browser, site, CLEO.id, width) as walk:
        walk.see("/review/votes", "/review?show=reported", "/review?show=mine", "/review?show=decided")
        walk.see(*(f"/review/{site.ref(name)}" for name in ("Coin Harbor", "Plant Parents", "Night Radio")))
        page, decisions = walk.see("/review"), 0
        walk.click(page.get_by_role("link", name="Begin with the first"))
        for _ in range(DECISIONS):
            walk.look()
            sure = page.get_by_label("I have made sure")
            if sure.count():
                walk.choose(sure)
            name = page.get_by_role("heading", level=1).inner_text()
            walk.click(page.get_by_role("button", name=re.compile("(Approve|Agree) and next")))
            expect(page.get_by_role("heading", level=1)).not_to_have_text(name)
            decisions += 1
        assert walk.clicks <= 2 * decisions + 1  # the first one is chosen in the queue


@pytest.mark.parametrize("width", WIDTHS)
def test_the_owner_of_a_server(browser: Browser, site: DemoSite, width: int) -> None:
    manage = f"/{site.ref('Pixel Harbour')}/manage"
    with walking(browser, site, DAN.id, width) as walk:
        walk.see(
            "/me", *(manage + tab for tab in ("", "/votes", "/profile", "/webhook", "/owners", "/danger"))
        )
        walk.see(f"/{site.ref('Plant Parents')}/manage", f"/{site.ref('Night Owls')}/manage", "/servers/new")
