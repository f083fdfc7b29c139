"""Hostile descriptions in a real browser: nothing runs, nothing is asked for, nothing leaves its box."""

from functools import partial
from pathlib import Path

from msgspec.structs import replace
from playwright.sync_api import Browser

from core.events import ListingSaved
from kinds.bots import BotProfile
from tests.support.browser import visiting
from tests.support.gateways import BOT, OWNER, running
from tests.support.hostile_markdown import HOSTILE
from web.markdown import ATTRIBUTES, MOST_CHARACTERS, TAGS

FOUND = """box => [...box.querySelectorAll('*')].flatMap(each => [
  each.localName, each.namespaceURI, ...each.getAttributeNames().map(name => `${each.localName} ${name}`)])"""
ALLOWED = {
    *TAGS,
    "http://www.w3.org/1999/xhtml",
    *(f"{tag} {name}" for tag, names in ATTRIBUTES.items() for name in names),
    *("a rel", "th align", "td align", "code dir", "pre dir"),
}


def descriptions() -> list[str]:
    """The hostile texts in few descriptions. Each is a quote, so that none swallows the next."""
    found = [""]
    for text in HOSTILE:
        quote = "> " + text.replace("\n", "\n> ") + "\n\n"
        if len(found[-1]) + len(quote) > MOST_CHARACTERS:
            found.append("")
        found[-1] += quote
    return found


def test_a_hostile_description_does_nothing(browser: Browser, tmp_path: Path) -> None:
    profile = BotProfile("A bot", "A bot for the tests", "", ("Utility",))
    with running(tmp_path / "data") as gateway, visiting(browser, gateway) as visitor:
        visitor.sign_in()
        visitor.page.on("dialog", lambda dialog: visitor.problems.append(dialog.message))
        for description in descriptions():
            listed = ListingSaved(
                f"bots/{BOT}", OWNER, replace(profile, description=description), "approved", 1
            )
            gateway.on_loop(partial(gateway.gateway.ledger.commit, [listed]))
            page = visitor.see(f"/debug/listings/bots/{BOT}")
            assert set(page.locator(".prose").evaluate(FOUND)) <= ALLOWED
            assert page.get_by_role("table", name="Limits").count() == 1
