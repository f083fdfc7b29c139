"""replication/merge.py: the audit log of a listing, when nodes hear from each other."""

from core.actors import ERASED, OPERATOR, user_actor
from tests.support.memory_nodes import DIGESTS, Node, meet
from tests.support.sample_rows import BOT_REF, HOUR_MS, NOW_MS, OTHER_USER, USER
from tests.support.slots_set import actual_count_set, limits_set
from votes.rules import erase_user

ACTIONS = {"actual_count_set", "limits_set"}


def audit_log(node: Node) -> list[tuple[str, str]]:
    return [(act.by, act.action) for act in node.listing().audit_log if act.action in ACTIONS]


def test_actions_of_two_nodes_become_one_audit_log(a: Node, b: Node) -> None:
    a.commit(actual_count_set(BOT_REF, 5, at_ms=NOW_MS, by=user_actor(USER)))
    b.commit(limits_set(BOT_REF, None, None, at_ms=NOW_MS, by=OPERATOR))
    meet(a, b)
    assert audit_log(a) == audit_log(b)
    assert set(audit_log(a)) == {(user_actor(USER), "actual_count_set"), (OPERATOR, "limits_set")}


def test_a_user_who_is_erased_at_one_node_is_named_at_neither(a: Node, b: Node) -> None:
    b.hear(a)
    b.commit(actual_count_set(BOT_REF, 5, at_ms=NOW_MS, by=user_actor(USER)))
    unheard = b.told[-1].facts
    a.clock.advance_ms(HOUR_MS)
    a.commit(*erase_user(USER, {BOT_REF}, DIGESTS.user(USER), now_ms=NOW_MS, by=OPERATOR))
    meet(a, b)
    a.merge_facts(unheard, "b.1")
    assert audit_log(a) == audit_log(b) == [(ERASED, "actual_count_set")]


def test_actions_after_the_erasure_and_those_of_others_stay(a: Node, b: Node) -> None:
    b.hear(a)
    a.commit(actual_count_set(BOT_REF, 4, at_ms=NOW_MS, by=user_actor(OTHER_USER)))
    a.commit(*erase_user(USER, {BOT_REF}, DIGESTS.user(USER), now_ms=NOW_MS, by=OPERATOR))
    a.commit(actual_count_set(BOT_REF, 5, at_ms=NOW_MS, by=user_actor(USER)))
    meet(a, b)
    assert audit_log(b) == [
        (user_actor(OTHER_USER), "actual_count_set"),
        (user_actor(USER), "actual_count_set"),
    ]
