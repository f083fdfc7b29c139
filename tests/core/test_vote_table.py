"""core/vote_table.py beside its model. What several nodes have counted: test_vote_table_nodes.py."""

import random
import sys
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import vote_table
from core.vote_table import LEAF, MAX_COUNT, MAX_MS, VoteTable, counted_in
from core.vote_table import leaves_of as leaves_in
from tests.support.examples import examples
from tests.support.generated_events import histories
from tests.support.vote_table_model import (
    MAX_USER,
    REFS,
    Change,
    Model,
    Vote,
    assert_equals,
    assert_got,
    assert_leaves_are_sound,
    change,
    changes,
    few_users,
    leaves_of,
    refs,
    unpacked,
    votes,
)

small_leaves = pytest.mark.parametrize("leaf", [2, 3, 4, 8])


@small_leaves
@examples(60)
@given(history=histories(changes, 80))
def test_the_table_equals_its_model(leaf: int, history: list[Change]) -> None:
    with leaves_of(leaf):
        votes, model = VoteTable(), Model()
        for step in history:
            change(votes, model, *step)
            assert_leaves_are_sound(votes)
        assert_equals(votes, model)


@small_leaves
@examples(100)
@given(
    before=st.lists(st.tuples(few_users, votes), max_size=40),
    during=histories(st.none() | changes, 60),
    ref=refs,
)
def test_a_reader_gets_every_vote_once_that_was_there_throughout(
    leaf: int,
    before: list[tuple[int, Vote]],
    during: list[Change | None],
    ref: str,
) -> None:
    """The reader takes a step at each None between the changes; a copy takes the leaves that it read."""
    with leaves_of(leaf):
        votes, model, copy = VoteTable(), Model(), VoteTable()
        for user, vote in before:
            change(votes, model, "put", ref, user, vote)
        throughout = {user for _, user in model}
        at_any_time = {(key, joined.got) for key, joined in model.items()}
        after, seen = -1, list[tuple[int, int, int]]()

        def step() -> bool:
            nonlocal after
            leaf = votes.next_leaf(ref, after)
            if leaf is not None:
                copy.load([(ref, leaf)], [counted_in(leaf)])
                seen.extend(unpacked(leaf))
                after = seen[-1][0]
            return leaf is not None

        for changing in during:
            if changing is None:
                step()
            else:
                change(votes, model, *changing)
                throughout &= {user for at, user in model if at == ref}
                at_any_time |= {(key, joined.got) for key, joined in model.items()}
        while step():
            pass

        users = [user for user, _, _ in seen]
        assert users == sorted(set(users))
        assert throughout <= set(users)
        assert {((ref, user), (count, last_ms)) for user, count, last_ms in seen} <= at_any_time
        assert_leaves_are_sound(copy)
        assert_got(copy, {(ref, user): (count, last_ms) for user, count, last_ms in seen})


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled"])
def test_the_table_equals_its_model_at_full_size(order: str) -> None:
    chance = random.Random(1)
    users = [chance.getrandbits(64) for _ in range(5 * LEAF)]
    if order != "shuffled":
        users.sort(reverse=order == "descending")
    votes, model = VoteTable(), Model()
    for number, user in enumerate(users):
        change(votes, model, "put", "bots/1", user, Vote(number % 7, number))
    assert_leaves_are_sound(votes)
    assert_equals(votes, model)
    for user in chance.sample(users, 4 * LEAF):
        change(votes, model, "remove user", "bots/1", user, Vote(0, 0))
    assert_leaves_are_sound(votes)
    assert_equals(votes, model)


def leaf_sizes(votes: VoteTable) -> list[int]:
    return [len(leaf) // 16 for leaf in leaves_in(votes, "bots/1")]


def is_single_array(votes: VoteTable) -> bool:
    return isinstance(votes._listings["bots/1"], array)


def test_few_voters_are_a_single_array_and_become_one_again_when_the_others_are_gone() -> None:
    with leaves_of(8):
        votes, model = VoteTable(), Model()
        for user in range(8):
            change(votes, model, "put", "bots/1", user, Vote(1, user))
        assert is_single_array(votes)
        change(votes, model, "put", "bots/1", 8, Vote(1, 8))
        assert not is_single_array(votes)
        assert leaf_sizes(votes) == [8, 1]
        change(votes, model, "remove user", "bots/1", 8, Vote(0, 0))
        assert is_single_array(votes)
        assert_equals(votes, model)
        for user in range(8):
            change(votes, model, "remove user", "bots/1", user, Vote(0, 0))
        assert_equals(votes, {})


def test_voters_who_come_in_the_order_of_their_ids_leave_no_leaf_half_empty() -> None:
    with leaves_of(8):
        votes = VoteTable()
        for user in range(80):
            votes.put("bots/1", user, 1, 1)
        assert leaf_sizes(votes) == [8] * 10


def test_a_leaf_in_the_middle_is_split_in_half_because_more_may_come_there() -> None:
    with leaves_of(8):
        votes = VoteTable()
        for user in range(0, 48, 2):
            votes.put("bots/1", user, 1, 1)
        votes.put("bots/1", 21, 1, 1)
        assert leaf_sizes(votes) == [8, 4, 5, 8]


def test_a_user_who_never_voted_has_no_vote() -> None:
    votes = VoteTable()
    assert votes.get("bots/1", 5) is None
    votes.put("bots/1", 4, 1, 1)
    assert votes.get("bots/1", 5) is None
    assert votes.get("bots/2", 4) is None


def test_a_listing_without_votes_is_empty_in_every_way() -> None:
    votes = VoteTable()
    votes.remove_listing("bots/1")
    votes.remove("bots/1", 5)
    assert list(votes.votes("bots/1")) == []
    assert votes.next_leaf("bots/1", -1) is None
    assert (votes.voters("bots/1"), len(votes)) == (0, 0)


def test_counts_beyond_16_bits_stay_at_the_largest() -> None:
    votes = VoteTable()
    votes.put("bots/1", 5, MAX_COUNT + 1, MAX_MS)
    assert votes.get("bots/1", 5) == (65_535, MAX_MS)


def test_a_user_is_removed_from_one_listing_and_the_others_stay() -> None:
    votes = VoteTable()
    for ref in REFS:
        votes.put(ref, 5, 1, 1)
    votes.put("bots/2", 6, 1, 1)
    for _ in range(2):
        votes.remove("bots/2", 5)
        assert [votes.voters(ref) for ref in REFS] == [1, 1, 1]
        assert votes.get("bots/2", 6) == (1, 1)
        assert len(votes) == 3


def test_a_vote_takes_16_bytes() -> None:
    votes = VoteTable()
    for user in range(100):
        votes.put("bots/1", user, 1, 1)
    (leaf,) = leaves_in(votes, "bots/1")
    assert len(leaf) == 1_600
    assert sys.getsizeof(votes._listings["bots/1"]) < 1_600 * 1.3  # some room to grow


def test_leaves_are_loaded_behind_the_votes_that_are_there() -> None:
    votes, other = VoteTable(), VoteTable()
    for user in (5, 6):
        votes.put("bots/1", user, 1, 1)
        other.put("bots/1", user + 2, 2, 2)
    votes.load((("bots/1", leaf) for leaf in leaves_in(other, "bots/1")), [4])
    assert votes.total("bots/1") == 6
    assert list(votes.votes("bots/1")) == [(5, 1, 1), (6, 1, 1), (7, 2, 2), (8, 2, 2)]
    assert (len(votes), votes.voters("bots/1")) == (4, 4)


@pytest.mark.parametrize("leaf", [4, LEAF])
@examples(50)
@given(users=st.sets(st.integers(0, MAX_USER), max_size=30))
def test_what_was_loaded_takes_votes_like_any_other(leaf: int, users: set[int]) -> None:
    with leaves_of(leaf):
        votes, model = VoteTable(), Model()
        for number, user in enumerate(users):
            change(votes, model, "put", "bots/1", user, Vote(1, 1))
            if number % 5 == 0:
                change(votes, model, "reload", "bots/1", user, Vote(1, 1))
                assert_leaves_are_sound(votes)
        assert_equals(votes, model)


def test_leaves_are_little_endian_on_a_big_endian_machine_too(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = VoteTable()
    votes.put("bots/1", 0x0102030405060708, 1, 1)
    assert votes.next_leaf("bots/1", -1) == bytes([8, 7, 6, 5, 4, 3, 2, 1, 1, 0, 0x40, 0, 0, 0, 0, 0])
    # With the other byte order, every number is turned round when it is written and when it is read.
    monkeypatch.setattr(vote_table, "_LITTLE", not vote_table._LITTLE)
    turned = votes.next_leaf("bots/1", -1)
    assert turned == bytes([1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0x40, 0, 1])
    other = VoteTable()
    other.load([("bots/1", turned)], [1])
    assert list(other.votes("bots/1")) == list(votes.votes("bots/1"))


@pytest.mark.parametrize(("last_ms", "kept"), [(-1, 0), (0, 0), (MAX_MS, MAX_MS), (MAX_MS + 1, MAX_MS)])
def test_a_time_that_does_not_fit_stays_at_the_end_of_its_field(last_ms: int, kept: int) -> None:
    table = VoteTable()
    table.put("bots/1", 1, 1, last_ms)
    table.put("bots/1", 2, 7, 5)
    assert (table.get("bots/1", 1), table.get("bots/1", 2)) == ((1, kept), (7, 5))
