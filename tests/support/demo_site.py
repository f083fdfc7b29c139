"""The platform of `make demo`, served beside a stand-in that knows it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import yaml

from demo.folder import write_folder
from demo.known import known
from demo.plan import Planned, planned
from tests.support.cutting_proxy import held_port
from tests.support.gateways import ROOT
from tests.support.people_gateway import PeopleGateway, site_settings
from tests.support.platform_stand_in import BOT_TOKEN, standing_in

SEED = 1
FACE = ROOT / "examples/brands/bot-harbour.yaml"


class DemoSite(PeopleGateway):
    listings: dict[str, Planned]
    """The listings by their names."""

    def ref(self, name: str) -> str:
        return self.listings[name].ref


@contextmanager
def demo_site(folder: Path, face: Path = FACE, **own: object) -> Iterator[DemoSite]:
    """Serve the demo in this process, with the name and the colour in a file of examples/brands/. Its clock
    stands still at the end of its story.

    A demo that is in the folder already is served as it is.
    """
    held = held_port()
    port = held.getsockname()[1]
    public_url = f"http://127.0.0.1:{port}"
    told = folder / "known.json"
    with standing_in(f"{public_url}/signin/callback") as stand_in:
        faced = {f"site.{name}": value for name, value in yaml.safe_load(face.read_text())["site"].items()}
        settings = {"server.port": port, **site_settings(public_url, stand_in), **faced}
        site = DemoSite(folder / "data", **{**settings, "chat_platform.bot_token": BOT_TOKEN, **own})
        receiver_url = f"{stand_in.url}/stand-in/receiver"
        if not site.folder.exists():
            with ThreadPoolExecutor(1) as thread:  # Playwright has an event loop in this one
                thread.submit(
                    write_folder, site.folder, SEED, site.settings, site.clock, receiver_url
                ).result()
        listings = planned(SEED, site.clock.now_ms())
        site.stand_in, site.listings = stand_in, {each.name: each for each in listings}
        told.write_text(json.dumps(known(listings)))
        stand_in.learn(told)
        try:
            site.start()
            yield site
        finally:
            site.stop()
            held.close()
