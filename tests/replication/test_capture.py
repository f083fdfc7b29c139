"""replication/capture.py: what a node tells of what it did."""

import pytest

from core.clock import day_of
from core.events import (
    CooldownsKept,
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryMerged,
    DeliveryQueued,
    DeliveryTaken,
    EndingsForgotten,
    EndpointHealthSet,
    Event,
    KeyDeleted,
    KeySaved,
    ListingMerged,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    Merged,
    NodeNamed,
    StatsUpdated,
    UserDropped,
    UserErased,
    VoteCast,
    VotesMerged,
)
from core.push_history import Pushed, pushes_of
from core.rows import Delivery, Key, NodeWindow, Policy, Revocation, Stamp, StatsWindow, Suspension, Webhook
from core.user_rows import user_ref
from replication.facts import CooldownsFact, DeliveryFact, ErasedFact, ListingFact, RemovedFact, VoteFact
from tests.support.committed_rows import a_delivery, a_key, a_listing, a_webhook
from tests.support.memory_nodes import DIGESTS, Node, listing_fact
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, DAY_MS, DELIVERED, NOW_MS, OTHER_REF, OWNER, USER
from tests.support.slots_set import actual_count_set, limits_set, webhook_removed, webhook_saved

PSEUDONYM = DIGESTS.user(USER)
WEBHOOK = Webhook("https://receiver.example/other", NOW_MS)
ELSEWHERE = Delivery("first", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="b.1")


@pytest.fixture
def node() -> Node:
    """One with a bot that has a webhook."""
    node = Node("a")
    a_listing(node.ledger)
    a_webhook(node.ledger)
    return node


@pytest.mark.parametrize(
    "event",
    [
        ListingSaved(BOT_REF, USER, BOT_PROFILE, "approved", NOW_MS + 1),
        ListingReviewed(BOT_REF, "denied", "No.", NOW_MS),
        KeySaved(BOT_REF, Key("k2", "second", "d2", "d2", NOW_MS)),
        KeyDeleted(BOT_REF, "k1"),
        StatsUpdated(BOT_REF, 7, None, StatsWindow(NOW_MS, 1), NOW_MS),
        actual_count_set(BOT_REF, 8),
        limits_set(BOT_REF, Policy(1, 2), None),
        webhook_saved(BOT_REF, WEBHOOK),
        webhook_removed(BOT_REF),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_change_of_a_listing_tells_all_of_it(node: Node, event: Event) -> None:
    a_key(node.ledger)
    before = node.listing()
    (fact,) = node.commit(event)
    assert isinstance(fact, ListingFact)
    assert fact.row.ref == BOT_REF
    assert fact.row != before
    assert fact == node.capture.listing(BOT_REF)


def test_a_row_is_told_with_stamps_and_without_what_is_of_the_node_alone(node: Node) -> None:
    node.commit(EndpointHealthSet(BOT_REF, 3, Suspension(NOW_MS, "timeout", 1, NOW_MS)))
    a_key(node.ledger)
    node.commit(KeyDeleted(BOT_REF, "k1"))
    row = listing_fact(node.commit(StatsUpdated(BOT_REF, 7, None, StatsWindow(NOW_MS, 2), NOW_MS))).row
    assert row.window is None
    assert row.windows == (NodeWindow("a.1", NOW_MS, 2),)
    assert row.webhook is not None
    assert (row.webhook.failed, row.webhook.suspension) == (0, None)
    assert row.known_stamps.counts == Stamp(node.state.fleet.latest_ms, "a.1")
    assert row.known_stamps.profile < row.known_stamps.webhook < row.known_stamps.counts
    assert row.revoked == (Revocation(row.known_stamps.counts.ms - 1, "k1"),)


def test_a_push_tells_of_its_own_day_another_change_of_none_and_a_copy_of_all(node: Node) -> None:
    def push(servers: int, at_ms: int) -> bytes:
        event = StatsUpdated(BOT_REF, servers, None, StatsWindow(NOW_MS, 1), at_ms)
        return listing_fact(node.commit(event)).row.pushed

    today = day_of(NOW_MS)
    assert pushes_of(push(5, NOW_MS)) == {today: Pushed(5, None)}
    assert pushes_of(push(9, NOW_MS - 2 * DAY_MS)) == {today - 2: Pushed(9, None)}
    assert pushes_of(push(3, NOW_MS)) == {today: Pushed(5, None)}
    assert listing_fact(node.commit(actual_count_set(BOT_REF, 7))).row.pushed == b""
    assert listing_fact(node.everything()).row.pushed == node.listing().pushed
    assert len(pushes_of(node.listing().pushed)) == 2


def test_a_vote_tells_the_count_of_the_node_and_the_last_time_of_all(node: Node) -> None:
    node.merge_facts([VoteFact(BOT_REF, USER, 5, NOW_MS + 9)], "b.1")
    assert node.commit(VoteCast(BOT_REF, USER, 1, NOW_MS)) == [VoteFact(BOT_REF, USER, 1, NOW_MS + 9)]
    assert node.votes(BOT_REF, USER) == (6, NOW_MS + 9)


def test_a_vote_tells_its_day_only_where_its_time_does_not(node: Node) -> None:
    cast = VoteCast(BOT_REF, USER, 1, NOW_MS, of_day=4, of_month=9)
    assert node.commit(cast) == [VoteFact(BOT_REF, USER, 1, NOW_MS, of_day=4, of_month=9)]
    node.merge_facts([VoteFact(BOT_REF, USER, 1, NOW_MS + DAY_MS)], "b.1")
    cast = VoteCast(BOT_REF, USER, 2, NOW_MS, of_day=5, of_month=10)
    told = VoteFact(BOT_REF, USER, 2, NOW_MS + DAY_MS, day=day_of(NOW_MS), of_day=5, of_month=10)
    assert node.commit(cast) == [told]


def test_a_fact_says_how_much_its_author_knows(node: Node) -> None:
    node.commit(ListingRemoved(BOT_REF))
    node.commit(UserErased(USER, (), PSEUDONYM))
    removed_ms, erased_ms = node.state.fleet.removed[BOT_REF], node.state.fleet.erased[PSEUDONYM]
    a_listing(node.ledger)
    assert 0 < removed_ms < erased_ms
    assert listing_fact(node.commit(actual_count_set(BOT_REF, 1))).life == removed_ms
    vote, delivery = node.commit(
        VoteCast(BOT_REF, USER, 1, NOW_MS), DeliveryQueued("first", BOT_REF, USER, test=False, at_ms=NOW_MS)
    )
    assert isinstance(delivery, DeliveryFact)
    assert vote == VoteFact(BOT_REF, USER, 1, NOW_MS, removed_ms, erased_ms)
    assert (delivery.life, delivery.forgotten) == (removed_ms, erased_ms)


def test_a_removal_tells_its_time(node: Node) -> None:
    (fact,) = node.commit(ListingRemoved(BOT_REF))
    assert fact == RemovedFact(BOT_REF, node.state.fleet.removed[BOT_REF])


def test_an_erasure_tells_the_user_and_the_mark(node: Node) -> None:
    node.commit(VoteCast(BOT_REF, USER, 1, NOW_MS))
    (fact,) = node.commit(UserErased(USER, (BOT_REF,), PSEUDONYM))
    assert fact == ErasedFact(PSEUDONYM, node.state.fleet.erased[PSEUDONYM], USER)


def test_an_erasure_is_told_even_if_nothing_was_known(node: Node) -> None:
    (fact,) = node.commit(UserErased(USER, (), PSEUDONYM))
    assert isinstance(fact, ErasedFact)


@pytest.mark.parametrize(
    "event",
    [
        DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "delivered", None),
        DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "retry", NOW_MS + 5),
        DeliveryDropped("first", BOT_REF, 0, "expired", NOW_MS),
    ],
)
def test_a_delivery_is_told_whole_with_the_node_that_sends_it(node: Node, event: Event) -> None:
    (queued,) = node.commit(DeliveryQueued("first", BOT_REF, USER, test=False, at_ms=NOW_MS))
    (fact,) = node.commit(event)
    assert queued == DeliveryFact(0, 0, Delivery("first", BOT_REF, USER, False, NOW_MS, NOW_MS, owner="a.1"))
    assert isinstance(fact, DeliveryFact)
    assert fact == node.capture.delivery(BOT_REF, "first")
    assert fact.row.made + (fact.row.dropped is not None) == 1
    assert fact.row.owner == "a.1"


def test_a_delivery_taken_over_is_told_as_the_taker_s(node: Node) -> None:
    node.merge_facts([DeliveryFact(0, 0, ELSEWHERE)], "b.1")
    (fact,) = node.commit(DeliveryTaken("first", BOT_REF, NOW_MS + 1))
    assert isinstance(fact, DeliveryFact)
    assert (fact.row.owner, fact.row.owned_ms) == ("a.1", NOW_MS + 1)


def test_events_of_the_node_alone_are_not_told(node: Node) -> None:
    assert node.commit(EndpointHealthSet(BOT_REF, 1, None)) == []
    assert node.commit(NodeNamed("a.2")) == []


@pytest.mark.parametrize(
    "event",
    [
        ListingRemoved(BOT_REF, stamp_ms=NOW_MS + 1),
        VoteCast(BOT_REF, USER, 1, NOW_MS, "b.1"),
        VotesMerged(BOT_REF, ("b.1",), b"", ((int(USER), "b.1", 1, NOW_MS),)),
        UserErased(USER, (BOT_REF,), PSEUDONYM, stamp_ms=NOW_MS + 1),
        DeliveryMerged(ELSEWHERE),
        webhook_saved(BOT_REF, WEBHOOK),
    ],
    ids=lambda event: type(event).__name__,
)
def test_merged_records_are_not_told_again(node: Node, event: Event) -> None:
    assert node.commit(Merged("b.1", 7), ListingMerged(node.listing()), event) == []


def test_a_record_tells_of_each_thing_once(node: Node) -> None:
    facts = node.commit(
        actual_count_set(BOT_REF, 1),
        VoteCast(BOT_REF, USER, 1, NOW_MS),
        DeliveryQueued("first", BOT_REF, USER, test=False, at_ms=NOW_MS),
        DeliveryDropped("first", BOT_REF, 0, "overflow", NOW_MS),
        actual_count_set(BOT_REF, 2),
    )
    assert [type(fact) for fact in facts] == [ListingFact, VoteFact, DeliveryFact]
    assert listing_fact(facts).row.actual == 2


def test_facts_that_are_captured_late_say_how_things_are_then(node: Node) -> None:
    saved = ListingSaved(OTHER_REF, OWNER, BOT_PROFILE, "in_review", NOW_MS)
    records: list[list[Event]] = [[saved], [VoteCast(OTHER_REF, USER, 1, NOW_MS)]]
    for record in records:
        node.ledger.commit(record)
    node.commit(VoteCast(OTHER_REF, USER, 2, NOW_MS + 1), actual_count_set(OTHER_REF, 9))
    row, vote = (fact for record in records for fact in node.capture.facts(record))
    assert listing_fact([row]).row.actual == 9
    assert vote == VoteFact(OTHER_REF, USER, 2, NOW_MS + 1)


def test_nothing_is_told_late_of_what_is_gone(node: Node) -> None:
    a_delivery(node.ledger, "first")
    node.commit(VoteCast(BOT_REF, USER, 1, NOW_MS))
    records = list(node.records)
    node.commit(ListingRemoved(BOT_REF))
    assert [node.capture.facts(record) for record in records] == [[] for _ in records]


def test_an_old_removal_is_told_late_as_the_old_one(node: Node) -> None:
    node.commit(ListingRemoved(BOT_REF))
    removal = node.records[-1]
    first_ms = node.state.fleet.removed[BOT_REF]
    a_listing(node.ledger)
    node.commit(ListingRemoved(BOT_REF))
    assert node.capture.facts(removal) == [RemovedFact(BOT_REF, first_ms)]


def test_cooldowns_are_told_as_they_were_kept_and_their_end_is_not(node: Node) -> None:
    assert node.commit(CooldownsKept((("m1", NOW_MS + 5),), NOW_MS)) == [CooldownsFact((("m1", NOW_MS + 5),))]
    assert node.commit(CooldownsKept((), NOW_MS + 5)) == []


@pytest.mark.parametrize("event", [UserDropped(user_ref(USER)), EndingsForgotten(user_ref(USER), NOW_MS)])
def test_a_row_that_a_node_drops_is_told_to_nobody(node: Node, event: Event) -> None:
    node.commit(signed_in(USER, "d1"))
    assert node.commit(event) == []
