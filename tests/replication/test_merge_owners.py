"""replication/merge.py: who owns a listing, when nodes hear of each other."""

from itertools import count

import msgspec

from core.actors import OPERATOR, user_actor
from core.events import ListingSaved
from listings import owners
from listings.keys import NewKey, issue_key
from tests.support.memory_nodes import DIGESTS, Node, meet
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, HOUR_MS, NOW_MS, OTHER_USER, OWNER, USER
from votes.rules import erase_user

BY_OWNER, BY_USER = user_actor(OWNER), user_actor(USER)
IDS = count()
RENAMED = msgspec.structs.replace(BOT_PROFILE, name="Renamed")


def invite(node: Node, user: str = USER) -> None:
    events = owners.invite(node.listing(), user, f"id {next(IDS)}", NOW_MS, by=BY_OWNER)
    node.commit(*events)


def join(node: Node, user: str = USER) -> None:
    node.commit(*owners.accept_invitation(node.listing(), user, NOW_MS, by=user_actor(user)))


def edit(node: Node) -> None:
    node.commit(ListingSaved(BOT_REF, OWNER, RENAMED, "approved", NOW_MS, by=BY_OWNER))


def owners_of(node: Node) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    row = node.listing()
    return row.owner_id, row.extra_owners, row.invited


def test_an_edit_of_the_profile_and_an_acceptance_elsewhere_both_stand(a: Node, b: Node) -> None:
    invite(a)
    b.hear(a)
    edit(a)
    join(b)
    meet(a, b)
    assert owners_of(a) == owners_of(b) == (OWNER, (USER,), ())
    assert a.listing().profile == b.listing().profile == RENAMED


def test_an_edit_of_the_profile_undoes_no_hand_over_that_was_accepted_elsewhere(a: Node, b: Node) -> None:
    a.commit(*owners.offer(a.listing(), USER, NOW_MS, by=BY_OWNER))
    b.hear(a)
    b.commit(*owners.accept_offer(b.listing(), USER, "new", NOW_MS + 1, by=BY_USER))
    a.clock.advance_ms(2 * HOUR_MS)  # the edit is the later one
    edit(a)
    meet(a, b)
    assert owners_of(a) == owners_of(b) == (USER, (OWNER,), ())
    assert b.listing().profile == RENAMED


def test_invitations_of_two_nodes_both_stand(a: Node, b: Node) -> None:
    b.hear(a)
    invite(a, USER)
    invite(b, OTHER_USER)
    meet(a, b)
    assert {*a.listing().invited} == {*b.listing().invited} == {USER, OTHER_USER}


def test_an_acceptance_at_a_node_that_had_not_heard_of_the_withdrawal_is_none(a: Node, b: Node) -> None:
    invite(a)
    b.hear(a)
    a.commit(*owners.end_co_owner(a.listing(), USER, NOW_MS, by=BY_OWNER))
    join(b)  # later, by the clock of this node
    meet(a, b)
    assert owners_of(a) == owners_of(b) == (OWNER, (), ())
    invite(a)
    meet(a, b)
    assert owners_of(b) == (OWNER, (), (USER,)), "another invitation is another one"


def test_a_co_owner_who_is_erased_at_one_node_is_named_at_none(a: Node, b: Node) -> None:
    invite(a)
    a.commit(*owners.offer(a.listing(), USER, NOW_MS, by=BY_OWNER))
    b.hear(a)
    join(b)
    key = NewKey("k1", "of Ben", "d1" * 32)
    b.commit(*issue_key(b.state, BOT_REF, key, now_ms=NOW_MS, keys_per_listing=5, by=BY_USER))
    unheard = b.told[-2].facts, b.told[-1].facts
    a.clock.advance_ms(3 * HOUR_MS)
    a.commit(*erase_user(USER, {BOT_REF}, DIGESTS.user(USER), now_ms=NOW_MS, by=OPERATOR))
    meet(a, b)
    for facts in unheard:
        a.merge_facts(facts, "b.1")
    for node in (a, b):
        assert USER.encode() not in msgspec.json.encode(node.listing())
        assert owners_of(node) == (OWNER, (), ())
        assert [each.makers for each in node.listing().keys] == [("erased",)]
