"""Walks of a visitor, a voter, an owner, a moderator and a server owner on the platform of `make demo`.

Each is walked on a phone and on a computer, and each page on the way is looked at in both themes.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from demo.people import ADA, BEN, CLEO, DAN
from tests.support.demo_site import DemoSite, demo_site
from tests.support.walker import walking

WIDTHS = (360, 1_280)


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
def test_a_moderator(browser: Browser, site: DemoSite, width: int) -> None:
    with walking(browser, site, CLEO.id, width) as walk:
        walk.see("/review", "/review?show=mine", "/review?show=decided", "/review/votes")
        walk.see(
            *(
                f"/review/{site.ref(name)}"
                for name in ("Kitchen Kit", "Coin Harbor", "Plant Parents", "Casino Cat")
            )
        )


@pytest.mark.parametrize("width", WIDTHS)
def test_the_owner_of_a_server(browser: Browser, site: DemoSite, width: int) -> None:
    manage = f"/{site.ref('Pixel Harbour')}/manage"
    with walking(browser, site, DAN.id, width) as walk:
        walk.see(
            "/me", *(manage + tab for tab in ("", "/votes", "/profile", "/webhook", "/owners", "/danger"))
        )
        walk.see(f"/{site.ref('Plant Parents')}/manage", f"/{site.ref('Night Owls')}/manage", "/servers/new")
