"""Signing in and out, with the mouse, by keyboard alone, and with scripts switched off."""

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.browser import Visitor, visiting
from tests.support.debug_scene import paths
from tests.support.gateways import BOT, BOT_SUBMISSION, OPERATOR_TOKEN, ThreadGateway, running

REACHED = """() => {
  const seen = [...document.querySelectorAll('a[href], button, input, select, textarea, summary')];
  return seen.filter(each => each.checkVisibility() && !each.disabled && each.tabIndex >= 0
    && !each.closest('.skip') && !each.matches('.skip')).length;
}"""
FOCUSED = """() => { const it = document.activeElement; if (!it || it === document.body) return null;
  it.dataset.reached = 'yes'; return it.outerHTML.slice(0, 120); }"""
OTHER_RADIOS = """() => { const it = document.activeElement;
  return it.type === 'radio' ? document.getElementsByName(it.name).length - 1 : 0; }"""
MARKED = "() => document.querySelectorAll('[data-reached]:not(.skip)').length"


def test_a_page_asks_for_the_token_and_is_shown_then(browser: Browser, full: ThreadGateway) -> None:
    with visiting(browser, full) as visitor:
        page = visitor.see("/debug/webhooks")
        assert "/debug/sign-in" in page.url
        page.get_by_label("Operator token").fill(full.operator_token)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Webhooks")
        cookie = visitor.context.cookies()[0]

    assert cookie["name"].startswith("__Host-")
    assert (cookie["httpOnly"], cookie["secure"], cookie["path"]) == (True, True, "/")
    assert OPERATOR_TOKEN not in cookie["value"]


def test_a_wrong_token_is_refused_in_words(browser: Browser, full: ThreadGateway) -> None:
    with visiting(browser, full) as visitor:
        visitor.expected.add(401)
        page = visitor.see("/debug")
        page.get_by_label("Operator token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()

        expect(page.get_by_role("alert")).to_be_visible()
        assert visitor.context.cookies() == []


def test_signing_out_ends_the_session_here_and_there(visitor: Visitor) -> None:
    page = visitor.see("/debug")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Operator token")).to_be_visible()
    visitor.see("/debug/errors")

    assert "/debug/sign-in" in visitor.page.url


def test_every_control_is_reached_by_the_keyboard_alone(visitor: Visitor) -> None:
    missed = {}
    for path in paths():
        page = visitor.see(path)
        wanted: int = page.evaluate(REACHED)
        for _ in range(wanted + 5):
            page.keyboard.press("Tab")
            if page.evaluate(FOCUSED) is None:
                break
            for _ in range(page.evaluate(OTHER_RADIOS)):  # a group is one stop, and arrow keys go through it
                page.keyboard.press("ArrowRight")
                page.evaluate(FOCUSED)
        reached: int = page.evaluate(MARKED)
        if reached < wanted:
            missed[path] = wanted - reached

    assert missed == {}


def test_an_operator_signs_in_and_approves_by_the_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
        with visiting(browser, gateway) as visitor:
            page = visitor.see(f"/debug/listings/bots/{BOT}")
            page.get_by_label("Operator token").focus()
            page.keyboard.type(gateway.operator_token)
            page.keyboard.press("Enter")
            page.get_by_role("link", name="Approve").focus()
            page.keyboard.press("Enter")
            page.get_by_role("button", name="Approve").focus()
            page.keyboard.press("Enter")
            expect(page.get_by_text("It is approved.")).to_be_visible()

        assert gateway.done("GET", f"/manage/bots/{BOT}")["state"] == "approved"


def test_everything_works_with_scripts_switched_off(browser: Browser, tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
        with visiting(browser, gateway, java_script_enabled=False) as visitor:
            page = visitor.sign_in().page
            for path in ("/debug", "/debug/webhooks", "/debug/limiter", "/debug/errors", "/debug/journal"):
                response = page.goto(path)
                assert response is not None
                assert response.status == 200
                expect(page.get_by_role("heading", level=1)).to_be_visible()
            page.get_by_role("searchbox").first.fill("test")
            page.keyboard.press("Enter")
            page.get_by_role("link", name="Test bot").click()
            page.get_by_role("link", name="Deny").click()
            page.get_by_role("textbox", name="Reason").fill("It does not answer.")
            page.get_by_role("button", name="Deny").click()
            expect(page.get_by_text("Its owner sees the reason.")).to_be_visible()

        shown = gateway.done("GET", f"/manage/bots/{BOT}")
        assert (shown["state"], shown["reason"]) == ("denied", "It does not answer.")
