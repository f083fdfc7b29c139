"""search/long_lists.py: what a list has, at any length, and that the collector leaves it alone."""

import gc

from hypothesis import given
from hypothesis import strategies as st

from search.long_lists import RUN, LongList
from tests.support.examples import examples


@examples(100)
@given(st.lists(st.integers(0, 3 * RUN), max_size=5))
def test_it_has_what_a_plain_list_has(lengths: list[int]) -> None:
    plain, long = list[int](), LongList[int]()
    for length in lengths:
        some = range(len(plain), len(plain) + length)
        plain.extend(some)
        long.extend(some)
        assert len(long) == len(plain)
    assert [*long] == plain
    assert [long[at] for at in range(len(long))] == plain


def test_it_is_freed_in_slices() -> None:
    long = LongList(f"bots/{number}" for number in range(3 * RUN + 7))
    assert sum(1 for _ in long.freed()) == 3
    assert len(long) == 0


def test_the_collector_looks_at_its_items_once() -> None:
    long = LongList(f"bots/{number}" for number in range(3 * RUN))
    gc.collect()
    assert not any(map(gc.is_tracked, long._runs))
