"""LongList in search/list_orders.py: it has the items of a plain list, and the collector leaves it alone."""

import gc

from hypothesis import given
from hypothesis import strategies as st

from search.list_orders import TUPLE, LongList
from tests.support.examples import examples


@examples(100)
@given(st.lists(st.integers(0, 3 * TUPLE), max_size=5))
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
    long = LongList(f"bots/{number}" for number in range(3 * TUPLE + 7))
    assert sum(1 for _ in long.freed()) == 3
    assert len(long) == 0


def test_the_collector_looks_at_its_items_once() -> None:
    long = LongList(f"bots/{number}" for number in range(3 * TUPLE))
    gc.collect()
    assert not any(map(gc.is_tracked, long._runs))
