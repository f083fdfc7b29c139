"""search/search_words.py: the words of a text, for the index and for a query."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search import search_words
from search.search_words import (
    TERMS,
    Term,
    beginning,
    compact,
    folded,
    indexed,
    indexed_name,
    near_words,
    terms,
)
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, World!", "hello world"),
        ("Pokémon Straße", "pokemon strasse"),
        ("IŞIK ışık İstanbul", "isik isik istanbul"),
        ("Ёжик МУЗЫКА", "ежик музыка"),
        ("العَرَبِيَّة أغنية", "العربية اغنية"),
        ("𝓜𝓾𝓼𝓲𝓬 Ｂｏｔ", "music bot"),
        ("ﾐｭｰｼﾞｯｸ", "ミュージック"),
        ("a🎵b", "a 🎵 b"),
        ("snake_case\0nul\ud800lone", "snake case nul lone"),
        ("\u202eabc\u202c", "abc"),
        ("नमस्ते", "नमस्ते"),
        ("... ''\"\" -- ()*", ""),
    ],
)
def test_case_accents_and_width_do_not_matter(text: str, words: str) -> None:
    assert folded(text) == words


def test_a_name_is_the_same_with_its_words_together() -> None:
    assert compact("Music Bot") == compact("musicbot") == "musicbot"
    assert indexed_name("MusicBot") == "musicbot music bot"
    assert indexed_name("music") == "music"


def test_neighbours_are_words_where_a_script_has_no_spaces() -> None:
    assert indexed("日本語 bot").split() == ["日本", "本語", "語", "bot"]
    assert indexed("a音b").split() == ["a", "音", "b"]


def test_the_last_word_of_a_query_may_go_on() -> None:
    assert terms("Play mus") == [Term(("play",), False), Term(("mus",), True)]
    assert terms("音楽再生") == [Term(("音楽", "楽再", "再生"), False)]
    assert terms("音") == [Term(("音",), True)]
    assert terms("play音楽") == [Term(("play",), False), Term(("音楽",), False)]


def test_only_so_many_words_of_a_query_count() -> None:
    assert len(terms("a b " * 5_000)) == TERMS
    assert len(terms("a" * 10_240)[0].words[0]) == 256


def test_a_sign_of_a_script_without_spaces_counts_as_four_characters_of_a_description() -> None:
    assert beginning("a" * 200, 128) == "a" * 128
    assert beginning("音" * 200, 128) == "音" * 32
    assert beginning("é" * 200, 128) == "é" * 128


def test_a_search_for_every_character_takes_little_memory() -> None:
    for first in range(0, 0x110000, 256):
        folded("".join(map(chr, range(first, first + 256))))
    assert len(search_words._characters) <= search_words.MOST_LOOKED_UP


def is_near(one: str, other: str, *, edits: int) -> bool:
    """The model: try each edit."""
    if one == other:
        return True
    if not edits:
        return bool(one and other) and one[0] == other[0] and is_near(one[1:], other[1:], edits=edits)
    tried = [(one[1:], other), (one, other[1:]), (one[1:], other[1:])]
    if len(one) > 1 and one[:2] == other[1::-1]:
        tried.append((one[2:], other[2:]))
    fewer = any(is_near(*each, edits=edits - 1) for each in tried if each != (one, other))
    return fewer or (bool(one and other) and one[0] == other[0] and is_near(one[1:], other[1:], edits=edits))


@examples(300)
@given(
    st.text("abc", min_size=1, max_size=7),
    st.sets(st.text("abc", max_size=7), max_size=30),
    st.integers(1, 2),
)
def test_near_words_are_those_that_so_many_edits_make(word: str, others: set[str], edits: int) -> None:
    assert near_words(word, sorted(others), edits) == {
        other: fewest
        for other in others
        if (fewest := next((most for most in range(edits + 1) if is_near(word, other, edits=most)), None))
        is not None
    }
