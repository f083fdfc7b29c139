"""A walk through the pages as somebody would go: it counts clicks, and looks at each page on the way."""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page

from tests.support.browser import THEMES, Visitor
from tests.support.demo_site import DemoSite
from tests.support.people_filled import signed_in

HEIGHTS = {360: 740, 1_280: 900}


class Walk:
    """The walk of one visitor, in a window of one width."""

    def __init__(self, visitor: Visitor, width: int) -> None:
        self.visitor, self.width = visitor, width
        self.clicks = 0
        self.found: list[str] = []
        """The flaws of the pages that were looked at: where, the theme, and what."""
        self.page.set_viewport_size({"width": width, "height": HEIGHTS[width]})

    @property
    def page(self) -> Page:
        return self.visitor.page

    def look(self) -> None:
        """Note the barriers of the page in both themes, and if it scrolls sideways.

        The window is as high as the page meanwhile, or a bar at its edge would lie over targets for now.
        """
        height = self.page.evaluate("document.documentElement.scrollHeight")
        self.page.set_viewport_size({"width": self.width, "height": max(height, HEIGHTS[self.width])})
        place = urlsplit(self.page.url)
        where = f"{place.path}{'?' * bool(place.query)}{place.query} {self.width}"
        for theme in THEMES:
            # A colour that still moves to the other theme would count as one without contrast.
            self.page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            self.found += [f"{where} {theme}: {each}" for each in self.visitor.barriers()]
        self.page.set_viewport_size({"width": self.width, "height": HEIGHTS[self.width]})
        if wider := self.visitor.overflow():
            self.found.append(f"{where}: {wider} pixels too wide")

    def see(self, *paths: str) -> Page:
        """Open the pages and look at each."""
        for path in paths:
            self.visitor.see(path)
            self.look()
        return self.page

    def click(self, target: Locator) -> Page:
        """Click, and wait for the page that follows."""
        self.clicks += 1
        target.click()
        self.page.wait_for_load_state()
        return self.page

    def choose(self, target: Locator) -> None:
        """Click something that leads nowhere, such as a box to check."""
        self.clicks += 1
        target.click()


@contextmanager
def walking(browser: Browser, site: DemoSite, user: str | None, width: int) -> Iterator[Walk]:
    """Walk as the user, or as a visitor for None. At the end nothing may be wrong with any page."""
    with signed_in(browser, site, user) as visitor:
        walk = Walk(visitor, width)
        yield walk
        assert not walk.found, "\n".join(walk.found)
