"""Every page for people, in both themes and at three widths: no barrier, no sideways scroll."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import THEMES, WIDTHS, Theme
from tests.support.people_filled import filled_site, known, pages, signed_in
from tests.support.people_gateway import PeopleGateway
from tests.support.webhook_receiver import Receiver


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, receiver_of_all: Receiver) -> Iterator[PeopleGateway]:
    with filled_site(tmp_path_factory.mktemp("site") / "data", receiver_of_all) as gateway:
        yield gateway


def users() -> list[str | None]:
    return list(dict.fromkeys(user for user, _ in pages()))


@pytest.mark.parametrize("user", users())
@pytest.mark.parametrize("theme", THEMES)
def test_no_page_has_a_barrier(browser: Browser, site: PeopleGateway, user: str | None, theme: Theme) -> None:
    found = {}
    with signed_in(browser, site, user, color_scheme=theme) as visitor:
        for path in (path for whose, path in pages() if whose == user):
            visitor.see(known(site, path))
            found[path] = visitor.barriers()
    assert {path: barriers for path, barriers in found.items() if barriers} == {}


@pytest.mark.parametrize("user", users())
def test_no_page_scrolls_sideways(browser: Browser, site: PeopleGateway, user: str | None) -> None:
    wider = {}
    with signed_in(browser, site, user) as visitor:
        for width in WIDTHS:
            visitor.page.set_viewport_size({"width": width, "height": 800})
            for path in (path for whose, path in pages() if whose == user):
                visitor.see(known(site, path))
                if visitor.overflow():
                    wider[path, width] = visitor.overflow()
    assert wider == {}
