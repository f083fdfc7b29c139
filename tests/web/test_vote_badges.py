"""web/vote_badges.py: a picture that every reader of XML reads, for every name."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.examples import examples
from web.vote_badges import MOST_CHARACTERS, shortened, vote_badge

SVG = "{http://www.w3.org/2000/svg}"
NAMES = {
    "plain": "Jukebox",
    "markup": "<b>&\"'</b><script>",
    "right to left": "بوت الموسيقى",
    "emoji": "🎵👩‍👩‍👧‍👦 Band",
    "wide": "音楽ボット",
    "long": "W" * 100,
    "no character of XML": "a\ufffe\uffffb",
}


def texts(picture: bytes) -> list[str]:
    """The title, and what is written."""
    root = ElementTree.fromstring(picture)
    return [each.text or "" for each in root.iter() if each.tag in {f"{SVG}title", f"{SVG}text"}]


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_the_picture_says_the_name_and_the_votes(name: str) -> None:
    plain = name.replace("\ufffe", "").replace("\uffff", "")
    picture = vote_badge(name, 1_234, "#3b5bdb")
    assert texts(picture) == [f"{plain}: 1,234 votes", shortened(plain), "1,234 votes"]
    root = ElementTree.fromstring(picture)
    assert (root.get("role"), root.get("aria-label")) == ("img", f"{plain}: 1,234 votes")
    assert b"<script" not in picture


def test_one_vote_is_one_vote() -> None:
    assert texts(vote_badge("Jukebox", 1, "#3b5bdb"))[0] == "Jukebox: 1 vote"


@examples(200)
@given(st.text(min_size=1, max_size=100), st.integers(0, 2**64))
def test_any_name_leads_to_well_formed_xml(name: str, votes: int) -> None:
    root = ElementTree.fromstring(vote_badge(name, votes, "#3b5bdb"))
    assert int(root.get("width", "0")) <= 600


def test_a_name_from_right_to_left_is_written_so() -> None:
    assert vote_badge("بوت", 1, "#3b5bdb").count(b'direction="rtl"') == 1
    assert b"direction" not in vote_badge("123 Bot بوت", 1, "#3b5bdb")


def test_a_long_name_is_cut_between_characters_as_people_see_them() -> None:
    assert shortened("x" * MOST_CHARACTERS) == "x" * MOST_CHARACTERS
    assert shortened("x" * 40) == "x" * (MOST_CHARACTERS - 1) + "…"
    family = "👩‍👩‍👧‍👦"
    cut = shortened("x" * (MOST_CHARACTERS - 3) + family * 2)
    assert cut == "x" * (MOST_CHARACTERS - 3) + "…"
    assert shortened("x" * (MOST_CHARACTERS - 2) + "e\u0301" * 9) == "x" * (MOST_CHARACTERS - 2) + "…"
