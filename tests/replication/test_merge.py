"""replication/merge.py: what becomes of listings and keys when nodes hear of each other."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from core.events import (
    DeliveryQueued,
    DownloadCounted,
    Event,
    KeyDeleted,
    KeySaved,
    KeyUsed,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    StatsUpdated,
    VoteCast,
)
from core.rows import BotCounts, BotLimits, Key, Policy, Stamp, StatsWindow, Webhook
from listings.keys import is_granted
from tests.support.committed_rows import a_key, a_listing, a_webhook
from tests.support.memory_nodes import Node, a_node, assert_alike, meet
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, HOUR_MS, NOW_MS, OTHER_REF, OWNER, USER
from tests.support.slots_set import actual_count_set, limits_set, webhook_saved

RENAMED = replace(BOT_PROFILE, name="Renamed")
HOOK = Webhook("https://receiver.example/b", NOW_MS)
SAVED = ListingSaved(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS)
UPDATED = StatsUpdated(BOT_REF, 0, None, StatsWindow(NOW_MS, 1), NOW_MS)


@pytest.fixture
def a() -> Node:
    return a_node()


# -- a listing -----------------------------------------------------------------------------------------


def test_a_listing_is_known_to_all_who_hear_of_it(a: Node) -> None:
    a_key(a.ledger)
    a.commit(ListingSaved(OTHER_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS))
    b = Node("b")
    meet(a, b)
    assert b.state.listings == a.state.listings
    assert list(b.state.listings.refs) == [BOT_REF, OTHER_REF]


@pytest.mark.parametrize("first", ["a", "b"])
def test_the_later_of_two_writes_to_the_same_part_wins(a: Node, b: Node, first: str) -> None:
    earlier, later = (a, b) if first == "a" else (b, a)
    later.clock.advance_ms(2 * HOUR_MS)
    earlier.commit(ListingReviewed(BOT_REF, "denied", "No.", NOW_MS))
    later.commit(ListingSaved(BOT_REF, OWNER, RENAMED, "approved", NOW_MS))
    meet(a, b)
    assert (a.listing().profile, a.listing().state, a.listing().reason) == (RENAMED, "approved", None)


def test_parts_that_different_nodes_write_all_stand(a: Node, b: Node) -> None:
    a.commit(ListingSaved(BOT_REF, OWNER, RENAMED, "approved", NOW_MS))
    b.commit(actual_count_set(BOT_REF, 12), webhook_saved(BOT_REF, HOOK))
    a.commit(limits_set(BOT_REF, Policy(3, 4), None), UPDATED)
    meet(a, b)
    row = b.listing()
    assert (row.profile, row.actual, row.counts) == (RENAMED, 12, BotCounts(0, None, NOW_MS))
    assert (row.limits, row.webhook) == (BotLimits(Policy(3, 4)), HOOK)


def test_a_node_that_has_merged_a_write_writes_later_whatever_the_clocks_say(a: Node, b: Node) -> None:
    b.commit(actual_count_set(BOT_REF, 1))
    a.hear(b)
    a.commit(actual_count_set(BOT_REF, 2))
    assert a.clock.now_ms() < a.listing().known_stamps.actual.ms
    meet(a, b)
    assert b.listing().actual == 2


def test_the_later_name_wins_two_writes_in_the_same_millisecond(a: Node) -> None:
    b = Node("b")
    b.hear(a)
    for node, count in ((b, 2), (a, 1)):
        node.clock.advance_ms(HOUR_MS)
        node.commit(actual_count_set(BOT_REF, count))
    assert a.listing().known_stamps.actual.ms == b.listing().known_stamps.actual.ms
    meet(a, b)
    assert a.listing().actual == 2
    assert a.listing().known_stamps.actual == Stamp(NOW_MS + HOUR_MS, "b.1")


# -- what was there before the fleet ---------------------------------------------------------------------


def met_with_their_past(*pasts: Sequence[Event]) -> list[Node]:
    """Gateways that become a fleet, each with what it did before."""
    nodes = [Node(name, alone=True) for name, _ in zip("abcd", pasts, strict=False)]
    for node, past in zip(nodes, pasts, strict=True):
        for event in past:
            node.ledger.commit([event])
        node.join()
    copies = [(node, node.everything()) for node in nodes]
    for node in nodes:
        for other, facts in copies:
            if other is not node:
                node.merge_facts(facts, other.label)
    assert_alike(*nodes)
    return nodes


@pytest.mark.parametrize("wrote_first", [True, False])
@pytest.mark.parametrize(
    "event",
    [
        actual_count_set(BOT_REF, 5),
        actual_count_set(BOT_REF, 70_000),
        limits_set(BOT_REF, None, Policy(1, 2)),
        webhook_saved(BOT_REF, HOOK),
        UPDATED,
    ],
    ids=str,
)
def test_slots_that_only_one_of_two_gateways_without_a_fleet_has_are_kept(
    event: Event, wrote_first: bool
) -> None:
    pasts: list[list[Event]] = [[SAVED, event], [SAVED]]
    one, _ = met_with_their_past(*(pasts if wrote_first else pasts[::-1]))
    alone = Node(alone=True)
    for past in (SAVED, event):
        alone.commit(past)
    for name in ("actual", "limits", "webhook", "counts"):
        assert getattr(one.listing(), name) == getattr(alone.listing(), name)


def test_gateways_without_a_fleet_agree_on_what_they_have_both_written() -> None:
    one, other = met_with_their_past(
        [SAVED, actual_count_set(BOT_REF, 5)], [SAVED, actual_count_set(BOT_REF, 300)]
    )
    assert one.listing().actual in {5, 300}
    one.commit(actual_count_set(BOT_REF, 1))
    meet(one, other)
    assert other.listing().actual == 1


def test_votes_from_before_the_fleet_are_counted_for_each_gateway() -> None:
    one, other, third = met_with_their_past(
        [SAVED, VoteCast(BOT_REF, USER, 3, NOW_MS)], [SAVED, VoteCast(BOT_REF, USER, 4, NOW_MS + 1)], []
    )
    for node in (one, other, third):
        assert node.votes(BOT_REF, USER) == (7, NOW_MS + 1)


# -- removal -------------------------------------------------------------------------------------------


def test_a_removal_takes_what_others_wrote_without_knowing_of_it(a: Node, b: Node) -> None:
    a.commit(ListingRemoved(BOT_REF))
    b.clock.advance_ms(5 * HOUR_MS)
    b.commit(actual_count_set(BOT_REF, 1))
    b.commit(VoteCast(BOT_REF, USER, 1, NOW_MS), DeliveryQueued("first", BOT_REF, USER, False, NOW_MS))
    a_key(b.ledger, digest="d1")
    meet(a, b)
    for node in (a, b):
        assert not node.state.listings
        assert not node.state.listings.grants
        assert not len(node.state.votes)
        assert not node.state.deliveries.newest_first(BOT_REF)


def test_nothing_of_its_old_life_comes_back_with_a_listing_submitted_anew(a: Node, b: Node) -> None:
    b.commit(VoteCast(BOT_REF, USER, 4, NOW_MS))
    a_key(b.ledger, digest="old")
    a_webhook(b.ledger)
    a.commit(ListingRemoved(BOT_REF))
    a_listing(a.ledger)
    a_key(a.ledger, "k2", digest="new")
    a.commit(VoteCast(BOT_REF, USER, 1, NOW_MS + 5))
    meet(a, b)
    meet(b, a)
    assert [key.id for key in b.listing().keys] == ["k2"]
    assert list(b.state.listings.grants) == ["new"]
    assert b.listing().webhook is None
    assert a.votes(BOT_REF, USER) == b.votes(BOT_REF, USER) == (1, NOW_MS + 5)


def test_the_later_of_two_removals_takes_what_was_submitted_between_them(a: Node, b: Node) -> None:
    a.commit(ListingRemoved(BOT_REF))
    a_listing(a.ledger)
    b.commit(ListingRemoved(BOT_REF))
    meet(a, b)
    assert not a.state.listings
    assert a.state.fleet.removed == b.state.fleet.removed == {BOT_REF: NOW_MS + HOUR_MS}


def test_a_removal_that_comes_before_its_listing_stands(a: Node) -> None:
    a.commit(ListingRemoved(BOT_REF))
    b = Node("b")
    for told in reversed(a.told):
        b.merge_facts(told.facts, told.author)
    assert_alike(a, b)
    assert not b.state.listings


# -- keys ----------------------------------------------------------------------------------------------


def test_keys_that_different_nodes_issue_all_open(a: Node, b: Node) -> None:
    a_key(a.ledger, "k1", digest="d1")
    a_key(b.ledger, "k2", digest="d2")
    meet(a, b)
    for node in (a, b):
        assert all(is_granted(node.state, BOT_REF, digest, NOW_MS) for digest in ("d1", "d2"))


def test_a_key_that_is_deleted_stays_so_though_another_node_rotates_it_later(a: Node, b: Node) -> None:
    key = a_key(a.ledger, digest="d1")
    b.hear(a)
    a.commit(KeyDeleted(BOT_REF, key.id))
    b.clock.advance_ms(5 * HOUR_MS)
    b.commit(KeySaved(BOT_REF, Key(key.id, key.name, "d2", "d2", NOW_MS, NOW_MS, "d1", NOW_MS + HOUR_MS)))
    meet(a, b)
    for node in (a, b):
        assert not node.listing().keys
        assert not node.state.listings.grants


def test_the_later_of_two_rotations_of_a_key_wins(a: Node, b: Node) -> None:
    key = a_key(a.ledger, digest="d1")
    b.hear(a)
    b.commit(KeySaved(BOT_REF, Key(key.id, key.name, "later", "d", NOW_MS)))
    a.commit(KeySaved(BOT_REF, Key(key.id, key.name, "earlier", "d", NOW_MS)))
    meet(a, b)
    assert list(a.state.listings.grants) == list(b.state.listings.grants) == ["later"]


def test_more_deletions_than_are_remembered_leave_all_alike(a: Node, b: Node) -> None:
    for number in range(1_001):
        a.commit(
            KeySaved(BOT_REF, Key(f"k{number}", "", f"d{number}", "", NOW_MS)),
            KeyDeleted(BOT_REF, f"k{number}"),
        )
        if number % 500 == 0:
            b.hear(a)
    meet(a, b)
    assert not a.state.listings.grants


def test_downloads_of_all_nodes_are_added_up_however_often_they_are_told(a: Node, b: Node) -> None:
    a_key(a.ledger)
    b.hear(a)
    for node, counts in ((a, (1, 2, 3)), (b, (1, 2))):
        for count in counts:
            node.commit(DownloadCounted(BOT_REF, count))
            meet(a, b)
    meet(a, b)
    assert [node.listing().download_count for node in (a, b)] == [5, 5]
    assert [node.listing().own_downloads for node in (a, b)] == [3, 2]


@pytest.mark.parametrize("later", ["a", "b"])
def test_a_key_was_last_used_on_the_later_day_whoever_rotated_it(a: Node, b: Node, later: str) -> None:
    a_key(a.ledger)
    b.hear(a)
    a.commit(KeyUsed(BOT_REF, "k1", 8 if later == "a" else 7))
    b.commit(KeyUsed(BOT_REF, "k1", 8 if later == "b" else 7))
    b.commit(KeySaved(BOT_REF, replace(b.listing().keys[0], digest="d2")))
    meet(a, b)
    assert (a.listing().keys[0].used_day, a.listing().keys[0].digest) == (8, "d2")
