"""An eighth kind of listing is one declaration: a fleet serves it from its submission to a restore.

Two gateways with pages, each a process of its own, run a launcher that adds stickers to the kinds.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.cutting_proxy import held_port
from tests.support.fleet_processes import BEAT_SECONDS, SHARED_SECRETS
from tests.support.gateways import OPERATOR_TOKEN, ROOT, USER, WAIT_SECONDS, ProcessGateway, eventually
from tests.support.page_visitor import words
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, BEN, CLEO, standing_in
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver

LAUNCHER = "tests.support.eighth_kind.launcher"


class StickerNode(ProcessGateway):
    """A node whose program knows stickers."""

    def __init__(self, folder: Path, name: str, redis: RedisServer, **settings: object) -> None:
        named = {f"VOTEGATE_{key.upper().replace('.', '__')}": str(value) for key, value in settings.items()}
        fleet = {
            "VOTEGATE_REDIS__URL": redis.url,
            "VOTEGATE_REDIS__NODE": name,
            "VOTEGATE_REDIS__BEAT_SECONDS": str(BEAT_SECONDS),
        }
        super().__init__(folder, **fleet, **named)
        self.program = ["-m", LAUNCHER, "serve"]

    def run(self, *arguments: str) -> str:
        """Return the output of a command that must succeed."""
        ended = subprocess.run(
            [sys.executable, "-m", LAUNCHER, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
        )
        assert ended.returncode == 0, (arguments, ended.stdout, ended.stderr)
        return ended.stdout

    def admin(self, *arguments: str) -> Any:
        """Return the JSON that a command of `admin` prints."""
        return json.loads(self.run("admin", "--url", self.base_url, *arguments, "--json"))


class Fleet(NamedTuple):
    rome: StickerNode
    oslo: StickerNode


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory, redis_of_module: RedisServer) -> Iterator[Fleet]:
    place = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        held = stack.enter_context(closing(held_port()))
        port = held.getsockname()[1]
        home = f"http://127.0.0.1:{port}"
        stand_in = stack.enter_context(standing_in(f"{home}/signin/callback"))
        site = site_settings(home, stand_in)
        rome = StickerNode(place / "rome", "rome", redis_of_module, **{"server.port": port, **site})
        stack.callback(rome.close)
        rome.start()
        (place / "oslo").mkdir()
        for secret in SHARED_SECRETS:
            shutil.copy(rome.folder / secret, place / "oslo")
        oslo = StickerNode(place / "oslo", "oslo", redis_of_module)
        stack.callback(oslo.close)
        oslo.start()
        yield Fleet(rome, oslo)


def submitted(node: ProcessGateway, sticker: str, name: str = "Waving penguin") -> str:
    """A new sticker of Ada's; returns its path."""
    profile = {"name": name, "description": "A penguin that waves at everybody", "mood": "Happy"}
    shown = node.done("POST", "/manage/stickers", {"id": sticker, "owner_id": ADA, **profile})
    assert shown["mood"] == "Happy"
    return f"/manage/stickers/{sticker}"


def approved(node: ProcessGateway, sticker: str, name: str = "Waving penguin") -> str:
    path = submitted(node, sticker, name)
    assert node.done("POST", f"{path}/approve", {})["state"] == "approved"
    return path


def person(node: StickerNode, user: str | None) -> Person:
    visitor = Person(node)
    if user is not None:
        assert visitor.sign_in_as(user).status_code == 303
    return visitor


def test_moderators_review_it(fleet: Fleet) -> None:
    path = submitted(fleet.rome, sticker := "710000000000000001", "Winking cat")
    (waiting,) = fleet.rome.done("GET", "/manage/queue")["queue"]
    assert (waiting["kind"], waiting["ref"]) == ("stickers", f"stickers/{sticker}")
    seen = {"seen": fleet.rome.done("GET", path)["updated_at"], "confirmed": "yes"}
    cleo = person(fleet.rome, CLEO)
    assert "Winking cat Sticker" in words(cleo.page("/review"))
    review_page = words(cleo.page(f"/review/stickers/{sticker}"))
    assert "Winking cat" in review_page
    assert "Mood Happy" in review_page
    assert cleo.post(f"/review/stickers/{sticker}/approve", seen).status_code == 303
    assert fleet.rome.done("GET", path)["state"] == "approved"
    change = {"owner_id": ADA, "name": "Winking cat", "description": "It winks at everybody.", "mood": "Sad"}
    changed = fleet.rome.done("PUT", path, change)
    assert changed["change"]["proposed"]["mood"] == "Sad"
    version = {"version": changed["change"]["version"]}
    assert fleet.rome.done("POST", f"{path}/change/agree", version)["change"] is None


def test_everybody_finds_it_and_votes_for_it(fleet: Fleet) -> None:
    approved(fleet.rome, sticker := "710000000000000002", "Dancing robot")
    stranger, ben = person(fleet.rome, None), person(fleet.rome, BEN)
    cards = stranger.get("/stickers.json?category=Happy").json()["listings"]
    assert sticker in {each["id"] for each in cards}
    eventually(lambda: "Dancing robot" in stranger.page("/stickers"))
    found = eventually(lambda: stranger.get("/stickers.json?q=dancing").json()["listings"])
    assert [(each["kind"], each["name"]) for each in found] == [("stickers", "Dancing robot")]
    assert "A penguin that waves" in stranger.page(f"/stickers/{sticker}")
    assert stranger.get(f"/stickers/{sticker}.json").json()["mood"] == "Happy"
    assert stranger.get(f"/stickers/{sticker}/badge.svg").status_code == 200
    assert "Sticker" in words(ben.page(f"/stickers/{sticker}/vote"))
    assert ben.post(f"/stickers/{sticker}/vote").status_code == 303
    assert ben.get(f"/stickers/{sticker}.json").json()["votes"] == 1
    assert "Dancing robot" in ben.page("/me/votes")


@pytest.mark.parametrize(
    "tab", ["", ".json", "/votes", "/profile", "/webhook", "/webhook/settings", "/owners", "/danger"]
)
def test_its_owner_manages_it(fleet: Fleet, tab: str) -> None:
    sticker = "710000000000000003"
    if fleet.rome.operate("GET", f"/manage/stickers/{sticker}").status_code == 404:
        approved(fleet.rome, sticker)
    ada = person(fleet.rome, ADA)
    assert "Waving penguin" in ada.page(f"/stickers/{sticker}/manage{tab}")
    assert ada.get(f"/stickers/{sticker}/manage/keys").status_code == 404


def test_its_endpoint_gets_events(fleet: Fleet) -> None:
    receiver = Receiver()
    with closing(receiver):
        path = submitted(fleet.rome, sticker := "710000000000000004")
        events = {"url": receiver.url, "events": ["vote", "review.approved"]}
        fleet.rome.done("PUT", f"{path}/webhook", events)
        fleet.rome.done("POST", f"{path}/approve", {})
        fleet.rome.cast(path=path)
        decided, voted = eventually(lambda: receiver.received[:2] if len(receiver.received) > 1 else [])
    assert json.loads(decided.body)["sticker"] == sticker
    assert json.loads(voted.body) == {"sticker": sticker, "user": USER, "test": False}


def test_commands_manage_it(fleet: Fleet) -> None:
    sticker, admin = "710000000000000005", fleet.rome.admin
    options = ("--name", "Sleepy owl", "--description", "An owl that sleeps all day", "--mood", "Sad")
    admin("stickers", "submit", sticker, "--owner", ADA, *options)
    admin("stickers", "approve", sticker)
    admin("votes", "cast", f"stickers/{sticker}", USER)
    assert admin("stickers", "show", sticker)["mood"] == "Sad"
    assert sticker in {each["id"] for each in admin("stickers", "list")["stickers"]}
    assert admin("stickers", "inspect", sticker)["voters"] == 1
    assert [each["kind"] for each in admin("find", "sleepy")["listings"]] == ["stickers"]
    assert "Sleepy owl" in fleet.rome.run("admin", "--url", fleet.rome.base_url, "stickers", "list")
    admin("stickers", "remove", sticker, "--yes")
    assert fleet.rome.operate("GET", f"/manage/stickers/{sticker}").status_code == 404


def test_operators_see_it(fleet: Fleet) -> None:
    path = approved(fleet.rome, sticker := "710000000000000006", "Brave knight")
    fleet.rome.cast(path=path)
    operator = person(fleet.rome, None)
    assert operator.sign_in(OPERATOR_TOKEN).status_code == 303
    assert "Brave knight" in operator.page(f"/debug/listings/stickers/{sticker}")
    assert "Stickers" in words(operator.page("/debug"))
    assert fleet.rome.done("GET", "/debug/overview.json")["counts"]["stickers"] > 0
    metrics = fleet.rome.operate("GET", "/metrics").text
    assert 'votegate_listings{kind="stickers",review="approved"}' in metrics
    lines = fleet.rome.done("GET", "/manage/votes?limit=1000")["votes"]
    assert ("stickers", sticker) in {(line["kind"], line["id"]) for line in lines}
    document = fleet.rome.request("GET", "/openapi.json").json()
    assert document["paths"]["/manage/stickers/{id}/approve"]["post"]["operationId"] == "approveSticker"
    assert "mood" in document["components"]["schemas"]["StickerEdit"]["properties"]
    assert fleet.rome.request("GET", "/docs").status_code == 200


def test_other_nodes_learn_of_it(fleet: Fleet) -> None:
    path = approved(fleet.rome, "710000000000000007")
    fleet.rome.cast(path=path)
    listed = eventually(lambda: fleet.oslo.operate("GET", path).status_code == 200)
    assert listed
    voted = {"users": [USER]}
    eventually(lambda: fleet.oslo.done("POST", f"{path}/votes/check", voted)["votes"][0]["vote"] == 1)
    fleet.oslo.done("POST", f"{path}/withdraw", {"reason": "It waves too much."})
    eventually(lambda: fleet.rome.done("GET", path)["state"] == "denied")
    assert fleet.oslo.done("GET", path)["mood"] == "Happy"


def restored(node: StickerNode, source: Path, folder: Path) -> Path:
    """A new data folder of a backup or of an export, with the secrets of the node."""
    folder.mkdir()
    for secret in SHARED_SECRETS:
        shutil.copy(node.folder / secret, folder)
    node.run("restore", str(source), "--data-dir", str(folder))
    return folder


def test_it_is_in_exports_and_in_what_is_restored(fleet: Fleet, tmp_path: Path) -> None:
    path = approved(fleet.rome, sticker := "710000000000000008", "Old friend")
    fleet.rome.cast(path=path)
    backup, export = tmp_path / "votegate.backup", tmp_path / "export"
    fleet.rome.run("backup", str(backup), "--url", fleet.rome.base_url)
    of_backup, of_export = restored(fleet.rome, backup, tmp_path / "first"), tmp_path / "second"
    exporting = ("snapshot", "export", str(export), "--format", "ndjson")
    fleet.rome.run(*exporting, "--data-dir", str(of_backup))
    assert sticker in "".join(path.read_text() for path in export.rglob("*"))
    again = ProcessGateway(restored(fleet.rome, export, of_export))
    again.program = ["-m", LAUNCHER, "serve"]
    with closing(again.start()):
        assert again.done("GET", path)["name"] == "Old friend"
        assert again.done("POST", f"{path}/votes/check", {"users": [USER]})["votes"][0]["vote"] == 1
        assert again.done("POST", "/debug/verify")["equal"]
