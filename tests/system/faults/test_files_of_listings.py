"""The files of listings through crashes, backups, restores, exports and verification.

A crash between a file and the event that names it leaves no listing without its file and, after the sweep, no
file without a listing.
"""

import json
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.support.clip_gateway import ClipGateway, file_path, ogg, png, serving_clips
from tests.support.gateways import eventually
from tests.support.platform_stand_in import ADA

SOON = {"files.unnamed_seconds": 0.4}


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[ClipGateway]:
    with serving_clips(tmp_path / "data") as gateway:
        yield gateway


def files_of(clip: dict[str, Any]) -> set[str]:
    return {clip["sound"]["digest"], clip["cover"]["digest"]}


def on_disk(folder: Path) -> set[str]:
    return {path.name for path in (folder / "blobs").glob("*")}


def assert_served(gateway: ClipGateway, *clips: dict[str, Any]) -> None:
    stranger = gateway.person(None)
    for clip in clips:
        for file in (clip["sound"], clip["cover"]):
            answer = stranger.get(file_path(file))
            assert (answer.status_code, len(answer.content)) == (200, file["size"])


def restarted(gateway: ClipGateway, **environment: str) -> None:
    gateway.environment.update(environment)
    gateway.close()
    gateway.start()


def test_a_killed_gateway_has_every_file_that_a_listing_names(gateway: ClipGateway) -> None:
    clips = [gateway.approved(seed) for seed in range(3)]
    restarted(gateway)
    assert_served(gateway, *clips)


def test_a_gateway_that_is_killed_between_files_and_listings_has_no_half_of_either(
    gateway: ClipGateway,
) -> None:
    for seed, most in enumerate((10, 20, 30)):  # four senders have eight files without a listing at most
        with ThreadPoolExecutor(4) as threads:
            sending = [threads.submit(submit_until_it_ends, gateway, 100 * seed + each) for each in range(4)]
            eventually(partial(has_more, gateway, most))
            gateway.signal(signal.SIGKILL)  # at any moment of a file or of a listing
            for each in sending:
                each.result()
        restarted(gateway)
        clips = gateway.done("GET", "/manage/clips?limit=100")["clips"]
        assert clips
        for clip in clips:
            assert files_of(clip) <= on_disk(gateway.folder)
    restarted(gateway, VOTEGATE_FILES__UNNAMED_SECONDS="0.4")
    clips = gateway.done("GET", "/manage/clips?limit=100")["clips"]
    named = set[str]().union(*map(files_of, clips))
    eventually(lambda: on_disk(gateway.folder) == named)
    assert "good  the files of listings" in verified(gateway)


def has_more(gateway: ClipGateway, files: int) -> bool:
    return len(on_disk(gateway.folder)) > files


def submit_until_it_ends(gateway: ClipGateway, seed: int) -> None:
    with suppress(requests.RequestException):
        for number in range(50):
            gateway.submitted(1_000 * seed + number)


def verified(gateway: ClipGateway) -> str:
    gateway.close()
    return gateway.ended("snapshot", "verify").stdout


def test_a_file_whose_listing_never_came_is_removed_after_a_crash(gateway: ClipGateway) -> None:
    clip = gateway.approved()
    orphan = gateway.uploaded(png(9), "cover")["digest"]
    restarted(gateway, VOTEGATE_FILES__UNNAMED_SECONDS="0.4")
    assert orphan in on_disk(gateway.folder) or files_of(clip) == on_disk(gateway.folder)
    eventually(lambda: on_disk(gateway.folder) == files_of(clip))
    assert_served(gateway, clip)
    gateway.done("DELETE", f"/manage/clips/{clip['id']}")
    eventually(lambda: on_disk(gateway.folder) == set())


def test_the_files_of_every_version_stay_while_a_row_names_them(gateway: ClipGateway) -> None:
    clip = gateway.approved()
    restarted(gateway, VOTEGATE_FILES__UNNAMED_SECONDS="0.4", VOTEGATE_REVIEW__EDITS="before")

    def changed() -> str:
        """Return the new file of the listing, or an empty text if a sweep has removed the file before."""
        new: str = gateway.uploaded(png(5), "cover")["digest"]
        change = {"owner_id": ADA, "name": "Ding", "sound": clip["sound"]["digest"], "cover": new}
        return new if gateway.operate("PUT", f"/manage/clips/{clip['id']}", change).ok else ""

    named = {*files_of(clip), eventually(changed)}
    until_a_sweep(gateway)
    assert on_disk(gateway.folder) == named
    restarted(gateway)
    until_a_sweep(gateway)
    assert on_disk(gateway.folder) == named


def until_a_sweep(gateway: ClipGateway) -> None:
    unnamed = gateway.uploaded(png(6), "cover")["digest"]
    eventually(lambda: unnamed not in on_disk(gateway.folder))


@pytest.mark.parametrize("is_running", [True, False])
def test_a_restored_backup_has_all_files(gateway: ClipGateway, tmp_path: Path, is_running: bool) -> None:
    clips = [gateway.approved(seed) for seed in range(2)]
    if not is_running:
        gateway.close()
    backup, secrets, phrase = tmp_path / "one.backup", tmp_path / "secrets", tmp_path / "phrase"
    phrase.write_text("a long passphrase of the test\n")
    sealed = ("--passphrase-file", str(phrase))
    url = ("--url", gateway.base_url) if is_running else ()
    made = gateway.ended("backup", *url, str(backup), "--with-secrets", str(secrets), *sealed)
    assert made.returncode == 0, made.stderr
    shown = gateway.ended("snapshot", "inspect", str(backup), "--json")
    assert json.loads(shown.stdout)["contents"]["files"] == 4
    gateway.close()
    shutil.move(gateway.folder, tmp_path / "lost")
    restored = gateway.ended("restore", str(backup), "--secrets", str(secrets), *sealed)
    assert restored.returncode == 0, restored.stderr
    assert on_disk(gateway.folder) == files_of(clips[0]) | files_of(clips[1])
    gateway.start()
    assert_served(gateway, *clips)


@pytest.mark.parametrize("written_as", ["ndjson", "csv"])
def test_an_export_has_the_files_as_they_are_and_can_be_restored(
    gateway: ClipGateway, tmp_path: Path, written_as: str
) -> None:
    clip = gateway.approved()
    gateway.uploaded(png(8), "cover")  # no listing names it
    gateway.close()
    out = tmp_path / "out"
    exported = gateway.ended("snapshot", "export", str(out), "--format", written_as)
    assert exported.returncode == 0, exported.stderr
    names = {file_path(file).removeprefix("/files/") for file in (clip["sound"], clip["cover"])}
    assert {path.name for path in (out / "files").iterdir()} == names
    assert (out / file_path(clip["cover"])[1:]).read_bytes().startswith(b"\x89PNG")
    shutil.rmtree(gateway.folder)
    restored = gateway.ended("restore", str(out), "--allow-missing")
    assert restored.returncode == 0, restored.stderr
    gateway.start()
    assert_served(gateway, clip)


def test_an_export_without_one_of_its_files_is_refused(gateway: ClipGateway, tmp_path: Path) -> None:
    clip = gateway.approved()
    gateway.close()
    out = tmp_path / "out"
    assert gateway.ended("snapshot", "export", str(out), "--format", "ndjson").returncode == 0
    lost = out / file_path(clip["sound"])[1:]
    lost.write_bytes(ogg(7))
    shutil.rmtree(gateway.folder)
    assert "was changed" in gateway.ended("restore", str(out), "--allow-missing").stderr
    lost.unlink()
    assert "is missing" in gateway.ended("restore", str(out), "--allow-missing").stderr
    assert not gateway.folder.exists()


def test_verification_tells_of_damaged_and_of_missing_files(gateway: ClipGateway) -> None:
    clip = gateway.approved()
    gateway.close()
    good = gateway.ended("snapshot", "verify")
    assert "good  the files of listings: whole, 2 files" in good.stdout
    path = gateway.folder / "blobs" / clip["cover"]["digest"]
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    damaged = gateway.ended("snapshot", "verify")
    assert (damaged.returncode, f"BAD   the files of listings: {path} is damaged" in damaged.stdout) == (
        1,
        True,
    )
    path.unlink()
    missing = gateway.ended("snapshot", "verify")
    assert missing.returncode == 1
    assert f"1 files are missing that listings name, such as {path.name}" in missing.stdout


def test_a_key_that_files_need_is_kept_until_the_sweep_has_sealed_them_newly(gateway: ClipGateway) -> None:
    clip = gateway.approved()
    gateway.close()
    assert gateway.ended("rotate-key").returncode == 0
    kept = gateway.ended("rotate-key", "--prune", "--json")
    assert json.loads(kept.stdout)["older"], "the files are sealed with it"
    restarted(gateway, VOTEGATE_FILES__UNNAMED_SECONDS="0.2", VOTEGATE_SNAPSHOT__INTERVAL_SECONDS="0.1")
    newest = json.loads(kept.stdout)["newest"]
    blobs = [gateway.folder / "blobs" / digest for digest in files_of(clip)]
    eventually(lambda: all(path.read_bytes()[8:16].hex() == newest for path in blobs))
    assert_served(gateway, clip)
