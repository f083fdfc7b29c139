"""Files of listings in a fleet: a node that lacks one takes it from another, and nobody waits for one that is
gone."""

import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.clip_gateway import ClipGateway, file_path, ogg, png
from tests.support.cutting_proxy import held_port
from tests.support.fleet_processes import BEAT_SECONDS, SHARED_SECRETS
from tests.support.gateways import WAIT_SECONDS, eventually
from tests.support.people_gateway import site_settings
from tests.support.platform_stand_in import ADA, standing_in
from tests.support.redis_server import RedisServer


class Fleet(NamedTuple):
    rome: ClipGateway
    oslo: ClipGateway


@pytest.fixture
def fleet(tmp_path: Path, redis_of_module: RedisServer) -> Iterator[Fleet]:
    with ExitStack() as stack:
        held = stack.enter_context(closing(held_port()))
        port = held.getsockname()[1]
        home = f"http://127.0.0.1:{port}"
        stand_in = stack.enter_context(standing_in(f"{home}/signin/callback"))
        site = site_settings(home, stand_in)
        nodes: list[ClipGateway] = []
        for name, own in (("rome", {"server.port": port}), ("oslo", {})):
            redis = {
                "redis.url": redis_of_module.url,
                "redis.node": name,
                "redis.prefix": tmp_path.name.lower().replace("_", "-"),
                "redis.beat_seconds": BEAT_SECONDS,
            }
            node = ClipGateway(tmp_path / name, **{**site, **redis, **own})
            if nodes:
                node.folder.mkdir()
                for secret in SHARED_SECRETS:
                    shutil.copy(nodes[0].folder / secret, node.folder)
            stack.callback(node.close)
            node.start()
            nodes.append(node)
        yield Fleet(nodes[0], nodes[1])


def on_disk(node: ClipGateway) -> set[str]:
    folder = node.folder / "blobs"
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_a_node_gets_the_files_that_listings_of_another_name(fleet: Fleet) -> None:
    clip = fleet.rome.approved()
    files = {clip["sound"]["digest"], clip["cover"]["digest"]}
    eventually(lambda: on_disk(fleet.oslo) == files)
    stranger = fleet.oslo.person(None)
    eventually(lambda: stranger.get(file_path(clip["cover"])).status_code == 200)
    for file in (clip["sound"], clip["cover"]):
        assert len(stranger.get(file_path(file)).content) == file["size"]


def test_an_upload_at_one_node_is_submitted_at_the_other(fleet: Fleet) -> None:
    sound, cover = fleet.rome.uploaded(ogg(), "sound"), fleet.rome.uploaded(png(0, 350, 300), "cover")
    assert cover["size"] > 3 * 65_536, "it takes several pieces"
    named = {"owner_id": ADA, "name": "Ding", "sound": sound["digest"], "cover": cover["digest"]}
    clip = fleet.oslo.done("POST", "/manage/clips", named)
    assert clip["cover"] == cover
    assert on_disk(fleet.oslo) == {sound["digest"], cover["digest"]}


def test_a_damaged_file_is_taken_from_another_node(fleet: Fleet) -> None:
    clip = fleet.rome.approved()
    cover = clip["cover"]["digest"]
    eventually(lambda: cover in on_disk(fleet.oslo))
    fleet.oslo.close()
    path = fleet.oslo.folder / "blobs" / cover
    path.write_bytes(path.read_bytes()[:-1])
    fleet.oslo.start()
    stranger = fleet.oslo.person(None)
    eventually(lambda: stranger.get(file_path(clip["cover"])).status_code == 200)
    assert path.stat().st_size > clip["cover"]["size"]


@pytest.mark.parametrize("is_hung", [True, False])
def test_a_file_whose_node_is_gone_or_hung_is_missing_and_nothing_else_is(
    fleet: Fleet, is_hung: bool
) -> None:
    clip = fleet.rome.approved()
    cover = clip["cover"]["digest"]
    eventually(lambda: on_disk(fleet.oslo) == {cover, clip["sound"]["digest"]})
    fleet.oslo.close()
    (fleet.oslo.folder / "blobs" / cover).unlink()
    verified = fleet.oslo.ended("snapshot", "verify")
    assert verified.returncode == 1
    assert f"BAD   the files of listings: 1 files are missing that listings name, such as {cover}" in (
        verified.stdout
    )
    fleet.rome.process.send_signal(signal.SIGSTOP if is_hung else signal.SIGKILL)
    fleet.oslo.start()
    stranger = fleet.oslo.person(None)
    assert stranger.get(file_path(clip["cover"])).status_code == 404
    assert stranger.get("/").status_code == 200
    assert stranger.get(file_path(clip["sound"])).status_code == 200
    begin = time.monotonic()
    assert stranger.get(file_path(clip["cover"])).status_code == 404
    assert time.monotonic() - begin < 60, "it is not asked for again at once"
    if is_hung:
        fleet.rome.process.send_signal(signal.SIGCONT)


def test_downloads_at_two_nodes_add_up_at_both(fleet: Fleet) -> None:
    emoji = uploaded_emoji(fleet.rome)
    here = f"/emojis/{emoji}"
    visitors = [node.person(None) for node in fleet]
    eventually(lambda: all(each.get(here).status_code == 200 for each in visitors))
    for _ in range(3):  # an address counts once a day at each node
        assert [each.get(f"{here}/download").status_code for each in visitors] == [303, 303]
    eventually(lambda: counts_of(fleet, here) == [2, 2])
    fleet.oslo.close()
    fleet.oslo.start()
    assert counts_of(fleet, here) == [2, 2]


def counts_of(fleet: Fleet, here: str) -> list[int]:
    return [node.done("GET", f"/manage{here}")["download_count"] for node in fleet]


def uploaded_emoji(node: ClipGateway) -> str:
    """Submit an emoji and approve it. Return its id."""
    url = f"{node.base_url}/manage/files?user={ADA}&kind=emojis&field=pictures"
    headers = {"Authorization": f"Bearer {node.operator_token}"}
    file = node.session.post(url, data=png(), headers=headers, timeout=WAIT_SECONDS).json()["file"]
    body = {"owner_id": ADA, "name": "shroom", "categories": ["Cute"], "pictures": [file["digest"]]}
    emoji = str(node.done("POST", "/manage/emojis", body)["id"])
    node.done("POST", f"/manage/emojis/{emoji}/approve", {})
    return emoji
