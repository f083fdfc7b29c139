"""grammars/patterns.py: one spelling per id."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.patterns import MAX_SNOWFLAKE, is_snowflake
from tests.support.examples import examples


@examples(200)
@given(st.integers(10**16, MAX_SNOWFLAKE))
def test_every_64_bit_number_of_17_to_20_digits_is_a_snowflake(number: int) -> None:
    assert is_snowflake(str(number))


@examples(200)
@given(st.integers(0, 10**16 - 1) | st.integers(MAX_SNOWFLAKE + 1, 10**25))
def test_no_other_number_is_a_snowflake(number: int) -> None:
    assert not is_snowflake(str(number))


@examples(500)
@given(st.text(st.sampled_from("0123456789+-_ .e\n١１²"), min_size=15, max_size=22))
def test_only_ascii_digits_without_a_leading_zero_spell_one(text: str) -> None:
    assert is_snowflake(text) == bool(re.fullmatch(r"[1-9][0-9]{16,19}", text) and int(text) < 2**64)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1234567890123456",
        "123456789012345678901",
        "012345678901234567",
        "+12345678901234567",
        "-12345678901234567",
        " 12345678901234567",
        "12345678901234567\n",
        "1234567890_1234567",
        "12345678901234567.0",
        "0x1234567890123456",
        "１２３４５６７８９０１２３４５６７８",
        "٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣",
        "1234567890123456²",
        "18446744073709551616",
    ],
)
def test_what_looks_like_an_id_but_is_none(text: str) -> None:
    assert not is_snowflake(text)


@pytest.mark.parametrize("length", [17, 18, 19])
def test_the_smallest_and_the_largest_of_each_length(length: int) -> None:
    assert is_snowflake("1" + "0" * (length - 1))
    assert is_snowflake("9" * length)


def test_the_largest_of_all() -> None:
    assert is_snowflake("18446744073709551615")
