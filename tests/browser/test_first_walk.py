"""The walk of the README's first five minutes, in a real browser, word by word where it names buttons."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.support.browser import visiting
from tests.support.gateways import ROOT
from tests.support.people_filled import signed_in
from tests.support.people_gateway import serving
from tests.support.platform_stand_in import CLEO, READY

WALK = (ROOT / "README.md").read_text().split("### In a browser\n")[1].split("### With curl")[0]


def named(button: str) -> str:
    """The name of a button or link that the README tells to press."""
    assert f"*{button}*" in WALK
    return button


def test_a_bot_is_submitted_approved_and_has_a_key(browser: Browser, tmp_path: Path) -> None:
    assert READY in WALK
    with (
        serving(tmp_path / "data") as gateway,
        visiting(browser, gateway, hosts=(gateway.stand_in.url,)) as ada,
    ):
        ada.expected.add(404)  # the icon of the stand-in
        page = ada.see("/")
        page.get_by_role("link", name=named("Add yours")).locator("visible=true").click()
        page.get_by_role("link", name=named("Submit a bot")).locator("visible=true").click()
        page.get_by_role("button", name="Continue to").click()
        page.get_by_label("Ada, who owns bots").check()
        page.get_by_role("button", name="Approve").click()
        page.get_by_label("Application ID").fill(READY)
        page.get_by_role("button", name=named("Look it up")).click()
        page.get_by_label("Short description").fill("Plays music in voice channels.")
        page.get_by_label("Description", exact=True).fill("Jukebox plays music in voice channels, for all.")
        page.get_by_label("Music").check()
        page.get_by_role("button", name=named("Send for review")).click()
        expect(page.get_by_text("It is submitted.")).to_be_visible()

        with signed_in(browser, gateway, CLEO) as cleo:
            cleo.page.get_by_role("button", name="Your account").click()
            cleo.page.get_by_role("link", name=re.compile(rf"^{named('Review')}\W*1$")).click()
            cleo.page.get_by_role("link", name="Ready bot").click()
            cleo.page.get_by_label("I have checked").check()
            cleo.page.get_by_role("button", name="Approve").click()
            expect(cleo.page.locator("#notices")).to_contain_text("approved")

        ada.see(f"/bots/{READY}/manage")
        page.get_by_role("button", name=named("Make a key")).click()
        page.get_by_text("Try it: has a user voted?").click()
        expect(page.get_by_text("curl", exact=False).first).to_be_visible()
