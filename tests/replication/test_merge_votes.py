"""replication/merge.py: what becomes of votes and users when nodes hear of each other."""

from collections.abc import Coroutine
from typing import Any

from core.actors import UNKNOWN
from core.events import DeliveryQueued, EndpointHealthSet, ListingRemoved, StatsUpdated, UserErased, VoteCast
from core.rows import StatsWindow
from replication.facts import CooldownsFact, ErasedFact, VotesFact
from replication.merge import FactSource
from tests.support.committed_rows import a_listing
from tests.support.memory_nodes import DIGESTS, Node, assert_alike, finished, meet
from tests.support.sample_rows import BOT_REF, HOUR_MS, NOW_MS, OTHER_USER, USER

PSEUDONYM = DIGESTS.user(USER)


def a_vote(count: int = 1, at_ms: int = NOW_MS, user: str = USER) -> VoteCast:
    return VoteCast(BOT_REF, user, count, at_ms)


def erasure(*refs: str) -> UserErased:
    return UserErased(USER, refs, PSEUDONYM)


# -- votes ---------------------------------------------------------------------------------------------


def test_a_user_has_the_sum_of_the_counts_of_all_nodes_and_the_latest_time(a: Node, b: Node) -> None:
    a.commit(a_vote(1, NOW_MS + 9))
    b.commit(a_vote(1, NOW_MS))
    b.commit(a_vote(2, NOW_MS + 3))
    meet(a, b)
    assert a.votes(BOT_REF, USER) == b.votes(BOT_REF, USER) == (3, NOW_MS + 9)


def test_votes_may_come_in_any_order_and_again(a: Node, b: Node) -> None:
    told = [a.commit(a_vote(count, NOW_MS + count)) for count in (1, 2, 3)]
    for facts in (told[2], told[0], told[1], told[2]):
        b.merge_facts(facts, "a.1")
    assert b.votes(BOT_REF, USER) == (3, NOW_MS + 3)
    assert_alike(a, b)


def test_votes_that_come_before_their_listing_wait_for_it(a: Node) -> None:
    a.commit(a_vote())
    b = Node("b")
    for told in reversed(a.told):
        b.merge_facts(told.facts, told.author)
        assert list(b.state.listings.unlisted) == ([] if BOT_REF in b.state.listings else [BOT_REF])
    assert b.votes(BOT_REF, USER) == (1, NOW_MS)
    assert_alike(a, b)


def test_votes_that_come_before_their_listing_go_with_its_removal(a: Node) -> None:
    vote = a.commit(a_vote())
    removal = a.commit(ListingRemoved(BOT_REF))
    b = Node("b")
    for facts in (vote, removal, vote):
        b.merge_facts(facts, "a.1")
    assert not len(b.state.votes)
    assert not b.state.listings.unlisted
    assert_alike(a, b)


def test_a_vote_of_a_later_life_ends_the_earlier_one(a: Node, b: Node) -> None:
    b.commit(a_vote(5))
    a.commit(ListingRemoved(BOT_REF))
    a_listing(a.ledger)
    b.merge_facts(a.commit(a_vote(1, NOW_MS + 1)), "a.1")
    assert not b.state.listings
    assert b.votes(BOT_REF, USER) == (1, NOW_MS + 1)
    meet(a, b)
    assert b.listing().state == "approved"


def test_many_votes_come_at_once(a: Node, b: Node) -> None:
    a.commit(a_vote(2), a_vote(1, user=OTHER_USER))
    b.commit(a_vote(3, NOW_MS + 4))
    a.hear(b)
    c = Node("c")
    for fact in a.everything():
        c.merge_facts([fact], a.label)
    assert c.votes(BOT_REF, USER) == (5, NOW_MS + 4)
    assert {c.state.fleet.numbers[label] for label in ("a.1", "b.1")} == set(
        c.state.votes.parts(BOT_REF, int(USER))
    )
    assert_alike(a, c)
    meet(a, b, c)


def test_many_votes_of_an_old_life_are_not_taken(a: Node, b: Node) -> None:
    a.commit(a_vote())
    old = [fact for fact in a.everything() if isinstance(fact, VotesFact)]
    a.commit(ListingRemoved(BOT_REF))
    b.hear(a)
    assert b.merge_facts(old, "a.1") == []


# -- erasure -------------------------------------------------------------------------------------------


def test_an_erased_user_is_known_nowhere(a: Node, b: Node) -> None:
    b.commit(a_vote(), a_vote(user=OTHER_USER), DeliveryQueued("first", BOT_REF, USER, False, NOW_MS))
    a.commit(erasure())
    meet(a, b)
    for node in (a, b):
        assert node.votes(BOT_REF, USER) is None
        assert node.votes(BOT_REF, OTHER_USER) == (1, NOW_MS)
        assert not node.state.deliveries.newest_first(BOT_REF)


def test_a_vote_that_did_not_know_of_the_erasure_goes_however_late_it_was_cast(a: Node, b: Node) -> None:
    a.commit(erasure())
    b.clock.advance_ms(9 * HOUR_MS)
    b.commit(a_vote(1, b.clock.now_ms()))
    meet(a, b)
    assert a.votes(BOT_REF, USER) is b.votes(BOT_REF, USER) is None


def test_a_user_who_votes_again_begins_anew_everywhere(a: Node, b: Node) -> None:
    old = b.commit(a_vote(5))
    a.hear(b)
    a.commit(erasure(BOT_REF))
    b.hear(a)
    new = b.commit(a_vote(1, NOW_MS + 1))
    c = Node("c")
    for facts in (old, new, old):  # c has not heard of the erasure itself
        c.merge_facts(facts, "b.1")
        assert facts is old or c.votes(BOT_REF, USER) == (1, NOW_MS + 1)
    meet(a, b, c)
    for node in (a, b, c):
        assert node.votes(BOT_REF, USER) == (1, NOW_MS + 1)


def test_an_erasure_that_is_told_by_its_mark_alone_lets_nothing_old_in(a: Node) -> None:
    vote = a.commit(a_vote())
    b = Node("b")
    b.merge_facts([ErasedFact(PSEUDONYM, NOW_MS + 1)], "c.1")
    assert b.merge_facts(vote, "a.1") == []
    assert b.state.fleet.erased == {PSEUDONYM: NOW_MS + 1}
    assert b.state.fleet.latest_ms == NOW_MS + 1


def test_an_erasure_that_was_heard_before_is_nothing_new(a: Node, b: Node) -> None:
    facts = a.commit(erasure())
    erased_ms = a.state.fleet.erased[PSEUDONYM]
    assert b.merge_facts(facts, "a.1") == [UserErased(USER, (), PSEUDONYM, stamp_ms=erased_ms, by=UNKNOWN)]
    assert b.merge_facts(facts, "a.1") == []


def begun(work: Coroutine[Any, Any, None]) -> Coroutine[Any, Any, None]:
    """The work after its first turn."""
    work.send(None)
    return work


def test_a_user_who_votes_while_an_erasure_searches_is_erased_too(a: Node, b: Node) -> None:
    searching = begun(b.applying.facts(a.commit(erasure()), FactSource("a.1")))
    b.commit(a_vote())
    finished(searching)
    meet(a, b)
    assert a.votes(BOT_REF, USER) is b.votes(BOT_REF, USER) is None


def test_an_erasure_that_is_overtaken_while_it_searches_takes_no_vote_that_came_after(
    a: Node, b: Node
) -> None:
    searching = begun(b.applying.facts(a.commit(erasure()), FactSource("a.1")))
    b.commit(erasure())
    b.commit(a_vote(1, NOW_MS + 5))
    finished(searching)
    meet(a, b)
    assert a.votes(BOT_REF, USER) == b.votes(BOT_REF, USER) == (1, NOW_MS + 5)


def test_the_work_of_others_goes_on_while_an_erasure_searches(a: Node, b: Node) -> None:
    facts = [*a.commit(erasure()), *a.commit(a_vote(user=OTHER_USER))]
    searching = begun(b.applying.entry(facts, "a.1", 9))
    b.commit(a_vote(1, NOW_MS + 5, user=OTHER_USER))
    finished(searching)
    assert b.votes(BOT_REF, OTHER_USER) == (2, NOW_MS + 5)
    assert b.state.fleet.cursors == {"a.1": 9}


# -- epochs --------------------------------------------------------------------------------------------


def test_votes_under_a_new_node_id_are_counted_apart(a: Node, b: Node) -> None:
    a.commit(a_vote(3))
    a.commit(StatsUpdated(BOT_REF, 1, None, StatsWindow(NOW_MS, 2), NOW_MS))
    before = a.state.shared_digest()
    a.join(2)
    assert a.state.shared_digest() == before
    a.commit(a_vote(1, NOW_MS + 1))
    a.commit(StatsUpdated(BOT_REF, 1, None, StatsWindow(NOW_MS, 1), NOW_MS))
    meet(a, b)
    assert a.votes(BOT_REF, USER) == b.votes(BOT_REF, USER) == (4, NOW_MS + 1)
    assert [(window.node, window.used) for window in b.listing().windows] == [("a.1", 2), ("a.2", 1)]


def test_a_new_label_changes_nothing_about_how_endpoints_are_doing(a: Node) -> None:
    a.commit(StatsUpdated(BOT_REF, 1, None, StatsWindow(NOW_MS, 2), NOW_MS))
    a.commit(EndpointHealthSet(BOT_REF, 4, None))
    a.join(2)
    webhook = a.listing().webhook
    assert webhook is not None
    assert webhook.failed == 4


def test_cooldowns_are_merged_in_any_order_and_news_alone_are_noted(a: Node, b: Node) -> None:
    first, later = (CooldownsFact((("m1", NOW_MS + end),)) for end in (5, 6))
    a.merge_facts([first, later])
    b.merge_facts([later, first])
    assert dict(a.state.cooldowns) == dict(b.state.cooldowns) == {"m1": NOW_MS + 6}
    assert a.merge_facts([first, later]) == []
    assert_alike(a, b)
