"""A text that is sent as a header: visible ASCII on one line."""

import re

import pytest

from grammars.patterns import HEADER_VALUE, is_header_value


@pytest.mark.parametrize("text", ["!", "~", "a b", "Bearer ~!"])
def test_visible_ascii_is_a_header_value(text: str) -> None:
    assert is_header_value(text)
    assert re.search(HEADER_VALUE, text)


@pytest.mark.parametrize("text", ["", " ", " a", "a ", "a\tb", "a\nb", "a\n", "\u00e9", "a\x7f", "\0"])
def test_anything_else_is_none(text: str) -> None:
    assert not is_header_value(text)
