"""Signing in through the chat platform in a real browser: its policy, its cookies, no barrier, no script."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Cookie, Page, expect

from tests.support.browser import Visitor, visiting
from tests.support.people_scene import SESSION, PeopleSite, serving_people
from tests.support.platform_stand_in import STAND_IN_COOKIE

WIDTHS = (320, 768, 1_280)
SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])


@pytest.fixture(scope="module")
def site() -> Iterator[PeopleSite]:
    with serving_people() as site:
        yield site


@pytest.fixture
def person(site: PeopleSite, browser: Browser) -> Iterator[Visitor]:
    site.clock.advance(300)
    with visiting(browser, site, hosts=(site.stand_in.url,)) as visitor:
        yield visitor


def sign_in(visitor: Visitor, name: str = "Ada, who owns bots", decision: str = "Approve") -> Page:
    visitor.expected.add(404)  # the icon of the stand-in
    page = visitor.see("/signin?to=/me")
    page.get_by_role("button", name="Continue to 127.0.0.1").click()
    page.get_by_label(name).check()
    page.get_by_role("button", name=decision).click()
    return page


def own_cookies(visitor: Visitor) -> list[Cookie]:
    """The cookies of the gateway. Ports share cookies, so that of the stand-in is beside them."""
    return [each for each in visitor.context.cookies() if each["name"] != STAND_IN_COOKIE]


@SCRIPTS
def test_a_browser_goes_to_the_platform_and_comes_back_signed_in(
    browser: Browser, site: PeopleSite, scripts: bool
) -> None:
    site.clock.advance(300)
    with visiting(browser, site, hosts=(site.stand_in.url,), java_script_enabled=scripts) as visitor:
        page = sign_in(visitor)
        expect(page).to_have_url(f"{site.base_url}/me")
        page.get_by_role("button", name="Ada, who owns bots Your account").click()
        (cookie,) = own_cookies(visitor)
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("You are signed out.")).to_be_visible()
        assert own_cookies(visitor) == []

    assert (cookie["name"], cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (
        SESSION,
        True,
        True,
        "Lax",
    )


def test_the_picture_of_a_user_is_shown(person: Visitor) -> None:
    page = sign_in(person)
    loaded = "() => [...document.images].map(each => each.complete && each.naturalWidth)"
    expect(page.get_by_role("button", name="Your account")).to_be_visible()
    assert page.evaluate(loaded) == [256]


def test_a_user_who_cancels_can_try_again(person: Visitor) -> None:
    page = sign_in(person, decision="Cancel")
    expect(page.get_by_text("was cancelled at 127.0.0.1")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("button", name="Approve").click()
    expect(page).to_have_url(f"{person.home}/me")


def test_a_user_signs_in_and_out_by_the_keyboard_alone(person: Visitor) -> None:
    page = person.see("/signin")
    for _ in range(12):  # past the skip link, the name of the site, its pages and the search
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith("Continue to"):
            break
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Approve").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Your account").press("Enter")
    page.get_by_role("button", name="Sign out").press("Enter")
    expect(page.get_by_text("You are signed out.")).to_be_visible()


def test_a_form_cannot_lead_anywhere_but_here_and_to_the_platform(site: PeopleSite, browser: Browser) -> None:
    with visiting(browser, site, hosts=(site.stand_in.url,)) as visitor:
        page = visitor.see("/signin")
        with page.expect_console_message(lambda said: "form-action" in said.text):
            page.evaluate("""() => { const form = document.querySelector("main form");
              form.action = "http://127.0.0.1:9/"; form.requestSubmit(); }""")
        assert not any("asked another host" in each for each in visitor.problems), visitor.problems
        visitor.problems.clear()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_of_the_sign_in_has_a_barrier(
    browser: Browser, site: PeopleSite, theme: Literal["light", "dark"]
) -> None:
    site.clock.advance(300)
    found, wider = {}, {}

    def look(name: str, visitor: Visitor) -> None:
        found[name] = visitor.barriers()
        for width in WIDTHS:
            visitor.page.set_viewport_size({"width": width, "height": 800})
            wider[name, width] = visitor.overflow()

    with visiting(browser, site, hosts=(site.stand_in.url,), color_scheme=theme) as visitor:
        visitor.expected |= {400, 403, 404}
        for path in ("/signin", "/signin/callback?state=x", "/nothing"):
            visitor.see(path)
            look(path, visitor)
        page = sign_in(visitor, "Cleo, who moderates")
        page.get_by_role("button", name="Your account").click()
        expect(page.get_by_role("link", name="Review")).to_be_visible()
        look("moderator", visitor)

    assert {name: barriers for name, barriers in found.items() if barriers} == {}
    assert {name: pixels for name, pixels in wider.items() if pixels} == {}
