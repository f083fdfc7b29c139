"""gateway/observing.py: every observer of a gateway may fail all the time, without an effect on others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.contract import users
from tests.support.gateways import OTHER_BOT, SERVER, eventually
from tests.support.page_visitor import PageVisitor
from tests.support.people_gateway import PeopleGateway, serving
from tests.support.platform_stand_in import BOT_TOKEN
from tests.support.scraped import scraped

OBSERVERS = {
    "access_log": "serving.access_log.AccessLog._line",
    "attempt_tally": "webhook.attempt_tally.AttemptTally.on_record",
    "disk_space": "storage.disk.os.statvfs",
    "due_invites": "pages.rounds.InviteRechecks.round",
    "failing_endpoints": "watchers.failing_endpoints.FailingEndpoints.on_record",
    "invite_answers": "chatplatform.server_invites.ServerInvites.next_noted",
    "journal_tail": "operators.journal_tail.JournalTail.on_record",
    "key_uses": "handlers.key_uses.KeyUses.run",
    "list_orders": "search.list_keeper.ListKeeper._make",
    "listing_icons": "chatplatform.listing_icons.ListingIcons._ask",
    "live_pages": "operators.operator_site.LiveOverview.event",
    "loop_delay": "serving.timeline.LoopLag.step",
    "memory": "gateway.parts.resident_bytes",
    "message_tally": "webhook.attempt_tally.MessageTally.on_record",
    "metrics": "metrics.collectors.Collectors._of_votes",
    "refused_addresses": "watchers.refused_addresses.RefusedAddresses.step",
    "review_counts": "core.listing_table.ListingTable.count_reviews",
    "search_index": "search.index.SearchIndex.on_record",
    "security_log": "watchers.security_log.on_record",
    "server_counts": "guild_counts.counts.PlatformCounts._step",
    "slow_disk": "journal.journal.SlowDisk.step",
    "supervisor": "serving.supervisor.Supervisor.run",
    "suspension_log": "webhook.suspension_log.SuspensionLog.on_record",
    "timeline": "serving.timeline.Timeline.step",
    "use_tally": "votes.numbers.UseTally.on_record",
}
"""Each observer, and where it has a bug in these tests."""


def failing(*_: object) -> NoReturn:
    raise OSError(24, "Too many open files")


@contextmanager
def beside_bugs(folder: Path, patching: pytest.MonkeyPatch) -> Iterator[PeopleGateway]:
    """A gateway with pages, in which every observer fails each time."""
    for place in OBSERVERS.values():
        patching.setattr(place, failing)
    patching.setattr("serving.timeline.POINT_SECONDS", 0.01)
    settings = {
        "guild_counts.source": "platform",
        "chat_platform.bot_token": BOT_TOKEN,
        "server.access_log": True,
        "debug.pages": True,
        "limits.failures.requests": 3,
    }
    with serving(folder, **settings) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PeopleGateway, str]]:
    """The gateway, and an API key. It has done a little of everything."""
    folder = tmp_path_factory.mktemp("observing")
    with pytest.MonkeyPatch.context() as patching, beside_bugs(folder, patching) as gateway:
        key = gateway.list_bot()
        gateway.list_bot(OTHER_BOT)
        gateway.list_server()
        for user in users(3):
            gateway.cast(user)
        for _ in range(5):
            gateway.voters("vg_" + "k" * 43)
        gateway.request("GET", f"/servers/{SERVER}", headers={"Accept": "text/html"})
        gateway.done("GET", "/debug/overview.json")
        visitor = PageVisitor(gateway)
        visitor.sign_in()
        with visitor.request("GET", "/debug/live", stream=True):
            eventually(lambda: scraped(gateway).value("observer_failures_total", observer="live_pages"))
        yield gateway, key


def test_no_observer_is_left_out(troubled: tuple[PeopleGateway, str]) -> None:
    gateway, _ = troubled
    counted = scraped(gateway).families["votegate_observer_failures"].samples
    assert {sample.labels["observer"] for sample in counted} == OBSERVERS.keys()


@pytest.mark.parametrize("name", OBSERVERS)
def test_a_failing_observer_is_counted(troubled: tuple[PeopleGateway, str], name: str) -> None:
    gateway, _ = troubled
    eventually(lambda: scraped(gateway).value("observer_failures_total", observer=name) > 0)


def test_while_every_observer_fails_votes_are_cast_and_checked(troubled: tuple[PeopleGateway, str]) -> None:
    gateway, key = troubled
    for user in users(9)[3:]:
        assert gateway.cast(user)["vote"] == 1
        assert gateway.voters(key, user=user).json()["voted"] is True
    assert gateway.request("GET", "/readyz").status_code == 200
    assert gateway.done("GET", "/debug/overview.json")["memory"]["resident_bytes"] is None
    assert gateway.done("GET", "/debug/overview.json")["success"] is True
