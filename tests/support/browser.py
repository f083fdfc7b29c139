"""Debian's chromium, driven by Playwright, and visitors that note errors of the pages."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, sync_playwright

from tests.support.gateways import WAIT_SECONDS, Client
from tests.support.programs import installed

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
WIDTHS = (320, 768, 1_280)
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WAIT_MS = WAIT_SECONDS * 1_000


@contextmanager
def browsing() -> Iterator[Browser]:
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    path = installed("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


class Visitor:
    """A browser with its own session.

    It notes errors in the console, violations of the content security policy, and requests to other hosts.
    """

    def __init__(self, browser: Browser, gateway: Client, hosts: Sequence[str] = (), **options: Any) -> None:
        """`hosts` are the other addresses that the pages may send requests to."""
        self.gateway = gateway
        self.home = gateway.base_url
        self._hosts = {urlsplit(each).netloc for each in (self.home, *hosts)}
        self.problems: list[str] = []
        self.expected: set[int] = set()
        """Statuses that a test expects: chromium writes each failed request to the console."""
        self.context: BrowserContext = browser.new_context(
            base_url=self.home, viewport={"width": 1_280, "height": 800}, **options
        )
        self.context.set_default_timeout(WAIT_MS)
        self.context.on("console", self._said)
        self.context.on("weberror", lambda error: self.problems.append(str(error.error)))
        self.context.on("request", self._asked)
        self.page: Page = self.context.new_page()

    def _said(self, message: ConsoleMessage) -> None:
        is_expected = any(f"status of {status}" in message.text for status in self.expected)
        if message.type in {"error", "warning"} and not is_expected:
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        if urlsplit(request.url).netloc not in self._hosts and request.url.startswith("http"):
            self.problems.append(f"asked another host: {request.url}")

    def sign_in(self) -> "Visitor":
        self.page.goto("/debug")
        self.page.get_by_label("Operator token").fill(self.gateway.operator_token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url("**/debug")
        return self

    def see(self, path: str) -> Page:
        """Open a page and wait until its scripts have run."""
        self.page.goto(path, wait_until="load")
        return self.page

    def barriers(self) -> list[str]:
        """Return the violations that axe finds in the page: the rule and the element."""
        found = Axe().run(self.page, options={"runOnly": list(RULES), "resultTypes": ["violations"]})
        return [
            f"{each['id']}: {node['html'][:160]}"
            for each in found.response["violations"]
            for node in each["nodes"]
        ]

    def overflow(self) -> int:
        """Return the number of pixels by which the page is wider than its window."""
        wider: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return max(wider, 0)

    def flaws(self) -> list[str]:
        """Return the barriers of the page, and the widths of windows in which it scrolls sideways."""
        found = self.barriers()
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            if wider := self.overflow():
                found.append(f"{wider} pixels wider than a window of {width}")
        return found

    def close(self) -> None:
        self.context.close()


@contextmanager
def visiting(browser: Browser, gateway: Client, **options: Any) -> Iterator[Visitor]:
    """Open a visitor. At the end it must have noted no problem."""
    visitor = Visitor(browser, gateway, **options)
    try:
        yield visitor
        assert not visitor.problems, visitor.problems
    finally:
        visitor.close()
