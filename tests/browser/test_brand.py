"""A platform with a face of its own: the hardest accent and the longest name leave every page readable."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import THEMES, Theme, visiting
from tests.support.gateways import BOT, BOT_SUBMISSION, ROOT
from tests.support.people_gateway import PeopleGateway, serving

FACE: dict[str, object] = {
    "site.name": "The Wonderful Workshop of Bots & Servers",
    "site.logo": str(ROOT / "examples/brands/der-funkturm.svg"),
    "site.accent": "#ffff00",
    "site.terms": str(ROOT / "examples/terms.md"),
    "site.privacy": str(ROOT / "examples/privacy.md"),
    "site.contact": "hello@workshop.example",
    "site.links": [
        {"text": f"A link with a long text, number {n}", "url": "https://a.example"} for n in range(8)
    ],
}
PATHS = ("/", "/bots", f"/bots/{BOT}", "/terms", "/privacy", "/signin", "/docs")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PeopleGateway]:
    with serving(tmp_path_factory.mktemp("workshop") / "data", **FACE) as gateway:
        gateway.done("POST", "/manage/bots", BOT_SUBMISSION)
        gateway.done("POST", f"/manage/bots/{BOT}/approve", {})
        yield gateway


@pytest.mark.parametrize("theme", THEMES)
def test_no_page_has_a_barrier_or_scrolls_sideways(
    browser: Browser, workshop: PeopleGateway, theme: Theme
) -> None:
    with visiting(browser, workshop, color_scheme=theme) as visitor:
        found = {path: visitor.see(path) and visitor.flaws() for path in PATHS}
    assert {path: flaws for path, flaws in found.items() if flaws} == {}
