"""core/vote_counts.py: votes by day and month are a fold of all votes, in any order, and again."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actors import OPERATOR
from core.clock import MS_PER_DAY, day_of, month_of, month_of_day
from core.events import (
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    NodeNamed,
    UserErased,
    VoteCast,
    VoteCountsMerged,
    VotesMoved,
    VotesRemoved,
    decode_record,
)
from core.ledger import Ledger
from core.rows import NodeCounts
from core.state import State
from core.vote_counts import KEPT, MAX_COUNT, MAX_KEY, VoteCounts
from core.vote_table import VoteTable
from core.webhook_events import NewDeliveries
from kinds.themes import THEMES
from tests.support.committed_rows import a_listing
from tests.support.examples import examples
from tests.support.memory_ledger import empty_state, state_after
from tests.support.sample_rows import BOT_REF, DAY_MS, NOW_MS, OTHER_REF, OTHER_USER, OWNER, USER
from tests.support.state_invariants import picture, reloaded
from votes.rules import cast_vote, like

TODAY = day_of(NOW_MS)
Told = tuple[int, int, int, int]  # the node, the day, the counts of the day and of the month

nodes = st.integers(0, 2)
spread = st.integers(TODAY - 800, TODAY) | st.integers(TODAY - 3, TODAY) | st.integers(0, MAX_KEY)
votes = st.lists(st.tuples(nodes, spread), max_size=150)


def told(cast: Sequence[tuple[int, int]]) -> list[Told]:
    """Return the counts in each node's facts about its votes."""
    days, months = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    found = []
    for node, day in cast:
        days[node, day] += 1
        months[node, month_of_day(day)] += 1
        found.append((node, day, days[node, day], months[node, month_of_day(day)]))
    return found


def newest(counts: Counter[int], most: int) -> dict[int, int]:
    return {key: counts[key] for key in sorted(counts)[-most:]}


def taken(found: Sequence[Told]) -> VoteCounts:
    counts = VoteCounts(VoteTable())
    for each in found:
        counts.count(BOT_REF, *each)
    return counts


@examples(150)
@given(votes, st.data())
def test_the_counts_are_a_fold_of_all_votes_in_any_order_and_again(
    cast: list[tuple[int, int]], choice: st.DataObject
) -> None:
    found = told(cast)
    again = choice.draw(st.lists(st.sampled_from(found), max_size=20)) if found else []
    counts = taken(choice.draw(st.permutations([*found, *again])))
    days = newest(Counter(day for _, day in cast), KEPT[0])
    months = newest(Counter(month_of_day(day) for _, day in cast), KEPT[1])
    assert dict(counts.days(BOT_REF)) == days
    assert list(counts.days(BOT_REF)) == sorted(days)
    assert dict(counts.months(BOT_REF)) == months
    assert all(counts.in_month(BOT_REF, month) == months.get(month, 0) for month in {*months, 7})
    periods = range(TODAY - 6, TODAY + 1), range(TODAY - 27, TODAY - 6), range(5)
    assert counts.of(BOT_REF).in_days(periods) == [sum(days.get(day, 0) for day in each) for each in periods]
    ordered = taken(found)
    assert ordered.canonical(BOT_REF) == counts.canonical(BOT_REF)
    assert list(ordered.rows(BOT_REF)) == list(counts.rows(BOT_REF))


@examples(100)
@given(votes, votes, st.integers(0, 9))
def test_counts_that_are_merged_whole_are_those_that_came_one_by_one(
    cast: list[tuple[int, int]], before: list[tuple[int, int]], struck: int
) -> None:
    labels = ["a.1", "b.1", "c.1"]
    counts, other = taken(told(cast)), taken(told(before))
    for each in told(before):
        counts.count(BOT_REF, *each)
    counts.take_away(BOT_REF, 1, [(TODAY, struck, struck)], struck)
    for _ in range(2):
        for of_node in counts.of_nodes(BOT_REF, labels):
            other.merge(BOT_REF, labels.index(of_node.node), of_node)
    assert list(other.rows(BOT_REF)) == list(counts.rows(BOT_REF))
    loaded = VoteCounts(VoteTable())
    loaded.load([(BOT_REF, counts.rows(BOT_REF))] if counts.rows(BOT_REF) else [])
    assert list(loaded.rows(BOT_REF)) == list(counts.rows(BOT_REF))
    alone = VoteCounts(VoteTable())
    alone.merge(BOT_REF, 0, counts.summed(BOT_REF))
    assert alone.canonical(BOT_REF) == counts.canonical(BOT_REF)


def test_removed_votes_are_no_longer_counted() -> None:
    table = VoteTable()
    counts = VoteCounts(table)
    for number in (1, 2):
        table.put(BOT_REF, number, 1, NOW_MS)
        counts.count(BOT_REF, 0, TODAY, number, number)
    table.remove(BOT_REF, 1)
    counts.take_away(BOT_REF, 4, [(TODAY, 1, 1)], 1)
    counts.take_away(BOT_REF, 4, [(TODAY, 1, 1)], 1)
    assert counts.total(BOT_REF) == counts.in_month(BOT_REF, month_of(NOW_MS)) == 1
    assert dict(counts.days(BOT_REF)) == {TODAY: 1}
    assert counts.of(BOT_REF).in_days([range(TODAY, TODAY + 1)]) == [1]
    assert counts.at(BOT_REF, 0, TODAY) == (2, 2)
    table.remove(BOT_REF, 2)
    counts.take_away(BOT_REF, 0, [(TODAY, 1, 1)], 1)
    assert counts.total(BOT_REF) == counts.in_month(BOT_REF, month_of(NOW_MS)) == 0
    assert not counts.days(BOT_REF)


def test_numbers_that_do_not_fit_stay_at_their_end() -> None:
    counts = taken([(0, MAX_KEY, MAX_COUNT + 5, 7), (0, MAX_KEY, MAX_COUNT + 9, MAX_COUNT + 9)])
    assert dict(counts.days(BOT_REF)) == {MAX_KEY: MAX_COUNT}


def cast(ledger: Ledger, user: str = USER, now_ms: int = NOW_MS, ref: str = BOT_REF) -> None:
    ledger.commit(
        cast_vote(ledger.state, ref, user, NewDeliveries(lambda: "d", 9), now_ms=now_ms, cooldown_ms=0)
    )


# -- in the state --------------------------------------------------------------------------------------


def test_a_vote_is_counted_on_its_day_in_its_month_and_in_all(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for ago in (400, 1, 0, 0):
        cast(ledger, now_ms=NOW_MS - ago * MS_PER_DAY)
    cast(ledger, OTHER_USER)
    counts = state.vote_counts
    assert dict(counts.days(BOT_REF)) == {TODAY - 400: 1, TODAY - 1: 1, TODAY: 3}
    assert counts.in_month(BOT_REF, month_of(NOW_MS)) == 4
    assert counts.total(BOT_REF) == 5
    assert counts.total(OTHER_REF) == 0


def test_a_wrong_clock_pushes_one_day_out_and_no_more(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    for ago in reversed(range(KEPT[0])):
        cast(ledger, now_ms=NOW_MS - ago * DAY_MS)
    cast(ledger, now_ms=NOW_MS + 20_000 * DAY_MS)
    days = list(state.vote_counts.days(BOT_REF))
    assert days == [*range(TODAY - KEPT[0] + 2, TODAY + 1), TODAY + 20_000]


def test_records_of_versions_that_counted_no_days_are_read(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    (old,) = decode_record(
        b'[{"type":"vote_cast.1","ref":"%s","user":"7","count":3,"at_ms":5}]' % BOT_REF.encode()
    )
    ledger.commit([old])
    assert not state.vote_counts.days(BOT_REF)
    assert state.vote_counts.total(BOT_REF) == 3


def test_counts_go_with_their_listing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    cast(ledger)
    ledger.commit([ListingRemoved(BOT_REF)])
    a_listing(ledger)
    assert not state.vote_counts.rows(BOT_REF)
    assert state.vote_counts.total(BOT_REF) == 0


@pytest.mark.parametrize("counts", [(), (NodeCounts("b.1"), NodeCounts("c.1", ((TODAY, 0),)))])
def test_merged_counts_of_nothing_leave_nothing(counts: tuple[NodeCounts, ...]) -> None:
    state = state_after([VoteCountsMerged(BOT_REF, counts)])
    assert not state.listings.unlisted
    assert not state.vote_counts.rows(BOT_REF)
    assert picture(reloaded(state)) == picture(state)


def test_counts_that_came_before_their_listing_go_with_it_too() -> None:
    merged = VoteCountsMerged(BOT_REF, (NodeCounts("b.1", ((TODAY, 2),), ((month_of(NOW_MS), 2),)),))
    state = state_after([merged])
    assert list(state.listings.unlisted) == [BOT_REF]
    assert picture(reloaded(state)) == picture(state)
    state.apply(ListingRemoved(BOT_REF))
    assert not state.listings.unlisted
    assert not state.vote_counts.rows(BOT_REF)
    assert picture(reloaded(state)) == picture(state)


def test_the_days_of_an_erased_user_stay_because_they_name_nobody(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    cast(ledger)
    ledger.commit([UserErased(USER, (BOT_REF,))])
    assert dict(state.vote_counts.days(BOT_REF)) == {TODAY: 1}
    assert state.vote_counts.total(BOT_REF) == 0


def test_counts_of_a_node_move_to_its_new_label() -> None:
    state = empty_state()
    state.apply(NodeNamed("a.1"))
    state.apply(VoteCast(BOT_REF, USER, 7, NOW_MS, "b.1", 7, 9))
    month = month_of(NOW_MS)
    state.apply(VotesMoved(BOT_REF, "b.1", days=((TODAY, 5, 2),), months=((month, 7, 2),)))
    assert state.vote_counts.of_nodes(BOT_REF, [*state.fleet.numbers]) == [
        NodeCounts("a.1", ((TODAY, 2),), ((month, 2),)),
        NodeCounts("b.1", ((TODAY, 5),), ((month, 7),)),
    ]
    assert dict(state.vote_counts.days(BOT_REF)) == {TODAY: 7}


@pytest.mark.parametrize("votes_a_day", [1, 130, 1_000, 20_000, 100_000, 1_000_000])
def test_a_listing_with_votes_on_all_days_takes_at_most_400_bytes(votes_a_day: int) -> None:
    counts = VoteCounts(VoteTable())
    for ago in reversed(range(800)):
        counts.count(BOT_REF, 0, TODAY - ago, votes_a_day - ago % (votes_a_day // 2 + 1), 30 * votes_a_day)
    (row,) = counts.rows(BOT_REF)
    assert row.__sizeof__() <= 400


def test_a_vote_of_the_newest_day_of_its_node_changes_the_head_alone() -> None:
    counts = taken([(node, day, 1, day) for node in (0, 1) for day in (TODAY - 40, TODAY - node)])
    before = counts.rows(BOT_REF)
    counts.count(BOT_REF, 1, TODAY - 1, 2, TODAY)
    after = counts.rows(BOT_REF)
    assert after[0] == before[0]
    assert after[1] != before[1]
    assert after[1][-4:] == before[1][-4:]
    assert dict(counts.days(BOT_REF)) == {TODAY - 40: 2, TODAY - 1: 2, TODAY: 1}


def test_a_vote_of_the_very_first_day_is_too_old_beside_90_others() -> None:
    counts = taken([(0, day, 1, 1) for day in range(1, KEPT[0] + 1)])
    counts.take_away(BOT_REF, 1, [(5, 1, 1)], 1)
    counts.count(BOT_REF, 1, 0, 1, 1)
    assert counts.at(BOT_REF, 1, 0) == (0, 1)


likes_of_time = st.lists(
    st.tuples(st.sampled_from(["like", "take back", "erase"]), st.integers(1, 4), st.integers(0, 5)),
    max_size=30,
)


@examples(100)
@given(likes_of_time)
def test_the_days_of_likes_are_those_of_the_likes_that_stand(steps: list[tuple[str, int, int]]) -> None:
    ref = THEMES.ref(THEMES.id.sample)
    listed = ListingSaved(ref, OWNER, THEMES.sample, "in_review", NOW_MS)
    state = state_after([listed, ListingReviewed(ref, "approved", None, NOW_MS)])
    for what, user, days in steps:
        at_ms, name = NOW_MS + days * MS_PER_DAY, str(user)
        match what:
            case "like":
                for event in like(state, ref, name, now_ms=at_ms):
                    state.apply(event)
            case "take back":
                state.apply(VotesRemoved(ref, (name,), "", at_ms, by=OPERATOR))
            case _:
                state.apply(UserErased(name, (ref,), by=OPERATOR))
        days_of_likes = Counter(day_of(last_ms) for _, _, last_ms in state.votes.votes(ref))
        assert state.vote_counts.days(ref) == days_of_likes
        assert sum(state.vote_counts.months(ref).values()) == state.vote_counts.total(ref)
    assert reloaded(state).vote_counts.days(ref) == state.vote_counts.days(ref)
