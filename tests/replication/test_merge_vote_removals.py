"""replication/merge.py: a vote that was removed at one node comes back at none."""

from core.actors import OPERATOR
from core.clock import day_of, month_of
from core.events import Event, ListingRemoved, UserErased
from core.fleet_table import FleetTable
from core.webhook_events import NewDeliveries
from replication.facts import VoteFact, VotesFact, VotesRemovedFact
from replication.merge import FactSource
from tests.support.memory_nodes import DIGESTS, Node, assert_alike, finished, meet
from tests.support.sample_rows import BOT_REF, DAY_MS, HOUR_MS, NOW_MS, OTHER_USER, USER
from votes.rules import KeptCooldowns, VoteRemoval, cast_vote, remove_votes

TODAY = day_of(NOW_MS)


def cast(node: Node, user: str = USER) -> list[Event]:
    now_ms = node.clock.now_ms()
    deliveries = NewDeliveries(lambda: f"d{now_ms}", 9)
    events = cast_vote(node.state, BOT_REF, user, deliveries, now_ms=now_ms, cooldown_ms=0)
    node.commit(*events)
    return [*events]


def remove(node: Node, *users: str) -> None:
    deliveries = NewDeliveries(lambda: "d", 9)
    node.commit(
        *remove_votes(
            node.state,
            BOT_REF,
            VoteRemoval(users or (USER,), "Bought."),
            deliveries,
            KeptCooldowns(DAY_MS, DIGESTS.vote),
            now_ms=node.clock.now_ms(),
            by=OPERATOR,
        )
    )


def counted(node: Node) -> tuple[int, int, int]:
    """All votes, those of the month and those of the day."""
    counts = node.state.vote_counts
    return (
        counts.total(BOT_REF),
        counts.in_month(BOT_REF, month_of(NOW_MS)),
        counts.days(BOT_REF).get(TODAY, 0),
    )


def test_a_removed_vote_is_gone_at_all_nodes_and_the_counts_follow(a: Node, b: Node) -> None:
    cast(a)
    cast(b)
    cast(b, OTHER_USER)
    meet(a, b)
    remove(b)
    meet(a, b)
    for node in (a, b):
        assert node.votes(BOT_REF, USER) is None
        assert node.votes(BOT_REF, OTHER_USER) is not None
        assert counted(node)[0] == 1
    assert counted(a) == counted(b)


def test_the_votes_of_one_node_are_no_longer_in_the_counts_of_another(a: Node, b: Node) -> None:
    cast(a)
    cast(a, OTHER_USER)
    b.hear(a)
    remove(b)
    a.hear(b)
    assert counted(a) == counted(b) == (1, 1, 1)
    remove(a, OTHER_USER)
    b.hear(a)
    assert counted(a) == counted(b) == (0, 0, 0)


def test_two_removals_of_one_vote_at_once_take_it_from_its_day_twice_and_all_nodes_agree(
    a: Node, b: Node
) -> None:
    for user in (USER, OTHER_USER, "700000000000000003"):
        cast(a, user)
    b.hear(a)
    for node in (a, b):
        remove(node)
    meet(a, b)
    assert counted(a) == counted(b) == (2, 1, 1)
    assert_alike(a, b)


def test_a_vote_from_before_the_removal_is_not_merged_again(a: Node, b: Node) -> None:
    cast(a)
    late = a.told[-1].facts
    remove(b)
    a.hear(b)
    for node in (a, b):
        for _ in range(2):
            node.merge_facts(late, "a.1")
            assert node.votes(BOT_REF, USER) is None
    b.hear(a)
    assert_alike(a, b)


def test_a_vote_that_did_not_know_of_the_removal_goes_however_late_it_was_cast(a: Node, b: Node) -> None:
    remove(a)
    b.clock.advance_ms(9 * HOUR_MS)
    cast(b)
    meet(a, b)
    assert a.votes(BOT_REF, USER) is b.votes(BOT_REF, USER) is None


def test_a_copy_brings_the_removal_before_the_votes(a: Node, b: Node) -> None:
    cast(a)
    cast(a, OTHER_USER)
    old = [fact for fact in a.everything() if isinstance(fact, VotesFact)]
    remove(b)
    assert b.merge_facts(old, "a.1")
    assert (b.votes(BOT_REF, USER), b.votes(BOT_REF, OTHER_USER)) == (None, (1, NOW_MS))
    c = Node("c")
    for node in (a, b, a):
        c.merge_facts(node.everything(), node.label)
    assert c.votes(BOT_REF, USER) is None
    assert c.state.fleet.removed_votes == b.state.fleet.removed_votes


def test_a_copy_of_who_knew_of_the_removal_brings_what_came_after_it(a: Node, b: Node) -> None:
    remove(a)
    b.hear(a)
    cast(a)
    removed = {BOT_REF: {USER: a.state.fleet.removed_votes[BOT_REF][USER]}}
    votes = [fact for fact in a.everything() if isinstance(fact, VotesFact)]
    finished(b.applying.facts(votes, FactSource("a.1", removed_votes=removed)))
    assert b.votes(BOT_REF, USER) == (1, NOW_MS)


def test_a_user_who_votes_again_starts_from_nothing_everywhere_in_any_order_of_facts(
    a: Node, b: Node
) -> None:
    cast(a)
    cast(a)
    b.hear(a)
    remove(a)
    a.clock.advance_ms(DAY_MS)
    cast(a)
    (vote,) = (fact for fact in a.told[-1].facts if isinstance(fact, VoteFact))
    assert (vote.count, vote.removed_ms) == (1, a.state.fleet.removed_votes[BOT_REF][USER])
    b.merge_facts([vote], "a.1")
    assert b.votes(BOT_REF, USER) == (1, NOW_MS + DAY_MS)
    meet(a, b)
    assert b.votes(BOT_REF, USER) == (1, NOW_MS + DAY_MS)


def test_a_removal_that_is_known_is_nothing_new(a: Node, b: Node) -> None:
    remove(a)
    b.hear(a)
    known = [fact for fact in a.everything() if isinstance(fact, VotesRemovedFact)]
    assert known
    assert b.merge_facts(known, "a.1") == []


def test_a_removed_listing_and_an_erased_user_end_the_memory_of_removed_votes(a: Node, b: Node) -> None:
    remove(a, USER, OTHER_USER)
    removed = [fact for fact in a.everything() if isinstance(fact, VotesRemovedFact)]
    b.hear(a)
    a.commit(UserErased(USER, (), DIGESTS.user(USER)))
    meet(a, b)
    for node in (a, b):
        assert list(node.state.fleet.removed_votes[BOT_REF]) == [OTHER_USER]
        node.merge_facts(removed)
        assert list(node.state.fleet.removed_votes[BOT_REF]) == [OTHER_USER], (
            "an erased user is not named again"
        )
    a.commit(ListingRemoved(BOT_REF))
    meet(a, b)
    for node in (a, b):
        node.merge_facts(removed)
        assert not node.state.fleet.removed_votes


def test_a_restart_remembers_the_removal(a: Node, b: Node) -> None:
    cast(b)
    late = b.told[-1].facts
    remove(a)
    a.restart()
    a.merge_facts(late, "b.1")
    assert a.votes(BOT_REF, USER) is None


def test_the_newest_removals_are_kept_in_whatever_order_they_come() -> None:
    tables = [FleetTable(), FleetTable()]
    times = [(str(10**17 + number), 1 + number // 2) for number in range(10_005)]
    for table, order in zip(tables, (times, reversed(times)), strict=True):
        for user, ms in order:
            table.votes_removed_at(BOT_REF, [user], ms)
    one, other = tables
    assert one.removed_votes == other.removed_votes == {BOT_REF: dict(times[5:])}
    assert one.tombstones == other.tombstones
    loaded = FleetTable()
    loaded.load(one.row)
    assert (loaded.removed_votes, loaded.tombstones) == (one.removed_votes, one.tombstones)
