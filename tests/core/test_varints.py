"""core/varints.py: what is put is read."""

from hypothesis import given
from hypothesis import strategies as st

from core.varints import change_of, numbers_in, put_change, put_number
from tests.support.examples import examples


@examples(100)
@given(st.lists(st.integers(0, 1 << 70)))
def test_numbers_are_read_as_they_were_put(numbers: list[int]) -> None:
    body = bytearray()
    for number in numbers:
        put_number(body, number)
    assert list(numbers_in(body)) == numbers


@examples(100)
@given(st.lists(st.integers(-(1 << 40), 1 << 40)))
def test_changes_are_read_as_they_were_put(changes: list[int]) -> None:
    body = bytearray()
    for change in changes:
        put_change(body, change)
    assert list(map(change_of, numbers_in(body))) == changes


def test_small_numbers_take_a_byte() -> None:
    body = bytearray()
    put_number(body, 127)
    put_change(body, -64)
    assert bytes(body) == bytes([127, 127])
