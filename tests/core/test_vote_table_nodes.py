"""core/vote_table.py with counts of several nodes: puts commute, and a second one changes nothing."""

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.vote_table import LEAF, MAX_COUNT, MAX_MS, SEVERAL, VoteTable
from core.vote_table import leaves_of as leaves_in
from tests.support.examples import examples
from tests.support.generated_events import histories
from tests.support.vote_table_model import (
    MANY_NODES,
    MAX_USER,
    Model,
    Vote,
    assert_equals,
    assert_leaves_are_sound,
    change,
    few_users,
    join,
    leaves_of,
    read,
    reload,
    votes,
)

REF = "bots/1"
USER = 5
Puts = list[tuple[int, Vote]]

puts = histories(st.tuples(few_users, votes), 60)
small_leaves = pytest.mark.parametrize("leaf", [2, 8])


def a_table(puts: Puts) -> VoteTable:
    table = VoteTable()
    for user, vote in puts:
        table.put(REF, user, *vote)
    return table


def several(table: VoteTable) -> dict[int, dict[int, int]]:
    return {user: dict(counts) for user, counts in table.several.get(REF, {}).items()}


def merge(table: VoteTable, other: VoteTable, nodes: list[int]) -> None:
    """Return the votes of the other table for the listing, with our numbers of nodes."""
    for leaf in leaves_in(other, REF):
        content, users = other.by_node(REF, leaf)
        table.merge(REF, content, nodes)
        for user in users:
            _, last_ms = other.get(REF, user) or (0, 0)
            for node, count in other.parts(REF, user).items():
                table.put(REF, user, count, last_ms, nodes[node])


@small_leaves
@examples(100)
@given(puts=puts, chance=st.randoms(use_true_random=False))
def test_votes_may_be_put_in_any_order_and_again(leaf: int, puts: Puts, chance: random.Random) -> None:
    with leaves_of(leaf):
        table, again = a_table(puts), [*puts, *chance.sample(puts, len(puts) // 2)]
        chance.shuffle(again)
        other = a_table(again)
        assert_leaves_are_sound(other)
    assert read(other, REF) == read(table, REF)
    assert several(other) == several(table)
    bits, others_bits = (b"".join(packed(leaf) for leaf in leaves_in(each, REF)) for each in (table, other))
    assert others_bits == bits


def packed(leaf: bytes) -> bytes:
    return leaf[len(leaf) // 2 :]


@st.composite
def numberings(draw: st.DrawFn) -> list[int]:
    """Return our numbers of another table's nodes: a few, or more than the leaves have numbers for."""
    size = draw(st.sampled_from([3, MANY_NODES]))
    return draw(st.permutations(range(size)))


@small_leaves
@examples(150)
@given(here=puts, there=puts, nodes=numberings(), apart=st.booleans())
def test_merging_a_table_is_putting_its_votes_one_by_one(
    leaf: int, here: Puts, there: Puts, nodes: list[int], apart: bool
) -> None:
    """The numbers of the other table do not matter, nor does it if all its users come behind ours."""
    there = [(user, vote._replace(node=vote.node % len(nodes))) for user, vote in there]
    if apart:
        here = [(user % 100, vote) for user, vote in here]
        there = [(user | 1 << 63, vote) for user, vote in there]
    model = Model()
    for user, vote in here:
        join(model, REF, user, vote)
    for user, vote in there:
        join(model, REF, user, vote._replace(node=nodes[vote.node]))
    with leaves_of(leaf):
        table, other = a_table(here), a_table(there)
        for _ in range(2):
            merge(table, other, nodes)
            assert_leaves_are_sound(table)
            assert_equals(table, model)


@examples(50)
@given(puts)
def test_a_table_taken_up_from_its_leaves_and_the_counts_of_several_is_the_same(puts: Puts) -> None:
    table, model = VoteTable(), Model()
    for user, vote in puts:
        change(table, model, "put", REF, user, vote)
    bits = b"".join(leaves_in(table, REF))
    reload(table, REF)
    assert_equals(table, model)
    assert b"".join(leaves_in(table, REF)) == bits


def test_counts_of_nodes_add_up_and_the_latest_vote_is_the_last() -> None:
    table = a_table([(USER, Vote(3, 70, 0)), (USER, Vote(2, 90, 1)), (USER, Vote(1, 80, 1))])
    assert table.get(REF, USER) == (5, 90)
    assert table.parts(REF, USER) == {0: 3, 1: 2}
    assert (len(table), table.voters(REF)) == (1, 1)


def test_a_smaller_count_and_an_earlier_time_change_nothing() -> None:
    table = a_table([(USER, Vote(3, 70)), (USER, Vote(2, 60))])
    assert table.get(REF, USER) == (3, 70)
    assert not table.several


def test_only_voters_of_several_nodes_are_kept_apart() -> None:
    table = a_table([(1, Vote(1, 1, SEVERAL - 1)), (2, Vote(1, 1, 1)), (2, Vote(1, 1, 0))])
    assert several(table) == {2: {0: 1, 1: 1}}


@pytest.mark.parametrize("node", [SEVERAL, SEVERAL + 1, MANY_NODES])
def test_a_node_without_a_number_of_its_own_in_the_leaf_counts_like_any_other(node: int) -> None:
    table = a_table([(USER, Vote(3, 70, node))])
    assert (table.get(REF, USER), table.parts(REF, USER)) == ((3, 70), {node: 3})
    table.put(REF, USER, 2, 60, node)
    table.put(REF, USER, 4, 60, 0)
    assert (table.get(REF, USER), table.parts(REF, USER)) == ((7, 70), {node: 3, 0: 4})


def test_a_sum_stays_at_the_largest_count_and_the_counts_of_nodes_are_kept() -> None:
    table = a_table([(USER, Vote(MAX_COUNT, 1, 0)), (USER, Vote(MAX_COUNT, 1, 1))])
    assert table.get(REF, USER) == (MAX_COUNT, 1)
    assert table.parts(REF, USER) == {0: MAX_COUNT, 1: MAX_COUNT}


def test_a_user_who_is_forgotten_leaves_no_count_at_any_node() -> None:
    table = a_table([(USER, Vote(3, 70, 0)), (USER, Vote(2, 90, 1)), (6, Vote(1, 1, 0)), (6, Vote(1, 1, 2))])
    table.remove(REF, USER)
    assert (table.get(REF, USER), table.parts(REF, USER)) == (None, {})
    assert several(table) == {6: {0: 1, 2: 1}}
    table.put(REF, USER, 1, 1, 1)
    assert (table.get(REF, USER), table.parts(REF, USER)) == ((1, 1), {1: 1})
    table.remove_listing(REF)
    assert (several(table), table.parts(REF, 6)) == ({}, {})


def test_a_vote_is_packed_with_its_node() -> None:
    table = a_table([(1, Vote(7, 9, 5)), (2, Vote(1, MAX_MS, 0)), (2, Vote(2, 0, 1))])
    (leaf,) = leaves_in(table, REF)
    assert struct.unpack("<4Q", leaf) == (1, 2, 9 << 22 | 5 << 16 | 7, MAX_MS << 22 | 63 << 16 | 3)


def test_a_leaf_by_node_is_without_the_voters_of_several_and_names_them() -> None:
    table = a_table([(1, Vote(1, 1, 2)), (2, Vote(1, 1, 0)), (2, Vote(1, 1, 1)), (3, Vote(1, 1, 0))])
    (leaf,) = leaves_in(table, REF)
    content, users = table.by_node(REF, leaf)
    assert (list(VoteTable.users(content)), users) == ([1, 3], [2])
    assert list(VoteTable.users(leaf)) == [1, 2, 3]
    one = a_table([(1, Vote(1, 1, 2))])
    (leaf,) = leaves_in(one, REF)
    assert one.by_node(REF, leaf) == (leaf, [])


@examples(100)
@given(puts)
def test_without_their_nodes_votes_are_as_if_cast_at_one(puts: Puts) -> None:
    table, one = a_table(puts), VoteTable()
    for user, count, last_ms in table.votes(REF):
        one.put(REF, user, count, last_ms)
    masked = b"".join(VoteTable.without_nodes(packed(leaf)) for leaf in leaves_in(table, REF))
    assert masked == b"".join(packed(leaf) for leaf in leaves_in(one, REF))


def test_a_merged_leaf_behind_all_others_is_taken_whole_and_goes_on_growing() -> None:
    table, other, model = VoteTable(), VoteTable(), Model()
    for user in range(LEAF):
        change(table, model, "put", REF, user, Vote(1, user, 1))
        other.put(REF, LEAF + user, 2, user, 0)
        join(model, REF, LEAF + user, Vote(2, user, 1))
    merge(table, other, [1, 0])
    change(table, model, "put", REF, MAX_USER, Vote(1, 1, 1))
    change(table, model, "put", REF, LEAF, Vote(3, 1, 0))
    assert_leaves_are_sound(table)
    assert_equals(table, model)


def test_merging_an_empty_leaf_changes_nothing() -> None:
    table = VoteTable()
    table.merge(REF, b"", [])
    assert (len(table), table.voters(REF)) == (0, 0)
