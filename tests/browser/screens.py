"""The screenshots of the docs, by `make screens`: the platform of `make demo`, and a gateway under load.

    python -m tests.browser.screens [--to FOLDER] [NAME]...

Names of pictures for people leave out all others.
"""

import argparse
import random
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image
from playwright.sync_api import Browser

from chatplatform import listing_icons
from demo.known import UNLISTED_BOTS
from demo.people import ADA, BEN, CLEO, DAN, OWNERS, Person
from tests.support.browser import browsing, visiting
from tests.support.debug_scene import filled_scene
from tests.support.demo_site import DemoSite, demo_site
from tests.support.gateways import BOT, OTHER_BOT, ROOT, ThreadGateway
from tests.support.people_filled import signed_in
from tests.support.webhook_receiver import receiving

FOLDER = ROOT / "docs" / "screens"
LOAD_SECONDS = 60.0
"""The time that the load runs before the first picture: the charts show a minute."""
ICON_SECONDS = 5.0
"""The time in which the gateway asks for the icons of the pages that were seen."""
MARBLE_RUN = next(iter(UNLISTED_BOTS))
USUAL = ((1_280, "light"), (360, "dark"))


class Screen(NamedTuple):
    """A picture. `user` is the owner of the browser, on a page for people."""

    name: str
    path: str
    width: int = 1_280
    height: int = 900
    theme: Any = "light"


class PeopleScreen(NamedTuple):
    """A page for people. It is taken light on a computer, as `<name>.png`, and dark on a phone, as
    `<name>-phone.png`. In `both` ways, the other two themes are taken, too.

    `{Groove Box}` in the path stands for the address of that listing. `press` is the button that leads to
    what is shown.
    """

    name: str
    path: str
    user: Person | None = None
    height: int = 900
    both: bool = False
    press: str | None = None


SCREENS = (
    Screen("overview", "/debug"),
    Screen("webhooks", "/debug/webhooks"),
    Screen("listing", f"/debug/listings/bots/{BOT}"),
    Screen("phone", "/debug", 390, 844, "dark"),
)

OF_PEOPLE = (
    PeopleScreen("home", "/", both=True),
    PeopleScreen("search", "/bots?q=music+bot"),
    PeopleScreen("bot", "/{Groove Box}", both=True),
    PeopleScreen("community", "/{Pixel Harbour}"),
    PeopleScreen("author", "/users/" + OWNERS[1].id),
    PeopleScreen("template", "/{Game night}"),
    PeopleScreen("emojis", "/emojis"),
    PeopleScreen("emoji", "/{round_moods}"),
    PeopleScreen("sound", "/{Level up chime}"),
    PeopleScreen("themes", "/themes"),
    PeopleScreen("theme", "/{Midnight Harbour}"),
    PeopleScreen("person", "/profiles/ada"),
    PeopleScreen("report", "/{Groove Box}/report", BEN),
    PeopleScreen("ranking", "/bots/ranking"),
    PeopleScreen("sign-in", "/signin?to=/me"),
    PeopleScreen("vote", "/{Groove Box}/vote", BEN),
    PeopleScreen("voted", "/{Pixel Harbour}/vote", BEN),
    PeopleScreen("my-votes", "/me/votes", BEN),
    PeopleScreen("notices", "/me/notices", ADA),
    PeopleScreen("sessions", "/me/sessions", ADA),
    PeopleScreen("my-data", "/me/data", ADA),
    PeopleScreen("my-listings", "/me", ADA),
    PeopleScreen("new-bot", f"/bots/new?id={MARBLE_RUN}", ADA, 1_400),
    PeopleScreen("new-emojis", "/emojis/new", ADA),
    PeopleScreen("edit-sound", "/{Level up chime}/manage/profile", ADA),
    PeopleScreen("manage", "/{Groove Box}/manage", ADA),
    PeopleScreen("denied", "/{Photo Postcard}/manage", ADA),
    PeopleScreen("numbers", "/{Groove Box}/manage/votes", ADA, 1_800),
    PeopleScreen("profile", "/{Lyra}/manage/profile", ADA, 1_400),
    PeopleScreen("keys", "/{Groove Box}/manage/keys", ADA),
    PeopleScreen("webhook", "/{Night Radio}/manage/webhook", ADA, 1_400),
    PeopleScreen("deliveries", "/{Groove Box}/manage/webhook/deliveries", ADA),
    PeopleScreen("owners", "/{Groove Box}/manage/owners", ADA),
    PeopleScreen("danger", "/{Groove Box}/manage/danger", ADA),
    PeopleScreen("choose-server", "/servers/new", DAN, press="Read my servers"),
    PeopleScreen("server", "/{Plant Parents}/manage", DAN),
    PeopleScreen("queue", "/review", CLEO),
    PeopleScreen("review", "/review/{Kitchen Kit}", CLEO, 1_200),
    PeopleScreen("review-change", "/review/{Coin Harbor}", CLEO, 1_200),
    PeopleScreen("review-template", "/review/{Wedding planner}", CLEO),
    PeopleScreen("review-emojis", "/review/{plain_moods}", CLEO),
    PeopleScreen("review-sound", "/review/{Morning alarm}", CLEO),
    PeopleScreen("review-theme", "/review/{Lemon Grove}", CLEO),
    PeopleScreen("flagged-votes", "/review/votes", CLEO),
    PeopleScreen("not-found", "/nowhere"),
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


def debug_screens(browser: Browser, to: Path) -> None:
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
                    page.screenshot(path=to / f"{screen.name}.png")
                shrink(to / f"{screen.name}.png")


def people_screens(browser: Browser, to: Path, names: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as name, demo_site(Path(name)) as site:
        seen_icons(site, "/", "/bots", "/servers", "/bots?q=music+bot")
        for screen in (each for each in OF_PEOPLE if not names or each.name in names):
            for width, theme in ((1_280, "light"), (360, "dark"), (1_280, "dark"), (360, "light")):
                is_usual = (width, theme) in USUAL
                if is_usual or screen.both:
                    suffix = "-phone" * (width < 1_280) + f"-{theme}" * (not is_usual)
                    take(browser, site, screen, width, theme, to / f"{screen.name}{suffix}.png")


def brand_screens(browser: Browser, to: Path) -> None:
    """Take the first page and a bot's page of platforms with a face of their own."""
    for face in sorted(ROOT.glob("examples/brands/*.yaml")):
        with tempfile.TemporaryDirectory() as name, demo_site(Path(name), face) as site:
            seen_icons(site, "/", f"/{site.ref('Groove Box')}")
            home, bot = PeopleScreen("home", "/"), PeopleScreen("bot", "/{Groove Box}")
            take(browser, site, home, 1_280, "light", to / f"{face.stem}.png")
            take(browser, site, bot, 360, "dark", to / f"{face.stem}-phone.png")


def seen_icons(site: DemoSite, *paths: str) -> None:
    """Let the gateway ask for the icons of pages."""
    for path in paths:
        site.request("GET", path)
    time.sleep(ICON_SECONDS)


def take(browser: Browser, site: DemoSite, screen: PeopleScreen, width: int, theme: Any, to: Path) -> None:
    user = screen.user.id if screen.user is not None else None
    path = re.sub(r"{(.+?)}", lambda found: site.ref(found[1]), screen.path)
    with signed_in(browser, site, user, color_scheme=theme) as visitor:
        visitor.page.set_viewport_size({"width": width, "height": screen.height if width > 360 else 780})
        visitor.expected.add(404)
        page = visitor.see(path)
        if screen.press is not None:
            page.get_by_role("button", name=screen.press).click()
            page.wait_for_url(f"**{path}")
            page.wait_for_load_state()
        page.wait_for_timeout(100)  # pictures of the stand-in
        page.screenshot(path=to)
    shrink(to)


def shrink(path: Path) -> None:
    """Keep 256 colours of a picture: the pages have few more, and it is a third of the size."""
    with Image.open(path) as taken:
        taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Take the screenshots of the docs.")
    parser.add_argument("--to", type=Path, default=FOLDER)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    given.to.mkdir(exist_ok=True)
    listing_icons.PAUSE_SECONDS = 0.01  # nobody else asks the stand-in
    with browsing() as browser:
        people_screens(browser, given.to, given.names)
        if not given.names:
            brand_screens(browser, given.to)
            debug_screens(browser, given.to)


if __name__ == "__main__":
    main()
