"""Every page, in both themes and at three widths: no barrier, no sideways scroll, nothing in the console."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import THEMES, WIDTHS, Theme, Visitor, visiting
from tests.support.debug_scene import paths
from tests.support.gateways import ThreadGateway

EMPTY_PATHS = [path for path in paths() if "/listings/" not in path]


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_has_a_barrier(browser: Browser, full: ThreadGateway, theme: Theme) -> None:
    with visiting(browser, full, color_scheme=theme) as visitor:
        visitor.see("/debug/sign-in")
        found = {"signed out": visitor.barriers()}
        visitor.sign_in()
        for path in paths():
            visitor.see(path)
            found[path] = visitor.barriers()

    assert {path: barriers for path, barriers in found.items() if barriers} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_has_a_barrier_when_there_is_nothing_to_show(
    browser: Browser, empty: ThreadGateway, theme: Theme
) -> None:
    with visiting(browser, empty, color_scheme=theme) as visitor:
        visitor.sign_in()
        found = {}
        for path in EMPTY_PATHS:
            visitor.see(path)
            found[path] = visitor.barriers()

    assert {path: barriers for path, barriers in found.items() if barriers} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_no_error_has_a_barrier(browser: Browser, full: ThreadGateway, theme: Theme) -> None:
    with visiting(browser, full, color_scheme=theme) as visitor:
        visitor.expected |= {400, 401, 404}
        page = visitor.see("/debug/sign-in")
        page.get_by_label("Operator token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        found = {"a wrong token": visitor.barriers()}
        visitor.sign_in()
        visitor.see("/debug/nowhere")
        found["an unknown page"] = visitor.barriers()
        visitor.see("/debug/listings/bots/999999999999999999")
        found["an unknown bot"] = visitor.barriers()
        page = visitor.see(paths()[-1])  # the denial of a bot, without a reason
        page.locator("form[method=post] textarea").evaluate("field => field.removeAttribute('required')")
        page.get_by_role("button", name="Deny").click()
        expect(page.locator("[aria-invalid=true]")).to_be_visible()
        found["a form that is refused"] = visitor.barriers()

    assert {path: barriers for path, barriers in found.items() if barriers} == {}


def test_no_page_scrolls_sideways(visitor: Visitor) -> None:
    wider = {}
    for width in WIDTHS:
        visitor.page.set_viewport_size({"width": width, "height": 800})
        for path in paths():
            visitor.see(path)
            if visitor.overflow():
                wider[path, width] = visitor.overflow()

    assert wider == {}
