"""replication/merge.py: what an owner does at a node that has not heard of a take-over is nothing."""

from msgspec.structs import replace

from core.actors import user_actor
from core.events import Event, KeySaved, ListingSaved
from core.rows import Key, Webhook
from listings.owners import is_proven, take_over
from tests.support.committed_rows import a_delivery, a_key, a_webhook
from tests.support.memory_nodes import Node, assert_alike, meet
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, HOUR_MS, NOW_MS, OWNER, USER
from tests.support.slots_set import ownership_proven, webhook_saved

DIGEST = "d2" * 32


def take(node: Node) -> None:
    node.commit(*take_over(node.state.listings[BOT_REF], USER, "code", node.clock.now_ms()))


def a_new_key(key_id: str, digest: str = DIGEST) -> Event:
    return KeySaved(BOT_REF, Key(key_id, "new", digest, digest[:8], NOW_MS))


def test_a_key_that_the_owner_before_issues_elsewhere_opens_nothing(a: Node, b: Node) -> None:
    take(a)
    b.commit(a_new_key("k2"))  # its clock is ahead: the key is the later one of both
    assert DIGEST in b.state.listings.grants
    meet(a, b)
    for node in (a, b):
        assert (node.listing().keys, dict(node.state.listings.grants)) == ((), {})


def test_a_third_node_that_heard_of_the_key_first_drops_it_too(a: Node, b: Node) -> None:
    third = Node("c")
    third.hear(a)
    take(a)
    b.commit(a_new_key("k2"))
    third.hear(b)
    assert DIGEST in third.state.listings.grants
    third.hear(a)
    assert dict(third.state.listings.grants) == {}
    a.hear(b)
    b.hear(a)
    assert_alike(a, b, third)


def test_a_rotation_of_an_old_key_elsewhere_brings_it_not_back(a: Node, b: Node) -> None:
    key = a_key(a.ledger)
    b.hear(a)
    take(a)
    b.commit(KeySaved(BOT_REF, replace(key, digest=DIGEST, rotated_ms=NOW_MS + HOUR_MS)))
    meet(a, b)
    assert dict(b.state.listings.grants) == {}


def test_an_edit_a_webhook_and_a_proof_of_the_owner_before_are_nothing(a: Node, b: Node) -> None:
    take(a)
    by = user_actor(OWNER)
    b.commit(ListingSaved(BOT_REF, OWNER, replace(BOT_PROFILE, name="Mine"), "approved", NOW_MS, by=by))
    b.commit(webhook_saved(BOT_REF, Webhook("https://receiver.example/mine", NOW_MS), by=by))
    b.commit(ownership_proven(BOT_REF, NOW_MS, by=by))
    meet(a, b)
    row = b.listing()
    assert (row.owner_id, row.profile.name, row.webhook) == (USER, BOT_PROFILE.name, None)
    assert is_proven(row)


def test_keys_and_webhook_of_the_new_owner_stay(a: Node, b: Node) -> None:
    take(a)
    a.commit(a_new_key("k3", "d3" * 32))
    b.commit(a_new_key("k2"))
    a_webhook(a.ledger)
    meet(a, b)
    assert set(b.state.listings.grants) == {"d3" * 32}
    assert b.listing().webhook is not None


def test_deliveries_for_the_former_endpoint_never_go_to_the_new_one(a: Node, b: Node) -> None:
    a_delivery(b.ledger, "waiting")
    a.clock.advance(2 * HOUR_MS // 1_000)
    take(a)
    a_webhook(a.ledger)
    a.hear(b)
    b.merge_facts(a.everything(), "a.1")  # it hears of both at once
    for node in (a, b):
        assert [*node.state.deliveries.of(BOT_REF)] == []
        assert node.listing().webhook is not None


def test_two_users_take_a_listing_over_at_once_and_one_has_it_everywhere(a: Node, b: Node) -> None:
    third = "777777777777777777"
    take(a)
    b.commit(*take_over(b.state.listings[BOT_REF], third, "code", b.clock.now_ms()))
    meet(a, b)
    for node in (a, b):
        row = node.listing()
        assert (row.owner_id, is_proven(row)) == (third, True)
