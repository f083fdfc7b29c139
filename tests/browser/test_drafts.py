"""Drafts in a real browser: they are offered back until they are sent or discarded, or their user is gone."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, FilePayload, Page, expect

from tests.support.browser import Visitor, visiting
from tests.support.media_files import picture
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.people_scene import SESSION
from tests.support.platform_stand_in import READY

FORM = f"/bots/new?id={READY}"
SHORT, LONG = "A bot that plays music", "Plays **music** in every channel,\nfor everybody."


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("people") / "data") as gateway:
        yield gateway


def sign_in(gateway: PeopleGateway, visitor: Visitor, name: str = "Ada, who owns bots") -> Page:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    gateway.clock.advance(600)
    visitor.expected |= {400, 401, 404}
    page = visitor.see(f"/signin?to={FORM}")
    page.get_by_role("button", name="Continue to 127.0.0.1").click()
    page.get_by_label(name).check()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url("**/bots/new?id=*")
    return page


def fill(page: Page) -> None:
    page.get_by_label("Short description").fill(SHORT)
    page.get_by_label("Description", exact=True).fill(LONG)
    page.get_by_label("Music").check()


def test_a_draft_is_back_after_the_page_was_left_and_can_be_discarded(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,)) as visitor:
        page = sign_in(gateway, visitor)
        expect(page.get_by_text("Your draft of")).to_be_hidden()
        fill(page)
        visitor.see("/me")
        visitor.see(FORM)
        expect(page.get_by_text("Your draft of")).to_be_visible()
        expect(page.get_by_label("Description", exact=True)).to_have_value(LONG)
        expect(page.get_by_label("Music")).to_be_checked()
        assert visitor.barriers() == []
        page.get_by_role("button", name="Discard it").click()
        expect(page.get_by_label("Description", exact=True)).to_have_value("")
        visitor.see(FORM)
        expect(page.get_by_text("Your draft of")).to_be_hidden()


def test_what_is_sent_is_no_draft_any_more_and_what_is_refused_still_is(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,)) as visitor:
        page = sign_in(gateway, visitor)
        fill(page)
        page.get_by_label("Short description").fill("short")
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_role("alert")).to_contain_text("Short description")
        expect(page.get_by_text("Your draft of")).to_be_hidden()
        visitor.see(FORM)
        expect(page.get_by_text("Your draft of")).to_be_visible()
        page.get_by_label("Short description").fill(SHORT)
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()
        assert page.evaluate("localStorage.length") == 0


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
def test_a_form_of_a_session_that_has_ended_is_sent_again_after_a_sign_in_in_another_tab(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,), java_script_enabled=scripts) as visitor:
        page = sign_in(gateway, visitor)
        fill(page)
        visitor.context.clear_cookies(name=SESSION)
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_role("heading", name="You are not signed in any more")).to_be_visible()
        if scripts:
            assert visitor.barriers() == []
        with visitor.context.expect_page() as opened:
            page.get_by_role("link", name="Sign in, in a new tab").click()
        other = opened.value
        other.get_by_role("button", name="Continue to 127.0.0.1").click()
        other.get_by_label("Ada, who owns bots").check()
        other.get_by_role("button", name="Approve").click()
        expect(other.get_by_role("button", name="Your account")).to_be_visible()
        page.get_by_role("button", name="Send it again").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()
        if scripts:
            assert page.evaluate("localStorage.length") == 0
    assert gateway.done("GET", f"/manage/bots/{READY}")["description"] == LONG


def test_a_sign_out_takes_drafts_along_and_nobody_sees_those_of_another(
    browser: Browser, gateway: PeopleGateway
) -> None:
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,)) as visitor:
        page = sign_in(gateway, visitor)
        fill(page)
        assert page.evaluate("localStorage.length") == 1
        page.get_by_role("button", name="Your account").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_text("You are signed out.")).to_be_visible()
        assert page.evaluate("localStorage.length") == 0
        page = sign_in(gateway, visitor)
        fill(page)
        visitor.context.clear_cookies(name=SESSION)
        page = sign_in(gateway, visitor, "Ben")
        expect(page.get_by_text("Your draft of")).to_be_hidden()
        expect(page.get_by_label("Description", exact=True)).to_have_value("")
        assert page.evaluate("localStorage.length") == 0


def test_a_draft_of_a_form_with_files_is_back_but_for_its_files(
    browser: Browser, gateway: PeopleGateway
) -> None:
    file = FilePayload(name="wave.png", mimeType="image/png", buffer=picture(size=(60, 60)))
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,)) as visitor:
        sign_in(gateway, visitor)
        page = visitor.see("/emojis/new")
        page.get_by_label("Name").fill("tiny_wave")
        page.get_by_label("Cute").check()
        page.locator("#pictures-file").set_input_files([file])
        visitor.see("/me")
        visitor.see("/emojis/new")
        expect(page.get_by_text("Your draft of")).to_be_visible()
        expect(page.get_by_label("Name")).to_have_value("tiny_wave")
        expect(page.get_by_label("Cute")).to_be_checked()
        assert page.locator("#pictures-file").input_value() == ""
        page.locator("#pictures-file").set_input_files([file])
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()
        assert page.evaluate("localStorage.length") == 0
