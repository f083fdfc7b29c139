"""The screenshots of the docs, by `make screens`: gateways with something to see, one under a little load."""

import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser

from tests.support.browser import browsing, visiting
from tests.support.debug_scene import filled_scene
from tests.support.gateways import BOT, OTHER_BOT, ROOT, ThreadGateway
from tests.support.people_filled import FRESH_BOT, QUIZ_BOT, READY_BOT, filled_site, signed_in
from tests.support.platform_stand_in import ADA, BEN, CLEO, OPEN_NSFW, WITHOUT_BOT
from tests.support.webhook_receiver import receiving

FOLDER = ROOT / "docs" / "screens"
LOAD_SECONDS = 60.0
"""The time that the load runs before the first picture: the charts show a minute."""


class Screen(NamedTuple):
    """A picture. `user` is the owner of the browser, on a page for people."""

    name: str
    path: str
    width: int = 1_280
    height: int = 900
    theme: Any = "light"
    user: str | None = None
    press: str | None = None
    """The button that leads to what is shown."""


SCREENS = (
    Screen("overview", "/debug"),
    Screen("webhooks", "/debug/webhooks"),
    Screen("listing", f"/debug/listings/bots/{BOT}"),
    Screen("phone", "/debug", 390, 844, "dark"),
)

OF_PEOPLE = (
    Screen("home", "/"),
    Screen("sign-in", "/signin?to=/me", 390, 844),
    Screen("my-listings", "/me", user=ADA),
    Screen("vote", f"/bots/{QUIZ_BOT}/vote", user=BEN),
    Screen("voted-phone", f"/bots/{BOT}/vote", 360, 740, "dark", BEN),
    Screen("flagged-votes", "/review/votes", user=CLEO),
    Screen("my-votes", "/me/votes", user=BEN),
    Screen("my-votes-phone", "/me/votes", 360, 800, "dark", BEN),
    Screen("notices", "/me/notices", theme="dark", user=ADA),
    Screen("sessions", "/me/sessions", 390, 844, user=ADA),
    Screen("my-data", "/me/data", theme="dark", user=ADA),
    Screen("new-bot", f"/bots/new?id={FRESH_BOT}", height=1_400, user=ADA),
    Screen("manage", f"/bots/{BOT}/manage", user=ADA),
    Screen("numbers", f"/bots/{BOT}/manage/votes", height=1_800, user=ADA),
    Screen("numbers-phone", f"/bots/{BOT}/manage/votes", 360, 1_000, "dark", ADA),
    Screen("profile", f"/bots/{BOT}/manage/profile", height=1_400, theme="dark", user=ADA),
    Screen("keys", f"/bots/{BOT}/manage/keys", user=ADA),
    Screen("webhook", f"/bots/{BOT}/manage/webhook", height=1_400, user=ADA),
    Screen("deliveries", f"/bots/{BOT}/manage/webhook/deliveries", theme="dark", user=ADA),
    Screen("owners", f"/bots/{BOT}/manage/owners", 390, 844, user=ADA),
    Screen("danger", f"/bots/{BOT}/manage/danger", 390, 844, "dark", ADA),
    Screen("choose-server", "/servers/new", user=ADA, press="Read my servers"),
    Screen("new-server", f"/servers/new?id={OPEN_NSFW}", user=ADA),  # with the list of before
    Screen("server", f"/servers/{WITHOUT_BOT}/manage", height=1_400, user=ADA),
    Screen("server-phone", f"/servers/{WITHOUT_BOT}/manage", 360, 1_400, "dark", ADA),
    Screen("queue", "/review", user=CLEO),
    Screen("review", f"/review/bots/{READY_BOT}", height=1_400, user=CLEO),
    Screen("review-phone", f"/review/bots/{READY_BOT}", 360, 1_200, "dark", CLEO),
)


@contextmanager
def loaded(gateway: ThreadGateway, key: str) -> Iterator[None]:
    """Let a thread ask about votes, in waves, while real time passes for the gateway's clock."""
    stop = threading.Event()

    def ask() -> None:
        dice = random.Random(1)
        while not stop.wait(dice.uniform(0.01, 0.06)):
            gateway.clock.advance(0.035)
            for _ in range(dice.randrange(6)):
                gateway.voters(key, OTHER_BOT)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def debug_screens(browser: Browser) -> None:
    limits: dict[str, object] = {"limits.voters.requests": 1_000_000}
    with (
        tempfile.TemporaryDirectory() as name,
        receiving() as receiver,
        filled_scene(Path(name) / "data", receiver, **limits) as gateway,
    ):
        gateway.done("PUT", f"/manage/bots/{OTHER_BOT}/limits", {})
        key = gateway.done("POST", f"/manage/bots/{OTHER_BOT}/keys", {"name": "screens"})["key"]
        with visiting(browser, gateway) as visitor:
            visitor.sign_in()  # the first page loads the templates, which is no picture of daily work
        with loaded(gateway, key):
            time.sleep(LOAD_SECONDS)  # charts need a past to show
            for screen in SCREENS:
                with visiting(browser, gateway, color_scheme=screen.theme) as visitor:
                    page = visitor.sign_in().page
                    page.set_viewport_size({"width": screen.width, "height": screen.height})
                    visitor.see(screen.path)
                    page.wait_for_timeout(2_500)  # one live update
                    page.screenshot(path=FOLDER / f"{screen.name}.png")


def people_screens(browser: Browser) -> None:
    with (
        tempfile.TemporaryDirectory() as name,
        receiving() as receiver,
        filled_site(Path(name) / "data", receiver) as gateway,
    ):
        for screen in OF_PEOPLE:
            with signed_in(browser, gateway, screen.user, color_scheme=screen.theme) as visitor:
                visitor.page.set_viewport_size({"width": screen.width, "height": screen.height})
                page = visitor.see(screen.path)
                if screen.press is not None:
                    visitor.expected.add(404)  # an icon of the stand-in
                    page.get_by_role("button", name=screen.press).click()
                    page.wait_for_url(f"**{screen.path}")
                    page.wait_for_load_state()
                page.screenshot(path=FOLDER / f"{screen.name}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with browsing() as browser:
        people_screens(browser)
        debug_screens(browser)


if __name__ == "__main__":
    main()
