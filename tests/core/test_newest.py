"""core/newest.py: a table keeps the entries that were set last."""

from hypothesis import given
from hypothesis import strategies as st

from core.newest import Newest
from tests.support.examples import examples


@examples(100)
@given(st.lists(st.integers(0, 9)), st.integers(1, 5))
def test_a_table_has_the_entries_that_were_set_last_in_their_order(keys: list[int], most: int) -> None:
    table: Newest[int, int] = Newest(most)
    for at, key in enumerate(keys):
        table[key] = at
        assert table.get(key) == at
    newest_first = dict.fromkeys(reversed(keys))
    assert [*reversed(table)] == [*newest_first][:most]
