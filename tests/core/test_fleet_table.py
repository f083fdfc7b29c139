"""core/fleet_table.py: of two values for one thing, the greater one stays."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fleet_table import (
    REMOVED_VOTES_KEPT,
    REMOVED_VOTES_KEPT_IN_ALL,
    FleetTable,
    label_of,
    name_and_epoch,
)
from tests.support.examples import examples

changes = st.one_of(
    st.tuples(st.just("heard"), st.sampled_from(["a.1", "b.1"]), st.integers(0, 5)),
    st.tuples(st.just("removed_at"), st.sampled_from(["bots/1", "bots/2"]), st.integers(0, 5)),
    st.tuples(st.just("erased_at"), st.sampled_from(["m1", "m2"]), st.integers(0, 5)),
)


@examples(100)
@given(st.lists(changes, max_size=15), st.randoms(use_true_random=False))
def test_the_table_does_not_depend_on_the_order(
    history: list[tuple[str, str, object]], chance: random.Random
) -> None:
    again = [*history, *history]
    chance.shuffle(again)
    one, other = FleetTable(), FleetTable()
    for fleet, steps in ((one, history), (other, again)):
        for what, name, value in steps:
            getattr(fleet, what)(name, value)
    assert other.row == one.row


def test_the_greater_value_stands() -> None:
    fleet = FleetTable()
    for position in (8, 9, 7):
        fleet.heard("b.1", position)
    for ms in (5, 7, 6):
        fleet.removed_at("bots/1", ms)
        fleet.erased_at("mark", ms + 1)
    assert fleet.cursors == {"b.1": 9}
    assert (fleet.removed, fleet.erased) == ({"bots/1": 7}, {"mark": 8})
    assert fleet.latest_ms == 8
    fleet.stamped(7)
    assert fleet.latest_ms == 8


def test_nodes_are_numbered_in_the_order_in_which_they_are_heard_of() -> None:
    fleet = FleetTable()
    fleet.named("a.1")
    assert [fleet.number(label) for label in ("b.1", "c.1", "b.1", "a.1", "")] == [1, 2, 1, 0, 0]
    fleet.named("a.2")
    assert (fleet.own, fleet.number(""), fleet.label) == (3, 3, "a.2")
    assert list(fleet.numbers) == ["a.1", "b.1", "c.1", "a.2"]


def test_a_node_without_a_name_counts_under_the_number_that_its_first_name_gets() -> None:
    fleet = FleetTable()
    assert fleet.number("") == 0
    fleet.named("a.1")
    assert fleet.number("a.1") == 0


def test_a_row_is_taken_up_as_it_was_given() -> None:
    fleet, other = FleetTable(), FleetTable()
    fleet.number("b.1")
    fleet.named("a.2")
    fleet.heard("b.1", 7)
    fleet.removed_at("bots/1", 5)
    fleet.erased_at("mark", 6)
    other.load(fleet.row)
    assert other.row == fleet.row
    assert (other.own, other.number("b.1"), other.number("c.1")) == (1, 0, 2)


def test_a_row_does_not_change_with_the_fleet() -> None:
    fleet = FleetTable()
    row = fleet.row
    fleet.named("a.1")
    fleet.heard("b.1", 7)
    fleet.removed_at("bots/1", 5)
    fleet.erased_at("mark", 6)
    assert (row.labels, row.cursors, row.removed, row.erased, row.latest_ms) == ((), {}, {}, {}, 0)


def test_a_node_that_gets_its_name_is_no_copy_any_more() -> None:
    fleet = FleetTable()
    fleet.is_copy = True
    fleet.number("b.1")
    assert fleet.row.is_copy
    fleet.named("a.2")
    assert not fleet.row.is_copy


@pytest.mark.parametrize(("name", "epoch"), [("edge", 1), ("edge-2", 17)])
def test_a_label_is_of_a_name_and_an_epoch(name: str, epoch: int) -> None:
    assert name_and_epoch(label_of(name, epoch)) == (name, epoch)
    assert label_of(name, epoch) != label_of(name, epoch + 1)


@examples(100)
@given(
    st.lists(
        st.tuples(st.sampled_from(["themes/1", "themes/2"]), st.sampled_from("12345"), st.integers(1, 20)),
        max_size=20,
        unique_by=lambda each: each[2],
    ),
    st.randoms(use_true_random=False),
)
def test_the_newest_removed_votes_are_kept_of_each_listing_and_of_all(
    removed: list[tuple[str, str, int]], chance: random.Random
) -> None:
    newest = {(ref, user): ms for ms, ref, user in sorted((ms, ref, user) for ref, user, ms in removed)}
    again = [*removed, *removed]
    chance.shuffle(again)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.fleet_table.REMOVED_VOTES_KEPT", 3)
        patch.setattr("core.fleet_table.REMOVED_VOTES_KEPT_IN_ALL", 4)
        fleet = FleetTable()
        for ref, user, ms in again:
            fleet.votes_removed_at(ref, [user], ms)
    of_each = [
        sorted(((ms, ref, user) for (ref, user), ms in newest.items() if ref == one), reverse=True)[:3]
        for one in ("themes/1", "themes/2")
    ]
    kept = sorted(of_each[0] + of_each[1], reverse=True)[:4]
    known = {(ms, ref, user) for ref, users in fleet.removed_votes.items() for user, ms in users.items()}
    assert known == {*kept}


def test_the_limits_of_removed_votes() -> None:
    assert (REMOVED_VOTES_KEPT, REMOVED_VOTES_KEPT_IN_ALL) == (10_000, 200_000)
    fleet = FleetTable()
    for number in range(30):
        users = [str(user) for user in range(10_000)]
        fleet.votes_removed_at(f"themes/{number}", users, number + 1)
    assert sum(map(len, fleet.removed_votes.values())) == 200_000
    assert "themes/29" in fleet.removed_votes
    assert "themes/9" not in fleet.removed_votes
