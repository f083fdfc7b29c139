"""core/fleet_table.py: the cooldowns of erased votes run on, and go when they are over."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import fleet_table
from core.fleet_table import Cooldown, CooldownTable
from tests.support.examples import examples

cooldowns = st.lists(st.tuples(st.sampled_from(["m1", "m2", "m3"]), st.integers(1, 9)), max_size=9)


@examples(50)
@given(cooldowns, st.randoms(use_true_random=False))
def test_of_two_ends_the_later_one_holds_in_whatever_order_they_come(
    history: list[Cooldown], chance: random.Random
) -> None:
    again = [*history, *history]
    chance.shuffle(again)
    one, other = CooldownTable(), CooldownTable()
    one.keep(history, 0)
    for cooldown in again:
        other.keep([cooldown], 0)
    assert dict(one.ends) == dict(other.ends)


def test_one_that_is_over_is_dropped() -> None:
    table = CooldownTable()
    ends = table.ends
    table.keep([("m1", 5), ("m2", 6)], 4)
    table.keep([("m3", 7)], 5)
    assert dict(ends) == {"m2": 6, "m3": 7}


def test_of_too_many_those_are_dropped_that_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_table, "COOLDOWNS_KEPT", 2)
    table = CooldownTable()
    table.keep([("m1", 7), ("m2", 5), ("m3", 6)], 0)
    assert dict(table.ends) == {"m1": 7, "m3": 6}
