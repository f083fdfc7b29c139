"""replication/merge.py: what becomes of deliveries when nodes hear of each other."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryQueued,
    DeliveryTaken,
    Event,
    ListingRemoved,
    UserErased,
    VoteCast,
)
from core.rows import Delivery
from replication.facts import DeliveryFact, Fact
from tests.support.memory_ledger import DELIVERIES_KEPT
from tests.support.memory_nodes import DIGESTS, Node, assert_folds, meet
from tests.support.sample_rows import BOT_REF, DELIVERED, HOUR_MS, NOW_MS, REFUSED, USER
from tests.support.slots_set import actual_count_set, webhook_removed

PSEUDONYM = DIGESTS.user(USER)


def queued(id_: str = "first") -> DeliveryQueued:
    return DeliveryQueued(id_, BOT_REF, USER, test=False, at_ms=NOW_MS)


def known(node: Node, id_: str = "first") -> Delivery:
    row = node.state.deliveries.find(BOT_REF, id_)
    assert row is not None
    return row


def test_a_delivery_is_known_to_others_and_not_theirs_to_send(a: Node, b: Node) -> None:
    a.commit(queued())
    meet(a, b)
    assert known(b) == replace(known(a), owner="a.1")
    assert not b.state.deliveries.pending
    assert dict(b.state.deliveries.remote_counts) == {"a.1": 1}
    a.commit(DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "delivered", None))
    meet(a, b)
    assert known(b).delivered
    assert not b.state.deliveries.remote_counts


@pytest.mark.parametrize(
    "further",
    [
        [DeliveryAttempted("first", BOT_REF, 1, REFUSED, "retry", NOW_MS + 5)],
        [DeliveryDropped("first", BOT_REF, 0, "expired", NOW_MS)],
        [DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "delivered", None), queued()],
    ],
)
def test_the_furthest_delivery_of_one_owner_wins(a: Node, b: Node, further: list[Event]) -> None:
    before = a.commit(queued())
    for event in further:
        after = a.commit(replace(event, at_ms=NOW_MS + 9) if isinstance(event, DeliveryQueued) else event)
    for facts in (after, before, after):
        b.merge_facts(facts, "a.1")
    assert known(b) == replace(known(a), owner="a.1")


def test_a_delivery_that_was_taken_over_is_the_taker_s_however_far_it_was(a: Node, b: Node) -> None:
    a.commit(queued())
    b.hear(a)
    a.commit(DeliveryAttempted("first", BOT_REF, 1, REFUSED, "retry", NOW_MS + 5))
    b.commit(DeliveryTaken("first", BOT_REF, NOW_MS + HOUR_MS))
    meet(a, b)
    assert not a.state.deliveries.pending
    assert known(a) == replace(known(b), owner="b.1")
    assert list(b.state.deliveries.pending) == ["first"]


def test_the_last_who_took_a_delivery_over_has_it_whatever_the_clocks_say(a: Node, b: Node) -> None:
    a.commit(queued())
    b.hear(a)
    b.commit(DeliveryTaken("first", BOT_REF, b.clock.now_ms()))
    a.hear(b)
    a.commit(DeliveryTaken("first", BOT_REF, a.clock.now_ms()))
    b.hear(a)
    assert list(a.state.deliveries.pending) == ["first"]
    assert not b.state.deliveries.pending


def test_a_node_hears_of_its_own_delivery_as_its_own(a: Node, b: Node) -> None:
    a.commit(queued())
    b.hear(a)
    told = b.capture.delivery(BOT_REF, "first")
    assert told is not None
    a.commit(actual_count_set(BOT_REF, 1))
    later = DeliveryFact(0, 0, replace(told.row, made=2))
    a.merge_facts([later], "b.1")
    assert list(a.state.deliveries.pending) == ["first"]
    assert known(a).owner == ""


@pytest.mark.parametrize("gone", ["listing", "webhook", "user"])
def test_a_delivery_of_what_is_gone_is_not_taken(a: Node, b: Node, gone: str) -> None:
    told = a.commit(queued())
    events: dict[str, Event] = {
        "listing": ListingRemoved(BOT_REF),
        "webhook": webhook_removed(BOT_REF),
        "user": UserErased(USER, (), PSEUDONYM),
    }
    b.commit(events[gone])
    assert b.merge_facts(told, "a.1") == []


def test_a_finished_delivery_is_known_though_its_webhook_is_gone(a: Node, b: Node) -> None:
    a.commit(queued())
    told = a.commit(DeliveryAttempted("first", BOT_REF, 1, DELIVERED, "delivered", None))
    b.commit(webhook_removed(BOT_REF))
    b.merge_facts(told, "a.1")
    assert known(b).delivered


def finish(node: Node, id_: str) -> None:
    """The node delivers it, and so many others that it is not in its log any more."""
    node.commit(DeliveryAttempted(id_, BOT_REF, 1, DELIVERED, "delivered", None))
    for number in range(DELIVERIES_KEPT):
        node.commit(queued(f"later {number}"))
        node.commit(DeliveryAttempted(f"later {number}", BOT_REF, 1, DELIVERED, "delivered", None))
    assert node.state.deliveries.find(BOT_REF, id_) is None


def captured_late(node: Node, records: Sequence[Sequence[Event]]) -> list[Fact]:
    return [fact for record in records for fact in node.capture.facts(record)]


@pytest.mark.parametrize("end", ["delivered", "dropped"])
def test_a_delivery_that_was_finished_and_forgotten_unheard_is_not_to_be_sent_by_anybody(
    a: Node, b: Node, end: str
) -> None:
    a.commit(queued())
    b.hear(a)
    before = len(a.records)
    if end == "dropped":
        a.commit(DeliveryDropped("first", BOT_REF, 0, "expired", NOW_MS))
        a.commit(queued("other"))
        finish(a, "other")
        assert a.state.deliveries.find(BOT_REF, "first") is None
    else:
        finish(a, "first")

    for _ in range(2):
        b.merge_facts(captured_late(a, a.records[before:]), "a.1")

    assert not b.state.deliveries.remote_counts
    assert b.state.deliveries.find(BOT_REF, "first") is None
    assert_folds(b)


def test_a_delivery_that_was_taken_over_stays_although_its_first_owner_has_forgotten_it(
    a: Node, b: Node
) -> None:
    a.commit(queued())
    b.hear(a)
    before = len(a.records)
    finish(a, "first")
    b.commit(DeliveryTaken("first", BOT_REF, NOW_MS))
    b.merge_facts(captured_late(a, a.records[before:]), "a.1")
    assert [*b.state.deliveries.pending] == ["first"]


def test_an_attempt_that_was_not_the_last_says_nothing_of_a_delivery_that_is_gone(a: Node) -> None:
    a.commit(queued())
    a.commit(DeliveryAttempted("first", BOT_REF, 1, REFUSED, "retry", NOW_MS + 5))
    attempted = a.records[-1]
    a.commit(webhook_removed(BOT_REF))
    assert a.capture.facts(attempted) == []


def test_a_delivery_of_an_unknown_listing_is_not_taken(a: Node) -> None:
    assert Node("b").merge_facts(a.commit(queued()), "a.1") == []


def test_a_delivery_tells_of_an_erasure_that_was_not_heard_of(a: Node, b: Node) -> None:
    b.commit(VoteCast(BOT_REF, USER, 1, NOW_MS))
    a.commit(UserErased(USER, (), PSEUDONYM))
    b.merge_facts(a.commit(queued()), "a.1")
    assert b.votes(BOT_REF, USER) is None
    assert known(b).owner == "a.1"
