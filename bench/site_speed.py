"""The first paint of the pages for everybody on a slow link, and the bytes of their scripts and styles.

    python -m bench.site_speed

A gateway in this process has some listings, as in bench.lighthouse. Debian's chromium opens each page with an
empty cache, over a link with a latency of 400 ms and 50 KB a second. The result is the median of some visits.
Bytes are those on the wire: they are compressed.
"""

import argparse
import statistics
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser

from bench.lighthouse import PAGES
from tests.support.browser import browsing
from tests.support.gateways import SERVER
from tests.support.people_filled import filled_site
from tests.support.public_scene import list_many
from tests.support.webhook_receiver import receiving

LATENCY_MS, BYTES_A_SECOND = 400, 50_000
VISITS = 5
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
TYPES = ("Document", "Stylesheet", "Script", "Image")


class Visit(NamedTuple):
    paint_seconds: float
    bytes_of: Counter[str]
    """The bytes on the wire, by the type of resource."""


def visit(browser: Browser, url: str) -> Visit:
    """Open the page with nothing in the cache."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    try:
        page = context.new_page()
        session = context.new_cdp_session(page)
        types, sizes = dict[str, str](), Counter[str]()

        def received(event: dict[str, Any]) -> None:
            types[event["requestId"]] = event["type"]

        def finished(event: dict[str, Any]) -> None:
            sizes[types.get(event["requestId"], "Other")] += round(event["encodedDataLength"])

        session.on("Network.responseReceived", received)
        session.on("Network.loadingFinished", finished)
        session.send("Network.enable")
        rate = {"downloadThroughput": BYTES_A_SECOND, "uploadThroughput": BYTES_A_SECOND}
        session.send("Network.emulateNetworkConditions", {"offline": False, "latency": LATENCY_MS, **rate})
        page.goto(url, wait_until="load")
        while not (paint_ms := page.evaluate(PAINT)):
            page.wait_for_timeout(20)  # `wait_for_function` would need an `eval`, which the pages forbid
        return Visit(paint_ms / 1_000, sizes)
    finally:
        context.close()


def measured(browser: Browser, base_url: str) -> None:
    """Print a row for each page."""
    print(f"{'page':36} {'paint s':>8} {'script+style KB':>16} " + " ".join(f"{each:>10}" for each in TYPES))
    for path in PAGES:
        visits = [visit(browser, base_url + path) for _ in range(VISITS)]
        paint = statistics.median(each.paint_seconds for each in visits)
        sizes = visits[-1].bytes_of
        code = (sizes["Script"] + sizes["Stylesheet"]) / 1_000
        row = " ".join(f"{sizes[each] / 1_000:10.1f}" for each in TYPES)
        print(f"{path:36} {paint:8.2f} {code:16.1f} {row}", flush=True)


def main() -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        receiving() as receiver,
        filled_site(Path(folder) / "data", receiver) as gateway,
        browsing() as browser,
    ):
        gateway.done("POST", f"/manage/servers/{SERVER}/approve", {})
        list_many(gateway)
        measured(browser, gateway.base_url)


if __name__ == "__main__":
    main()
