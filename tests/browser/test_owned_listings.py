"""An owner's way in a real browser: submit, look, change, prove, remove; with and without script."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browser import THEMES, Theme
from tests.support.co_owners import let_join
from tests.support.gateways import BOT_SUBMISSION
from tests.support.owned_listings import SERVER, describe, list_bot, list_server
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA, BEN, NO_BOT, PRIVATE, READY, SILENT

HERE = f"/bots/{READY}/manage"
SHORT, DESCRIPTION = "A bot that plays music", "Plays **music** in every channel, for everybody."


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("people") / "data") as gateway:
        yield gateway


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
def test_an_owner_submits_a_bot_proves_it_changes_it_and_removes_it(
    browser: Browser, gateway: PeopleGateway, scripts: bool
) -> None:
    gateway.operate("DELETE", f"/manage/bots/{READY}")
    with signed_in(browser, gateway, ADA, java_script_enabled=scripts) as visitor:
        visitor.expected |= {400, 403, 404, 409}
        page = visitor.see("/bots/new")
        page.get_by_label("Application ID").fill(READY)
        page.get_by_role("button", name="Look it up").click()
        expect(page.get_by_label("Name", exact=True)).to_have_value("Ready bot")
        page.get_by_label("Short description").fill("short")
        page.get_by_label("Description", exact=True).fill(DESCRIPTION)
        page.get_by_label("Music").check()
        page.get_by_text("Invite co-owners").click()
        page.get_by_label("Co-owners").fill(BEN)
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

        code = page.locator("#proof").inner_text()
        describe(gateway, f"Music. {code}")
        page.get_by_role("button", name="Look for the code").click()
        expect(page.get_by_text("The ownership is verified.")).to_be_visible()

        page.get_by_role("link", name="Profile", exact=True).click()
        page.get_by_label("Name", exact=True).fill("Another name")
        page.get_by_role("main").get_by_role("button", name="Save").click()
        expect(page.get_by_text("It is saved.")).to_be_visible()

        page.get_by_role("link", name="Owners").click()
        page.get_by_role("button", name=f"Withdraw the invitation of {BEN}").click()
        page.get_by_label("User ID of the new co-owner").fill(BEN)
        page.get_by_role("button", name="Invite").click()
        expect(page.get_by_text("The person is invited.")).to_be_visible()
        page.get_by_label("User ID of the new owner").fill(BEN)
        page.get_by_role("button", name="Offer the ownership").click()
        expect(page.get_by_text("You stay the owner unless they accept.")).to_be_visible()
        page.get_by_role("button", name="Withdraw the offer").click()
        page.get_by_role("link", name="Danger zone").click()
        page.get_by_label("Type “Another name” to confirm").fill("Another name")
        page.get_by_role("button", name="Remove it").click()
        expect(page.get_by_text("It is removed, with all that belonged to it.")).to_be_visible()
    assert gateway.operate("GET", f"/manage/bots/{READY}").status_code == 404


def make_keys_and_leave(gateway: PeopleGateway) -> None:
    """Ben was a co-owner and knows two keys, another user is invited, and one is the heir."""
    let_join(gateway, NO_BOT, BEN)
    ben = gateway.person(BEN)
    for name in ("first", "W" * 100):
        assert ben.post(f"/bots/{NO_BOT}/manage/keys", {"name": name}).status_code == 200
    ben.acted(f"/bots/{NO_BOT}/manage/leave")
    gateway.done("PUT", f"/manage/bots/{NO_BOT}/extra-owners/210000000000000000", {})
    gateway.done("PUT", f"/manage/bots/{NO_BOT}/hand-over", {"heir": BEN})


@pytest.mark.parametrize("theme", THEMES)
def test_no_refusal_and_no_long_name_has_a_barrier_or_is_wider_than_its_window(
    browser: Browser, gateway: PeopleGateway, theme: Theme
) -> None:
    list_bot(gateway, extra=[BEN, "210000000000000000"], decision="deny", name="W" * 100)
    list_bot(gateway, NO_BOT, decision="approve")
    list_server(gateway, description="x" * 256)
    make_keys_and_leave(gateway)
    found = {}
    with signed_in(browser, gateway, ADA, color_scheme=theme) as visitor:
        visitor.expected |= {400, 403, 404, 409}
        for path in (
            *("/bots/new?id=1", f"/bots/new?id={PRIVATE}", f"/bots/new?id={SILENT}"),
            *(HERE, f"/bots/{NO_BOT}/manage", f"/servers/{SERVER}/manage"),
            *(f"/bots/{NO_BOT}/manage/owners", f"/servers/{SERVER}/manage/owners"),
        ):
            visitor.see(path)
            found[path] = visitor.flaws()
        for path in (f"{HERE}/danger", f"{HERE}/profile", f"{HERE}/owners"):
            page = visitor.see(path)
            page.evaluate("""() => { const form = document.querySelector("main form:has(.field)");
              form.querySelectorAll("input:not([type=hidden]), textarea").forEach((each) => {
                if (each.type === "checkbox") each.checked = false; else each.value = "x"; });
              form.noValidate = true; form.requestSubmit(); }""")
            expect(page.get_by_role("alert")).to_be_visible()
            found[f"{path}, refused"] = visitor.flaws()
        page = visitor.see(f"{HERE}/profile")
        ada = {"owner_id": ADA, "description": "Another version. " * 20}
        form = {name: value for name, value in BOT_SUBMISSION.items() if name != "id"}
        gateway.done("PUT", f"/manage/bots/{READY}", {**form, **ada})
        page.get_by_label("Name", exact=True).fill("V" * 100)
        page.get_by_role("main").get_by_role("button", name="Save").click()
        expect(page.get_by_role("table", name="Two versions")).to_be_visible()
        found["two versions"] = visitor.flaws()
        gateway.clock.advance(3_600)
        visitor.see(f"{HERE}/danger")
        found["a fresh sign-in"] = visitor.flaws()

    assert {name: flaws for name, flaws in found.items() if flaws} == {}
