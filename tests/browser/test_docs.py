"""The pages of the documentation in a real browser: readable for all, with a filter, and requests to try."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from handlers.routes import DOCUMENTS, MANAGEMENT, REFERENCE
from tests.support.browser import THEMES, Theme, Visitor, visiting
from tests.support.gateways import BOT, USER, ThreadGateway, running

KEPT = """() => JSON.stringify([
  location.href, document.cookie, {...localStorage}, {...sessionStorage}, history.state, window.name,
  performance.getEntries().map((each) => each.name),
])"""
"""Everything that a page leaves behind: its address, cookies, storage, and the addresses of its requests."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    settings: dict[str, object] = {"kinds.enabled": ["bots"]}
    with running(tmp_path_factory.mktemp("docs") / "data", **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def key(gateway: ThreadGateway) -> str:
    return gateway.list_bot()


@pytest.mark.parametrize("path", [each.path for each in DOCUMENTS])
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_either_theme_and_on_a_phone(
    browser: Browser, gateway: ThreadGateway, path: str, theme: Theme
) -> None:
    with visiting(browser, gateway, color_scheme=theme) as visitor:
        visitor.see(path)
        if theme == "light":
            assert visitor.flaws() == []
            return
        visitor.page.set_viewport_size({"width": 360, "height": 800})
        for folded in visitor.page.locator("summary:visible").all()[:4]:
            folded.click()
        assert visitor.barriers() == []


def test_a_filter_shows_the_requests_with_all_of_its_words(browser: Browser, gateway: ThreadGateway) -> None:
    with visiting(browser, gateway) as visitor:
        page = visitor.see(MANAGEMENT)
        every = page.locator("article.call").count()
        page.get_by_label("Filter").fill("key BOTS post")
        titles = page.locator("article.call:visible h3").all_inner_texts()
        assert "Issue an API key" in titles
        assert len(titles) < every / 10
        expect(page.get_by_role("status").first).to_have_text(f"{len(titles)} of {every} requests")
        assert page.locator(".toc li:visible a[href='#removeBot']").count() == 0
        page.get_by_label("Filter").fill("no such request")
        expect(page.locator("article.call:visible")).to_have_count(0)
        page.get_by_label("Filter").fill("")
        expect(page.locator("article.call:visible")).to_have_count(every)


@pytest.mark.parametrize("path", [REFERENCE, MANAGEMENT])
def test_without_script_everything_is_there_but_what_needs_it(
    browser: Browser, gateway: ThreadGateway, path: str
) -> None:
    with visiting(browser, gateway, java_script_enabled=False) as visitor:
        page = visitor.see(path)
        assert page.locator("article.call:visible").count() == page.locator("article.call").count()
        expect(page.locator("form:visible, #filter:visible")).to_have_count(0)
        first = page.locator(".samples").first
        expect(first.locator("pre:visible")).to_contain_text("curl")
        page.locator("fieldset label", has_text="Python").click()
        expect(first.locator("pre:visible")).to_contain_text("urlopen")
        first.locator("label[for=in-node]").click()
        expect(first.locator("pre:visible")).to_contain_text("await fetch")


def opened(visitor: Visitor, name: str) -> Page:
    """Open the form of an operation."""
    page = visitor.see(REFERENCE)
    page.locator(f"article:has(#{name}) .more > summary").click()
    return page


def ask(page: Page, key: str) -> None:
    form = page.locator("article:has(#checkVote) form")
    form.get_by_label("API key").fill(key)
    form.get_by_label("The bot's id").fill(BOT)
    form.get_by_label("The user's id").fill(USER)
    form.get_by_role("button", name="Send").click()


def test_try_it_shows_the_answer_and_explains_its_limits(
    browser: Browser, gateway: ThreadGateway, key: str
) -> None:
    with visiting(browser, gateway) as visitor:
        page = opened(visitor, "checkVote")
        ask(page, key)
        answer = page.locator("article:has(#checkVote) .answer")
        expect(answer.locator(".chip")).to_have_text("200")
        expect(answer.locator("pre")).to_contain_text('"voted": false')
        left = answer.locator("[data-header=ratelimit-remaining]")
        expect(left).to_have_text(re.compile(r"ratelimit-remaining \d+"))
        expect(answer.locator("dl")).to_contain_text("The number of requests left in the current window.")
        expect(answer.locator(".told")).to_contain_text(
            re.compile(r"\d+ more may be sent in the next \d+ seconds")
        )
        expect(answer.locator("[data-header=retry-after]")).to_be_hidden()


def test_try_it_pushes_counts(browser: Browser, gateway: ThreadGateway, key: str) -> None:
    with visiting(browser, gateway) as visitor:
        page = opened(visitor, "updateStats")
        form = page.locator("article:has(#updateStats) form")
        form.get_by_label("API key").fill(key)
        form.get_by_label("The bot's id").fill(BOT)
        form.get_by_label("command_count").fill("42")
        form.get_by_role("button", name="Send").click()
        expect(page.locator("article:has(#updateStats) .answer .chip")).to_have_text("200")
    assert gateway.kept(f"/manage/bots/{BOT}")["command_count"] == 42


@pytest.mark.usefixtures("key")
def test_try_it_shows_a_refusal(browser: Browser, gateway: ThreadGateway) -> None:
    with visiting(browser, gateway) as visitor:
        visitor.expected.add(401)
        page = opened(visitor, "checkVote")
        ask(page, "vg_wrong")
        answer = page.locator("article:has(#checkVote) .answer")
        expect(answer.locator(".chip")).to_have_text("401")
        expect(answer.locator("pre")).to_contain_text("Invalid API key.")


def test_the_key_stays_in_the_memory_of_the_page(browser: Browser, gateway: ThreadGateway, key: str) -> None:
    with visiting(browser, gateway) as visitor:
        addresses = list[str]()
        visitor.context.on("request", lambda request: addresses.append(request.url))
        page = opened(visitor, "checkVote")
        ask(page, key)
        expect(page.locator("article:has(#checkVote) .answer .chip")).to_have_text("200")
        assert key not in page.evaluate(KEPT)
        assert not any(key in address for address in addresses)
        assert visitor.context.cookies() == []
        page.reload()
        assert page.locator("input[data-key]").first.input_value() == ""
        page.go_back()
        page.go_forward()
        assert page.locator("input[data-key]").first.input_value() == ""


def test_an_id_that_is_a_key_is_not_sent(browser: Browser, gateway: ThreadGateway, key: str) -> None:
    with visiting(browser, gateway) as visitor:
        addresses = list[str]()
        page = opened(visitor, "checkVote")
        visitor.context.on("request", lambda request: addresses.append(request.url))
        form = page.locator("article:has(#checkVote) form")
        form.get_by_label("API key").fill(key)
        form.get_by_label("The bot's id").fill(key)
        form.get_by_label("The user's id").fill(USER)
        form.get_by_role("button", name="Send").click()
        assert form.locator("input:invalid").count() == 1
        assert addresses == []


def test_copying_takes_the_language_that_is_shown(browser: Browser, gateway: ThreadGateway) -> None:
    with visiting(browser, gateway, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        page = visitor.see(REFERENCE)
        page.locator("fieldset label", has_text="Node").click()
        page.locator(".samples").first.get_by_role("button", name="Copy").click()
        expect(page.locator("#said")).to_have_text("Copied")
        assert "await fetch" in page.evaluate("navigator.clipboard.readText()")
