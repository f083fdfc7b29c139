"""replication/merge.py: what becomes of stats and webhooks when nodes hear of each other."""

from collections.abc import Sequence

import pytest

from core.clock import day_of
from core.events import DeliveryQueued, EndpointHealthSet, Event, ListingMerged, SlotsSet, StatsUpdated
from core.push_history import Pushed, pushes_of
from core.rows import Listing, StatsWindow, Suspension, Webhook
from listings.stats import StatsUpdate, committed_window, update_stats
from tests.support.committed_rows import a_webhook
from tests.support.memory_nodes import Node, a_node, assert_alike, meet
from tests.support.sample_rows import BOT_REF, DAY_MS, HOUR_MS, NOW_MS, USER
from tests.support.slots_set import actual_count_set, webhook_removed, webhook_saved

WINDOW_SECONDS = 7_200
HOOK = Webhook("https://receiver.example/b", NOW_MS)
SUSPENSION = Suspension(NOW_MS, "timeout", 1, NOW_MS + 60_000)


@pytest.fixture
def a() -> Node:
    return a_node()


def an_update(count: int, used: int, started_ms: int = NOW_MS) -> StatsUpdated:
    return StatsUpdated(BOT_REF, count, None, StatsWindow(started_ms, used), started_ms)


def merged_row(events: Sequence[Event]) -> Listing:
    """The listing that was merged."""
    (row,) = (event.row for event in events if isinstance(event, ListingMerged))
    return row


# -- stats ---------------------------------------------------------------------------------------------


def test_updates_are_counted_over_all_nodes_and_each_once(a: Node, b: Node) -> None:
    a.commit(an_update(5, 1))
    b.commit(an_update(6, 1))
    a.commit(an_update(7, 2))
    first, last = (told.facts for told in a.told[-2:])
    assert [event.updates for event in b.merge_facts(last, "a.1") if isinstance(event, ListingMerged)] == [2]
    assert b.merge_facts(first, "a.1") == []
    assert b.merge_facts(last, "a.1") == []
    meet(a, b)
    for node in (a, b):
        assert committed_window(node.listing(), WINDOW_SECONDS) == StatsWindow(NOW_MS, 3)
        counts = node.listing().counts
        assert counts is not None
        assert counts.server_count == 6


def test_a_record_that_merges_a_push_has_its_day_alone_and_the_other_days_stay(a: Node, b: Node) -> None:
    today = day_of(NOW_MS)
    for ago in (2, 1, 0):
        a.commit(an_update(7 + ago, 1, NOW_MS - ago * DAY_MS))
        b.hear(a)
    merged = b.merge_facts(a.commit(an_update(9, 2)), "a.1")
    assert pushes_of(merged_row(merged).pushed) == {today: Pushed(9, None)}
    assert b.listing().pushed == a.listing().pushed
    assert [*pushes_of(b.listing().pushed)] == [today - 2, today - 1, today]
    assert merged_row(b.merge_facts(a.commit(actual_count_set(BOT_REF, 3)), "a.1")).pushed == b""
    assert_alike(a, b)


def test_only_the_new_updates_of_a_window_are_news(a: Node, b: Node) -> None:
    later_ms = NOW_MS + 3 * HOUR_MS
    news = []
    for update in (an_update(1, 1), an_update(2, 2), an_update(3, 1, later_ms), an_update(4, 3, later_ms)):
        merged = b.merge_facts(a.commit(update), "a.1")
        news += [event.updates for event in merged if isinstance(event, ListingMerged)]
    assert news == [1, 1, 1, 2]
    assert committed_window(b.listing(), WINDOW_SECONDS) == StatsWindow(later_ms, 3)


def test_a_clock_that_is_set_back_leaves_all_alike(a: Node, b: Node) -> None:
    for now_ms in (NOW_MS, NOW_MS - 5 * HOUR_MS, NOW_MS - 2 * HOUR_MS):
        update = StatsUpdate(server_count=1, command_count=None)
        window = {"window_started_ms": now_ms, "window_seconds": WINDOW_SECONDS}
        a.commit(*update_stats(a.state, BOT_REF, update, **window, now_ms=now_ms))
        meet(a, b)
    b.commit(actual_count_set(BOT_REF, 1))
    meet(a, b)


# -- webhooks ------------------------------------------------------------------------------------------


def test_the_health_of_an_endpoint_stays_when_something_else_changes_elsewhere(a: Node, b: Node) -> None:
    a_webhook(a.ledger)
    b.hear(a)
    b.commit(EndpointHealthSet(BOT_REF, 10, SUSPENSION))
    events = b.merge_facts(a.commit(actual_count_set(BOT_REF, 3)), "a.1")
    webhook = b.listing().webhook
    assert [type(event) for event in events] == [ListingMerged]
    assert webhook is not None
    assert (webhook.failed, webhook.suspension) == (10, SUSPENSION)
    assert_alike(a, b)


def test_a_webhook_that_is_saved_elsewhere_starts_anew_and_readers_hear_of_it(a: Node, b: Node) -> None:
    a_webhook(a.ledger)
    b.hear(a)
    b.commit(EndpointHealthSet(BOT_REF, 10, SUSPENSION))
    events = b.merge_facts(a.commit(webhook_saved(BOT_REF, HOOK)), "a.1")
    assert [type(event) for event in events] == [ListingMerged, SlotsSet]
    assert b.listing().webhook == HOOK
    assert_alike(a, b)


def test_a_webhook_that_is_removed_elsewhere_takes_its_deliveries_with_it(a: Node, b: Node) -> None:
    a_webhook(a.ledger)
    b.hear(a)
    b.commit(DeliveryQueued("first", BOT_REF, USER, False, NOW_MS))
    events = b.merge_facts(a.commit(webhook_removed(BOT_REF)), "a.1")
    assert [type(event) for event in events] == [SlotsSet, ListingMerged]
    assert b.listing().webhook is None
    assert not b.state.deliveries.pending
    assert_alike(a, b)


def test_a_webhook_saved_after_it_was_removed_elsewhere_stands(a: Node, b: Node) -> None:
    a_webhook(a.ledger)
    b.hear(a)
    a.commit(webhook_removed(BOT_REF))
    b.commit(webhook_saved(BOT_REF, HOOK))
    meet(a, b)
    assert a.listing().webhook == HOOK
