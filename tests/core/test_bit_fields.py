"""core/bit_fields.py: a reader gets the numbers that a writer has put."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.bit_fields import BitReader, BitWriter, change_of, zigzag
from tests.support.examples import examples

numbers = st.integers(0, (1 << 63) - 1)
columns = st.lists(st.integers(0, 9) | numbers, max_size=20)


@examples(150)
@given(st.lists(st.tuples(st.sampled_from(["number", "column", "rare"]), columns)))
def test_what_is_put_is_read(put: list[tuple[str, list[int]]]) -> None:
    body = BitWriter()
    for kind, column in put:
        if kind == "number":
            body.put(len(column), 5)
        elif kind == "column":
            body.put_column(column)
        else:
            body.put_rare(column)
    reader = BitReader(body.content())
    for kind, column in put:
        if kind == "number":
            assert reader.take(5) == len(column)
        else:
            assert (reader.take_column if kind == "column" else reader.take_rare)(len(column)) == column
    assert reader.take(64) == 0


@examples(100)
@given(st.integers(-(1 << 40), 1 << 40))
def test_a_change_takes_one_bit_more_than_its_size(change: int) -> None:
    assert change_of(zigzag(change)) == change
    assert 0 <= zigzag(change) <= 2 * abs(change)


@pytest.mark.parametrize(
    ("column", "size"), [([], 0), ([0] * 90, 0), ([1] * 90, 12), ([130] * 90, 91), ([16_000] * 90, 159)]
)
def test_a_column_takes_the_bits_that_its_greatest_number_needs(column: list[int], size: int) -> None:
    body = BitWriter()
    body.put_column(column)
    assert len(body.content()) == size


def test_a_rare_number_takes_what_it_needs_and_the_others_a_bit() -> None:
    body = BitWriter()
    body.put_rare([0] * 90)
    assert body.content() == b""
    body.put_rare([0] * 60 + [500] + [0] * 29)
    assert len(body.content()) == 96 // 8 + (90 + 6 + 9 + 7) // 8
