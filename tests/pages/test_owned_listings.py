"""An owner's way in a real browser: submit, look, change, prove, remove; with and without script."""

from collections.abc import Iterator
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import Visitor, visiting
from tests.support.owned_listings import SERVER, describe, list_bot, list_server
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import BEN, NO_BOT, PRIVATE, READY, SILENT

WIDTHS = (320, 768, 1_280)
HERE = f"/bots/{READY}/manage"
SHORT, DESCRIPTION = "A bot that plays music", "Plays **music** in every channel, for everybody."


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("people") / "data") as gateway:
        yield gateway


def sign_in(gateway: PeopleGateway, visitor: Visitor) -> Page:
    gateway.clock.advance(600)
    visitor.expected |= {400, 403, 404, 409}
    page = visitor.see("/signin?to=/bots/new")
    page.get_by_role("button", name="Continue to 127.0.0.1").click()
    page.get_by_label("Ada, who owns bots").check()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url("**/bots/new")
    return page


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_an_owner_submits_a_bot_proves_it_changes_it_and_removes_it(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,), java_script_enabled=scripts) as visitor:
        page = sign_in(gateway, visitor)
        page.get_by_label("Application ID").fill(READY)
        page.get_by_role("button", name="Look it up").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Ready bot")
        page.get_by_label("Short description").fill("short")
        page.get_by_label("Description", exact=True).fill(DESCRIPTION)
        page.get_by_label("Music").check()
        page.get_by_label("Extra owners").fill(BEN)
        page.get_by_role("button", name="Preview").click()
        expect(
            page.get_by_role("region", name="Preview of the description").locator("strong")
        ).to_be_visible()
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_role("alert")).to_contain_text("Short description")
        expect(page.get_by_label("Description", exact=True)).to_have_value(DESCRIPTION)
        expect(page.get_by_label("Music")).to_be_checked()
        page.get_by_label("Short description").fill(SHORT)
        page.get_by_role("button", name="Send for review").click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()

        code = page.locator("code").inner_text()
        describe(gateway, f"Music. {code}")
        page.get_by_role("button", name="Look for the code").click()
        expect(page.get_by_text("It is proven that the bot is yours.")).to_be_visible()

        page.get_by_role("link", name="Profile").click()
        page.get_by_label("Name", exact=True).fill("Another name")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("It is saved.")).to_be_visible()

        page.get_by_role("link", name="Owners").click()
        page.get_by_label("New owner").select_option(BEN)
        page.get_by_role("link", name="Danger zone").click()
        page.get_by_label("Type “Another name” to confirm").fill("Another name")
        page.get_by_role("button", name="Remove it").click()
        expect(page.get_by_text("It is removed, with all that belonged to it.")).to_be_visible()
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_of_a_listing_has_a_barrier_or_is_wider_than_its_window(
    browser: Browser, gateway: PeopleGateway, theme: Literal["light", "dark"]
) -> None:
    list_bot(gateway, extra=[BEN, "210000000000000000"], decision="deny", name="W" * 100)
    list_bot(gateway, NO_BOT, decision="approve")
    list_server(gateway, description="x" * 256)
    found, wider = {}, {}
    with visiting(browser, gateway, hosts=(gateway.stand_in.url,), color_scheme=theme) as visitor:
        page = sign_in(gateway, visitor)

        def look(name: str) -> None:
            found[name] = visitor.barriers()
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                wider[name, width] = visitor.overflow()

        tabs = ("", "/profile", "/owners", "/danger")
        for path in (
            *("/bots/new", "/bots/new?id=1", f"/bots/new?id={PRIVATE}", f"/bots/new?id={SILENT}"),
            *(f"/bots/{bot}/manage{tab}" for bot in (READY, NO_BOT) for tab in tabs),
            *(f"/servers/{SERVER}/manage{tab}" for tab in ("", "/profile", "/danger")),
        ):
            visitor.see(path)
            look(path)
        for path in (f"{HERE}/danger", f"{HERE}/profile", f"{HERE}/owners"):
            visitor.see(path)
            page.evaluate("""() => { const form = document.querySelector("main form");
              form.querySelectorAll("input, textarea").forEach((each) => {
                if (each.type === "checkbox") each.checked = false; else each.value = "x"; });
              form.noValidate = true; form.requestSubmit(); }""")
            expect(page.get_by_role("alert")).to_be_visible()
            look(f"{path}, refused")
        gateway.clock.advance(3_600)
        visitor.see(f"{HERE}/danger")
        look("a fresh sign-in")

    assert {name: barriers for name, barriers in found.items() if barriers} == {}
    assert {name: pixels for name, pixels in wider.items() if pixels} == {}
