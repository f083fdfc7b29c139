"""The platform of `make demo`: what is on it, and that a seed decides it."""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from blobs.blob_names import digests_in, named_in
from blobs.sealed_blobs import SealedBlobs
from core.clock import MS_PER_DAY, day_of
from core.state import State
from demo.__main__ import PORTS_BETWEEN
from demo.folder import write_folder
from demo.people import ADA, DAN, MODERATORS
from demo.plan import SHAPES, planned
from demo.votes import DAYS
from kinds.registry import KINDS, kind_of
from settings.model import Settings, load_settings
from snapshot.recovery import recover
from storage.folder import Folder, kept_keys
from tests.support.cutting_proxy import held_ports
from tests.support.demo_site import SEED, DemoSite, demo_site
from tests.support.fake_clock import FakeClock
from tests.support.gateways import ROOT, WAIT_SECONDS, eventually, folded_digest, journal_digest

ENDPOINT = "http://127.0.0.1:9/votes"


def written(path: Path) -> tuple[State, str]:
    """Write a demo. Return the state that a start would recover, and its digest."""
    settings = load_settings(None, {}, {})
    write_folder(path, SEED, settings, FakeClock(), ENDPOINT)
    found = recover(
        Folder(path, kept_keys(path, needed=True)), lambda: State(settings.webhooks.deliveries_kept)
    )
    return found.state, found.state.digest()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name) / "data"


@pytest.fixture(scope="module")
def demo(folder: Path) -> tuple[State, str]:
    return written(folder)


@pytest.fixture(scope="module")
def state(demo: tuple[State, str]) -> State:
    return demo[0]


def test_it_has_60_bots_and_20_servers_and_some_of_each_kind_of_which_some_wait_and_some_are_denied(
    state: State,
) -> None:
    kinds = Counter(ref.partition("/")[0] for ref in state.listings)
    assert (kinds["bots"], kinds["servers"]) == (60, 20)
    assert all(kinds[kind.plural] >= 8 for kind in KINDS)
    for kind in (each for each in KINDS if each.has("review") and not each.is_seen_at_once):
        states = {row.state for ref, row in state.listings.items() if kind_of(ref) is kind}
        assert {"approved", "in_review"} <= states, kind
    fates = Counter(row.state for row in state.listings.values())
    assert all(fates[each] >= 3 for each in ("approved", "in_review", "denied"))
    assert sum(row.change is not None for row in state.listings.values()) >= 3
    assert {ref for ref, row in state.users.items() if row.role == "moderator"} == {
        f"users/{each.id}" for each in MODERATORS[1:]
    }


def test_its_votes_are_of_90_days_and_every_listing_in_public_has_some(state: State) -> None:
    today, days = day_of(FakeClock().now_ms()), set[int]()
    for ref, row in state.listings.items():
        voted = state.vote_counts.days(ref)
        assert bool(voted) is row.is_public, ref
        days |= voted.keys()
    assert days == {*range(today - DAYS + 1, today + 1)}


def test_a_listing_that_grows_has_more_votes_in_the_last_week_than_in_each_before(state: State) -> None:
    ref = next(each.ref for each in planned(1, FakeClock().now_ms()) if each.name == "Song Quiz")
    voted, today = state.vote_counts.days(ref), day_of(FakeClock().now_ms())
    weeks = [sum(voted.get(today - 7 * week - day, 0) for day in range(1, 8)) for week in range(4)]
    assert weeks[0] > 1.5 * max(weeks[1:])


def test_an_owner_has_keys_and_deliveries_of_which_some_failed(state: State) -> None:
    own = [row for row in state.listings.values() if row.owner_id in {ADA.id, DAN.id} and row.is_public]
    assert len(own) > 3
    assert all(row.webhook is not None for row in own if kind_of(row.ref).has("webhook"))
    assert any(row.webhook.suspension is not None for row in own if row.webhook is not None)
    assert any(row.keys for row in own)


def test_every_file_that_a_listing_names_is_in_its_folder(state: State, folder: Path) -> None:
    blobs = SealedBlobs(Folder(folder, kept_keys(folder, needed=True)))
    with_files = {kind_of(ref) for ref in state.listings if digests_in(state.listings.content(ref))}
    assert with_files == {kind for kind in KINDS if kind.has("files") or kind.has("tree")}
    assert {blob.ref.digest for blob in blobs.whole()} == named_in(state)


def test_every_bot_and_server_has_an_icon_that_was_chosen_for_it() -> None:
    known_as = ("application", "server")
    named = {each.name for each in planned(1, FakeClock().now_ms()) if each.kind.known_as in known_as}
    assert named == SHAPES.keys()


def test_a_seed_and_a_time_decide_everything(demo: tuple[State, str], tmp_path: Path) -> None:
    now_ms = FakeClock().now_ms()
    assert written(tmp_path / "again")[1] == demo[1]
    assert planned(1, now_ms) == planned(1, now_ms) != planned(2, now_ms)


def test_the_rules_have_written_it_so_the_journal_folds_to_the_same_state(
    demo: tuple[State, str], folder: Path
) -> None:
    settings: Settings = load_settings(None, {}, {})
    assert folded_digest(folder, settings) == demo[1]
    assert journal_digest(folder, settings) == demo[1]


def test_nothing_happens_after_its_end_or_before_its_listing(state: State) -> None:
    now_ms = FakeClock().now_ms()
    for row in state.listings.values():
        times = [each.at_ms for each in row.audit_log]
        assert times == sorted(times)
        assert row.created_ms <= times[0]
        assert times[-1] <= now_ms + MS_PER_DAY // 24


@pytest.fixture(scope="module")
def site(demo: tuple[State, str], folder: Path) -> Iterator[DemoSite]:  # noqa: ARG001 (it writes the folder)
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(folder, Path(name) / "data")
        with demo_site(Path(name)) as site:
            yield site


def test_a_visitor_finds_its_bots_and_their_icons_are_drawn(site: DemoSite) -> None:
    groove_box = site.listings["Groove Box"]

    def page() -> str:
        site.clock.advance(3)
        return site.request("GET", f"/{groove_box.ref}").text

    assert "Groove Box" in page()
    eventually(lambda: groove_box.icon in page())


def test_its_people_sign_in(site: DemoSite) -> None:
    assert "Groove Box" in site.person(ADA.id).get("/me").text
    assert "Pixel Harbour" in site.person(DAN.id).get("/me").text


@pytest.fixture
def command(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    held = held_ports(PORTS_BETWEEN)
    made = re.search(r"python (-m demo.*)", (ROOT / "Makefile").read_text())
    assert made is not None
    with (tmp_path / "log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *made[1].split()],
            cwd=ROOT,
            env={"TMPDIR": str(tmp_path), "VOTEGATE_SERVER__PORT": str(held[0].getsockname()[1])},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_SECONDS)
    for each in held:
        each.close()


def test_the_command_serves_it_and_leaves_nothing_behind(
    command: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    log = tmp_path / "log"

    def greeted() -> bool:
        assert command.poll() is None, log.read_text()
        return "Ctrl-C stops both." in log.read_text()

    eventually(greeted)
    command.send_signal(signal.SIGINT)
    assert command.wait(WAIT_SECONDS) == 0, log.read_text()
    assert [each.name for each in tmp_path.iterdir()] == ["log"]
