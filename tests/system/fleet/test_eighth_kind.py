"""An eighth kind of listing is one declaration: a fleet serves it from its submission to a restore.

Two gateways with pages, each a process of its own, know more kinds. Stickers have ids that the gateway makes.
Cards have the ids of their users and no review. Recipes have codes that were given elsewhere.
"""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kinds.kind import Kind
from kinds.registry import KINDS
from tests.support.contract import sample_submission
from tests.support.cutting_proxy import held_port
from tests.support.eighth_kind import SCRATCH
from tests.support.eighth_kind_gateway import EighthKindGateway
from tests.support.fleet_processes import BEAT_SECONDS, SHARED_SECRETS
from tests.support.gateways import OPERATOR_TOKEN, USER, ProcessGateway, eventually
from tests.support.page_visitor import words
from tests.support.people_gateway import Person, site_settings
from tests.support.platform_stand_in import ADA, BEN, CLEO, standing_in
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver

REASONS = '[{"key": "dull", "title": "It is dull", "text": "Nobody smiles.", "kind": "stickers"}]'


class StickerNode(EighthKindGateway):
    """A node whose program knows stickers."""

    def __init__(self, folder: Path, name: str, redis: RedisServer, **settings: object) -> None:
        named = {f"VOTEGATE_{key.upper().replace('.', '__')}": str(value) for key, value in settings.items()}
        fleet = {
            "VOTEGATE_REDIS__URL": redis.url,
            "VOTEGATE_REDIS__NODE": name,
            "VOTEGATE_REDIS__BEAT_SECONDS": str(BEAT_SECONDS),
        }
        super().__init__(folder, **fleet, **named)

    def run(self, *arguments: str) -> str:
        """Return the output of a command that must succeed."""
        ended = self.ended(*arguments)
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
        site = {**site_settings(home, stand_in), "review.reasons": REASONS}
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


def submitted(node: ProcessGateway, name: str = "Waving penguin") -> str:
    """Submit a sticker of Ada's, and return its id."""
    profile = {"name": name, "description": "A penguin that waves at everybody", "mood": "Happy"}
    shown = node.done("POST", "/manage/stickers", {"owner_id": ADA, **profile})
    assert shown["mood"] == "Happy"
    assert re.fullmatch("[0-9a-f]{12}", shown["id"])
    return str(shown["id"])


def approved(node: ProcessGateway, name: str = "Waving penguin") -> str:
    sticker = submitted(node, name)
    assert node.done("POST", f"/manage/stickers/{sticker}/approve", {})["state"] == "approved"
    return sticker


def person(node: StickerNode, user: str | None) -> Person:
    visitor = Person(node)
    if user is not None:
        assert visitor.sign_in_as(user).status_code == 303
    return visitor


STICKER = {"name": "Purple dragon", "description": "A dragon that breathes purple fire", "mood": "Happy"}


def test_people_submit_it_on_a_page(fleet: Fleet) -> None:
    ada = person(fleet.rome, ADA)
    assert 'href="/stickers/new"' in ada.page("/add")
    asked = words(ada.page("/stickers/new"))
    assert "Send a sticker" in asked
    assert "Mood" in asked
    refused = ada.post("/stickers/new", {**STICKER, "description": "short"})
    assert (refused.status_code, "Purple dragon" in refused.text) == (400, True)
    sent = ada.post("/stickers/new", STICKER)
    assert sent.status_code == 303, words(sent.text)
    found = re.fullmatch("/stickers/([0-9a-f]{12})/manage", sent.headers["location"])
    assert found is not None
    assert ada.post("/stickers/new", STICKER).headers["location"] == sent.headers["location"]
    kept = fleet.rome.done("GET", f"/manage/stickers/{found[1]}")
    assert (kept["owner_id"], kept["state"], kept["mood"]) == (ADA, "in_review", "Happy")
    fleet.rome.done("DELETE", f"/manage/stickers/{found[1]}")


def test_a_user_has_one_card_which_everybody_sees_at_once(fleet: Fleet) -> None:
    ben, stranger = person(fleet.rome, BEN), person(fleet.rome, None)
    assert "Everybody sees it at once." in words(ben.page("/cards/new"))
    drawn = ben.post("/cards/new", {"name": "Ben", "motto": "**Onwards**", "act": "preview"})
    assert "<strong>Onwards</strong>" in drawn.text
    sent = ben.post("/cards/new", {"name": "Ben", "motto": "Onwards"})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/cards/{BEN}/manage")
    assert "Onwards" in stranger.page(f"/cards/{BEN}")
    assert ben.get("/cards/new").headers["location"] == f"/cards/{BEN}/manage"
    again = ben.post("/cards/new", {"name": "Ben", "motto": "Backwards"})
    assert (again.status_code, again.headers["location"]) == (303, f"/cards/{BEN}/manage")
    changed = ben.post(f"/cards/{BEN}/manage/profile", {"name": "Ben", "motto": "Upwards"})
    assert changed.status_code == 303
    shown = fleet.rome.done("GET", f"/manage/cards/{BEN}")
    assert (shown["state"], shown["motto"], shown["change"]) == ("approved", "Upwards", None)
    for missing in ("/vote", "/badge.svg", "/manage/votes", "/manage/webhook", "/manage/owners"):
        assert ben.get(f"/cards/{BEN}{missing}").status_code == 404
    overview = words(ben.page(f"/cards/{BEN}/manage"))
    assert "API keys" in overview
    assert "Webhook" not in overview
    shown = words(ben.post(f"/cards/{BEN}/manage/keys", {"name": "of the page"}).text)
    assert "vg_" in shown
    assert "has a user voted" not in shown
    assert "hint" not in fleet.rome.done("POST", f"/manage/cards/{BEN}/keys", {"name": "of the API"})
    assert fleet.rome.operate("POST", f"/manage/cards/{BEN}/approve", {}).status_code == 404
    assert fleet.rome.operate("POST", f"/manage/cards/{BEN}/hand-over", {"heir": ADA}).status_code == 404
    moved = {"owner_id": ADA, "name": "Ben", "motto": "Upwards"}
    assert fleet.rome.operate("PUT", f"/manage/cards/{BEN}", moved).status_code == 400


def test_a_recipe_is_listed_by_its_code(fleet: Fleet) -> None:
    ada = person(fleet.rome, ADA)
    assert "Code" in words(ada.page("/recipes/new"))
    wrong = ada.post("/recipes/new", {"id": "no code", "name": "Soup"})
    assert (wrong.status_code, 'href="#id"' in wrong.text) == (400, True)
    assert ada.post("/recipes/new", {"id": "Soup42", "name": "Soup"}).status_code == 303
    again = ada.post("/recipes/new", {"id": "Soup42", "name": "Soup"})
    assert (again.status_code, again.headers["location"]) == (303, "/recipes/Soup42/manage")
    taken = person(fleet.rome, BEN).post("/recipes/new", {"id": "Soup42", "name": "Stew"})
    assert (taken.status_code, "A listing with this id exists." in taken.text) == (409, True)
    fleet.rome.done("POST", "/manage/recipes/Soup42/approve", {})
    fleet.rome.done("POST", "/manage/recipes", {"id": "0042", "owner_id": ADA, "name": "Bread"})
    fleet.rome.done("POST", "/manage/recipes/0042/approve", {})
    listed = eventually(lambda: ada.get("/recipes.json?sort=name").json()["listings"][1:])
    assert [each["id"] for each in listed] == ["Soup42"]
    assert "Votes this month" not in ada.page("/recipes")
    assert {"popular_stickers", "new_recipes"} <= (home := ada.get("/index.json").json()).keys()
    assert "popular_recipes" not in home
    page = fleet.rome.done("GET", "/manage/recipes?limit=1")
    assert (page["recipes"][0]["id"], page["next"]) == ("0042", "0042")
    assert fleet.rome.done("GET", "/manage/recipes?after=0042")["recipes"][0]["id"] == "Soup42"


def test_moderators_review_it(fleet: Fleet) -> None:
    sticker = submitted(fleet.rome, "Winking cat")
    path = f"/manage/stickers/{sticker}"
    (waiting,) = fleet.rome.done("GET", "/manage/queue")["queue"]
    assert (waiting["kind"], waiting["ref"]) == ("stickers", f"stickers/{sticker}")
    seen = {"seen": fleet.rome.done("GET", path)["updated_at"]}
    cleo = person(fleet.rome, CLEO)
    assert "Winking cat Sticker" in words(cleo.page("/review"))
    review_page = words(cleo.page(f"/review/stickers/{sticker}"))
    assert "Winking cat" in review_page
    assert "Mood Happy" in review_page
    assert "It is dull" in review_page
    assert "Ownership" not in review_page
    assert "Age" not in review_page
    assert cleo.post(f"/review/stickers/{sticker}/approve", seen).status_code == 303
    assert fleet.rome.done("GET", path)["state"] == "approved"
    change = {"owner_id": ADA, "name": "Winking cat", "description": "It winks at everybody.", "mood": "Sad"}
    changed = fleet.rome.done("PUT", path, change)
    assert changed["change"]["proposed"]["mood"] == "Sad"
    version = {"version": changed["change"]["version"]}
    assert fleet.rome.done("POST", f"{path}/change/agree", version)["change"] is None


def test_everybody_finds_it_and_votes_for_it(fleet: Fleet) -> None:
    sticker = approved(fleet.rome, "Dancing robot")
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


def test_every_list_goes_on_behind_it(fleet: Fleet) -> None:
    stickers = [approved(fleet.rome, name) for name in ("First", "Second")]
    for sticker in stickers:
        fleet.rome.cast(path=f"/manage/stickers/{sticker}")
    page = fleet.rome.done("GET", "/manage/votes?limit=1")
    lines = page["votes"]
    while page["more"]:
        page = fleet.rome.done("GET", f"/manage/votes?limit=1&after={page['next']}")
        lines += page["votes"]
    assert {*stickers} <= {line["id"] for line in lines}
    waiting = [submitted(fleet.rome, name) for name in ("Third", "Fourth")]
    first = fleet.rome.done("GET", "/manage/queue?limit=1")
    behind = fleet.rome.done("GET", f"/manage/queue?after={first['next']}")
    assert {*waiting} <= {each["id"] for each in (*first["queue"], *behind["queue"])}
    for sticker in waiting:
        fleet.rome.done("DELETE", f"/manage/stickers/{sticker}")
    ben = person(fleet.rome, BEN)
    assert ben.post(f"/stickers/{stickers[0]}/vote").status_code == 303
    assert ben.get(f"/me/votes.json?after={10**15 - 1}.stickers/{stickers[0]}").json()["votes"] == []


@pytest.mark.parametrize("tab", ["", ".json", "/votes", "/profile", "/webhook", "/owners", "/danger"])
def test_its_owner_manages_it(fleet: Fleet, tab: str) -> None:
    sticker = approved(fleet.rome)
    ada = person(fleet.rome, ADA)
    assert "Waving penguin" in ada.page(f"/stickers/{sticker}/manage{tab}")
    assert ada.get(f"/stickers/{sticker}/manage/keys").status_code == 404


def test_its_endpoint_gets_events(fleet: Fleet) -> None:
    receiver = Receiver()
    with closing(receiver):
        sticker = submitted(fleet.rome)
        path = f"/manage/stickers/{sticker}"
        events = {"url": receiver.url, "events": ["vote", "review.approved"]}
        fleet.rome.done("PUT", f"{path}/webhook", events)
        fleet.rome.done("POST", f"{path}/approve", {})
        fleet.rome.cast(path=path)
        decided, voted = eventually(lambda: receiver.received[:2] if len(receiver.received) > 1 else [])
    assert json.loads(decided.body)["sticker"] == sticker
    assert json.loads(voted.body) == {"sticker": sticker, "user": USER, "test": False}


def test_a_command_reads_the_long_text_of_its_kind_from_a_file(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "motto").write_text("Always onwards\n")
    card = fleet.rome.admin(
        *("cards", "submit", "--owner", CLEO, "--name", "Cleo"), *("--motto-file", str(tmp_path / "motto"))
    )
    assert card["motto"] == "Always onwards"
    fleet.rome.admin("cards", "remove", CLEO, "--yes")
    assert "-file" not in fleet.rome.run("admin", "recipes", "submit", "--help")


def test_commands_manage_it(fleet: Fleet) -> None:
    admin = fleet.rome.admin
    options = ("--name", "Sleepy owl", "--description", "An owl that sleeps all day", "--mood", "Sad")
    sticker = admin("stickers", "submit", "--owner", ADA, *options)["id"]
    admin("stickers", "approve", sticker)
    admin("votes", "cast", f"stickers/{sticker}", USER)
    assert admin("stickers", "show", sticker)["mood"] == "Sad"
    assert sticker in {each["id"] for each in admin("stickers", "list")["stickers"]}
    assert admin("stickers", "inspect", sticker)["voters"] == 1
    assert [each["kind"] for each in admin("find", "sleepy")["listings"]] == ["stickers"]
    assert "Sleepy owl" in fleet.rome.run("admin", "--url", fleet.rome.base_url, "stickers", "list")
    admin("stickers", "remove", sticker, "--yes")
    assert fleet.rome.operate("GET", f"/manage/stickers/{sticker}").status_code == 404


def test_a_command_refuses_a_kind_without_its_part(fleet: Fleet) -> None:
    wrong = ("keys", "issue", "recipes/Soup42", "production")
    refused = fleet.rome.ended("admin", "--url", fleet.rome.base_url, *wrong)
    assert refused.returncode == 2
    assert "Error: this command is not for recipes, but for bots, cards\n" in refused.stderr
    assert "--description-file" in fleet.rome.run("admin", "stickers", "submit", "--help")
    assert "--description-file" not in fleet.rome.run("admin", "recipes", "submit", "--help")


def test_operators_see_it(fleet: Fleet) -> None:
    sticker = approved(fleet.rome, "Brave knight")
    path = f"/manage/stickers/{sticker}"
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
    assert "id" not in document["components"]["schemas"]["StickerSubmission"]["properties"]
    assert document["components"]["parameters"]["stickerId"]["schema"]["pattern"] == "^[0-9a-f]{12}$"
    named = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    assert len(named) == len({*named})
    assert {"issueKey", "issueKeyOfCard"} <= {*named}
    assert "mood" in document["components"]["schemas"]["StickerEdit"]["properties"]
    assert fleet.rome.request("GET", "/docs").status_code == 200


@pytest.mark.parametrize("kind", [*KINDS, *SCRATCH], ids=str)
def test_a_listing_of_every_kind_is_the_same_at_two_nodes(fleet: Fleet, kind: Kind) -> None:
    rome, oslo = fleet  # oslo asks no chat platform, which does not know the samples
    submission = sample_submission(oslo, kind)
    if "id" in submission:
        taken = f"/manage/{kind}/{submission['id']}"  # by another test
        oslo.operate("DELETE", taken)
        eventually(lambda: {each.operate("GET", taken).status_code for each in fleet} == {404})
    path = f"/manage/{kind}/{oslo.done('POST', f'/manage/{kind}', submission)['id']}"
    eventually(lambda: rome.operate("GET", path).status_code == 200)
    if not kind.is_seen_at_once:
        rome.done("POST", f"{path}/approve", {})
        eventually(lambda: oslo.done("GET", path)["state"] == "approved")
    if kind.tally is not None:
        if kind.tally == "likes":
            rome.done("PUT", f"{path}/likes/{USER}", {})
        else:
            rome.done("POST", f"{path}/votes", {"user": USER})
        counted = f"/debug/listings/{path.removeprefix('/manage/')}.json"
        eventually(lambda: oslo.done("GET", counted)["voters"] == 1)
    eventually(lambda: oslo.done("GET", path) == rome.done("GET", path))
    oslo.done("DELETE", path)
    eventually(lambda: rome.operate("GET", path).status_code == 404)


def restored(node: StickerNode, source: Path, folder: Path) -> Path:
    """A new data folder of a backup or of an export, with the secrets of the node."""
    folder.mkdir()
    for secret in SHARED_SECRETS:
        shutil.copy(node.folder / secret, folder)
    node.run("restore", str(source), "--data-dir", str(folder))
    return folder


def test_the_kind_is_in_exports_and_in_restored_folders(fleet: Fleet, tmp_path: Path) -> None:
    sticker = approved(fleet.rome, "Old friend")
    path = f"/manage/stickers/{sticker}"
    fleet.rome.cast(path=path)
    backup, export = tmp_path / "votegate.backup", tmp_path / "export"
    fleet.rome.run("backup", str(backup), "--url", fleet.rome.base_url)
    of_backup, of_export = restored(fleet.rome, backup, tmp_path / "first"), tmp_path / "second"
    exporting = ("snapshot", "export", str(export), "--format", "ndjson")
    fleet.rome.run(*exporting, "--data-dir", str(of_backup))
    assert sticker in "".join(path.read_text() for path in export.rglob("*"))
    again = EighthKindGateway(restored(fleet.rome, export, of_export))
    with closing(again.start()):
        assert again.done("GET", path)["name"] == "Old friend"
        assert again.done("POST", f"{path}/votes/check", {"users": [USER]})["votes"][0]["vote"] == 1
        assert again.done("POST", "/debug/verify")["equal"]
