"""core/listing_table.py: a walk misses no ref."""

from hypothesis import given
from hypothesis import strategies as st

from core.listing_table import SLICE, ref_slices
from kinds.servers import SERVERS
from tests.support.examples import examples


@examples(100)
@given(st.sets(st.integers(0, 1_000), max_size=300))
def test_the_slices_together_are_all_refs(numbers: set[int]) -> None:
    refs = sorted(f"{SERVERS.prefix}{number}" for number in numbers)

    slices = list(ref_slices(refs))

    assert [ref for each in slices for ref in each] == refs
    assert all(len(each) <= SLICE for each in slices)


def test_slices_may_begin_behind_a_ref() -> None:
    assert list(ref_slices(["bots/1", "servers/1", "servers/2"], "servers/")) == [["servers/1", "servers/2"]]
    assert list(ref_slices(["bots/1", "servers/1", "servers/2"], "servers/1")) == [["servers/2"]]
