"""Keys and webhooks in a real browser: with and without script, in both themes, at three widths."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import THEMES, Theme
from tests.support.contract import deliveries, webhook
from tests.support.gateways import BOT
from tests.support.people_filled import signed_in
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import ADA
from tests.support.suspended_endpoints import ONCE, hold
from tests.support.visited_listings import KEYS, WEBHOOK, own_bot
from tests.support.webhook_receiver import Receiver, receiving, status

SCRIPTS = pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "scriptless"])
KEY = re.compile(r"vg_[A-Za-z0-9_-]{43}")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("owner") / "data", **ONCE) as gateway:
        yield gateway


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def press(page: Page, name: str) -> None:
    page.get_by_role("main").get_by_role("button", name=name, exact=True).click()


@SCRIPTS
def test_a_key_is_made_rotated_and_deleted(browser: Browser, gateway: PeopleGateway, scripts: bool) -> None:
    own_bot(gateway)
    with signed_in(browser, gateway, ADA, java_script_enabled=scripts) as visitor:
        visitor.expected |= {400, 404, 409}
        page = visitor.see(KEYS)
        page.get_by_label("Name", exact=True).fill("production")
        press(page, "Make a key")
        first = page.locator("#secret").inner_text()
        assert gateway.voters(first).status_code == 200
        visitor.see(KEYS)
        assert not KEY.search(page.content())
        page.get_by_role("link", name="Replace production").click()
        page.get_by_label("The old one stops").select_option("After 1 hour")
        press(page, "Replace the key")
        second = page.locator("#secret").inner_text()
        assert [gateway.voters(each).status_code for each in (first, second)] == [200, 200]
        page.get_by_role("link", name="Delete production").click()
        page.get_by_label("Type “production” to confirm").fill("prod")
        press(page, "Delete the key")
        expect(page.locator("[aria-invalid=true]")).to_be_visible()
        page.get_by_label("Type “production” to confirm").fill("production")
        press(page, "Delete the key")
        expect(page.locator("#notices")).to_contain_text("The key is deleted.")
        assert [gateway.voters(each).status_code for each in (first, second)] == [401, 401]


def test_a_button_copies_a_key_and_a_click_selects_it(browser: Browser, gateway: PeopleGateway) -> None:
    own_bot(gateway)
    with signed_in(browser, gateway, ADA) as visitor:
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=gateway.base_url)
        page = visitor.see(KEYS)
        page.get_by_label("Name", exact=True).fill("production")
        press(page, "Make a key")
        key = page.locator("#secret").inner_text()
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_text("Copied")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == key
        page.locator("#secret").click()
        assert page.evaluate("getSelection().toString().trim()") == key


def test_where_the_clipboard_is_closed_the_button_selects(browser: Browser, gateway: PeopleGateway) -> None:
    own_bot(gateway)
    with signed_in(browser, gateway, ADA) as visitor:
        page = visitor.see(KEYS)
        page.get_by_label("Name", exact=True).fill("production")
        press(page, "Make a key")
        page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('closed')) }")
        page.get_by_role("button", name="Copy").first.click()
        expect(page.get_by_text("Selected: press")).to_be_visible()
        assert page.evaluate("getSelection().toString().trim()") == page.locator("#secret").inner_text()


@SCRIPTS
def test_a_webhook_is_set_up_tested_healed_and_removed(
    browser: Browser, gateway: PeopleGateway, receiver: Receiver, scripts: bool
) -> None:
    own_bot(gateway)
    with signed_in(browser, gateway, ADA, java_script_enabled=scripts) as visitor:
        visitor.expected |= {400, 404, 409}
        page = visitor.see(WEBHOOK)
        page.get_by_label("Address").fill(f"{receiver.url}/votes")
        page.get_by_label("Token").fill("token-of-the-owner")
        press(page, "Save and send a test")
        assert page.locator("#secret").inner_text().startswith("whsec_")
        expect(page.get_by_role("main")).to_contain_text("status 204")
        press(page, "Send a test")
        expect(page.get_by_role("main")).to_contain_text("It arrived")
        hold(gateway, receiver, 1)
        visitor.see(WEBHOOK)
        expect(page.get_by_role("main")).to_contain_text("Votes do not reach you")
        press(page, "Probe now")
        expect(page.locator("#notices")).to_contain_text("The probe arrived.")
        page.get_by_role("link", name="Delivery log").click()
        page.get_by_role("link", name="Failed", exact=True).click()
        page.locator(".deliveries summary").first.click()
        page.get_by_role("link", name="See what was sent").first.click()
        press(page, "Send it again")
        expect(page.get_by_role("main")).to_contain_text("It arrived")
        page.get_by_role("link", name="Delivery log").click()
        page.get_by_label("Failed").select_option("At any time")
        press(page, "Send them again")
        expect(page.locator("#notices")).to_contain_text("The failed deliveries are sent again.")
        visitor.see(WEBHOOK)
        page.get_by_role("link", name="Remove the webhook").click()
        press(page, "Remove the webhook")
        expect(page.locator("#notices")).to_contain_text("The webhook is removed.")


@pytest.mark.parametrize("theme", THEMES)
def test_no_key_refusal_or_suspension_has_a_barrier_or_scrolls_sideways(
    browser: Browser, gateway: PeopleGateway, receiver: Receiver, theme: Theme
) -> None:
    own_bot(gateway, approved=False)
    found = {}
    with signed_in(browser, gateway, ADA, color_scheme=theme) as visitor:
        visitor.expected |= {400, 404, 409}
        for path in (KEYS, f"{WEBHOOK}/deliveries"):
            visitor.see(path)
            found[f"empty {path}"] = visitor.flaws()
        page = visitor.see(WEBHOOK)
        press(page, "Save")  # the browser itself asks for the address
        page.get_by_label("Address").evaluate("field => { field.required = false; field.type = 'text' }")
        press(page, "Save")
        expect(page.get_by_role("alert")).to_be_visible()
        found["refused settings"] = visitor.flaws()
        gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
        key = gateway.done("POST", f"/manage/bots/{BOT}/keys", {"name": "w" * 100})["id"]
        gateway.done(
            "PUT", f"/manage/bots/{BOT}/webhook", {"url": f"{receiver.url}/{'v' * 500}", "token": "t"}
        )
        hold(gateway, receiver, 1)
        receiver.default = status(500, b"w" * 600)
        failed = gateway.done("POST", f"/manage/bots/{BOT}/webhook/test", {"user": "200000000000000001"})[
            "id"
        ]
        assert webhook(gateway)["suspension"] is not None
        assert len(deliveries(gateway)) == 12
        of_webhook = ("", "/secret", "/remove", f"/deliveries/{failed}")
        for path in (
            KEYS,
            f"{KEYS}/{key}/rotate",
            f"{KEYS}/{key}/delete",
            *(WEBHOOK + each for each in of_webhook),
        ):
            visitor.see(path)
            found[path] = visitor.flaws()
        visitor.see(KEYS)
        page.get_by_label("Name", exact=True).fill("production")
        press(page, "Make a key")
        found["a new key"] = visitor.flaws()

    assert {name: flaws for name, flaws in found.items() if flaws} == {}
