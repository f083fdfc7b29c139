"""grammars/handles.py: which names look alike, and which are reserved."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grammars.handles import HANDLE, RESERVED_WORDS, is_reserved, skeleton
from grammars.patterns import is_snowflake
from kinds.registry import KINDS
from pages.table import PEOPLE_PAGES

NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789_.", min_size=3, max_size=32)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("bob", "b0b"),
        ("lila", "1ila"),
        ("lila", "iila"),
        ("ada_b", "ada.b"),
        ("ada", "adaa"),
        ("ada", "ada_"),
        ("a_da", "a__da"),
        ("ada", "ADA"),
    ],
)
def test_these_look_alike(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(("one", "other"), [("ada", "eda"), ("ada", "a_da"), ("ada1", "ada2")])
def test_these_do_not(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@given(NAMES)
def test_a_skeleton_looks_like_itself(name: str) -> None:
    assert skeleton(skeleton(name)) == skeleton(name)


@pytest.mark.parametrize(
    "name", ["new", "NEW", "adm1n", "0wner", "moderator_", "ada.json", "suggestions.json"]
)
def test_a_reserved_name_or_one_that_looks_like_it_is_reserved(name: str) -> None:
    assert is_reserved(name)


def test_no_id_of_the_chat_platform_is_a_name() -> None:
    assert is_snowflake("223456789012345678")
    assert is_reserved("223456789012345678")
    assert not is_reserved("1234")


@given(st.text("abcxyz019_.-A", max_size=40))
def test_a_name_has_3_to_32_of_these_characters(name: str) -> None:
    is_right = 3 <= len(name) <= 32 and "-" not in name and name.strip("_.") != ""
    assert (re.fullmatch(HANDLE, name) is not None) == is_right


def test_every_word_of_an_address_beside_a_name_is_reserved() -> None:
    """So no name hides a page, whatever pages there are."""
    slugged = {kind.plural for kind in KINDS if kind.slug is not None}
    parts = [row.path.split("/")[1:] for row in PEOPLE_PAGES]
    beside = {some[1].partition(".")[0] for some in parts if len(some) > 1 and some[0] in slugged}
    first = {some[0].partition(".")[0] for some in parts}
    kinds = {kind.plural for kind in KINDS}
    words = {word for word in (first | beside) - kinds if word and not word.startswith("{")}
    assert words <= {*RESERVED_WORDS}
