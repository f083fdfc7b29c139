"""The screenshots of the docs, by `make screens`: a gateway with something to see, under a little load."""

import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.browser import browsing, visiting
from tests.support.debug_scene import filled_scene
from tests.support.gateways import BOT, OTHER_BOT, ROOT, ThreadGateway
from tests.support.webhook_receiver import receiving

FOLDER = ROOT / "docs" / "screens"
LOAD_SECONDS = 60.0
"""How long the load runs before the first picture: the charts show a minute."""


class Screen(NamedTuple):
    name: str
    path: str
    width: int = 1_280
    height: int = 900
    theme: Any = "light"


SCREENS = (
    Screen("overview", "/debug"),
    Screen("webhooks", "/debug/webhooks"),
    Screen("listing", f"/debug/listings/bots/{BOT}"),
    Screen("phone", "/debug", 390, 844, "dark"),
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


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    limits: dict[str, object] = {"limits.voters.requests": 1_000_000}
    with (
        tempfile.TemporaryDirectory() as name,
        receiving() as receiver,
        browsing() as browser,
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


if __name__ == "__main__":
    main()
