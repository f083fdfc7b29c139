"""search/search_table.py: it finds what a plain scan finds, the best first, and what was meant."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinds.registry import BY_PLURAL
from languages.texts import Text
from search.kind_table import CANDIDATES, COUNTED, Findable
from search.search_query import in_language, kind_names, of_category, with_tag, written
from search.search_table import SearchTable, in_english_alone
from search.search_words import (
    FEW,
    SHORTEST_BEGINNING,
    Term,
    compact,
    forms,
    indexed_name,
    separated,
    terms,
)
from tests.support.examples import examples

KINDS: Sequence[str] = ("bots", "servers")
NAMES = {kind: kind_names(BY_PLURAL[kind], in_english_alone) for kind in KINDS}
SETTLED = 6
"""The changes before the table is settled."""
WORDS = (
    *("bot", "Bots", "music", "MusicBot", "Pokémon", "pokemon", "I", "ışık", "AND", "NEAR", "not", '"', "*"),
    *(
        "музыка",
        "Музыкант",
        "اغنية",
        "אמא",
        "音楽",
        "音楽再生",
        "音",
        "再生する",
        "🎵",
        "a",
        "b2",
        "(",
        "col:",
        "nul\0nul",
        "^",
    ),
)
texts = st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join)
refs = st.sampled_from([f"{kind}/{number}" for kind in KINDS for number in range(4)])
categories = st.lists(st.sampled_from(["Music", "Other"]), max_size=2, unique=True).map(tuple)
entries = st.builds(Findable, refs, texts, texts, texts, categories)
changes = st.lists(st.one_of(entries, refs), max_size=12)
odd_texts = st.one_of(
    texts, st.text(st.characters(), max_size=20), st.text("\"'*():^+-{}[]AND \0", max_size=12)
)


def apply(change: Findable | str, table: SearchTable, model: dict[str, Findable]) -> None:
    if isinstance(change, Findable):
        table.put([change])
        model[change.ref] = change
    else:
        table.put([], [change])
        model.pop(change, None)


def place(entry: Findable, text: str, kind: str) -> int | None:
    """Return where a plain scan sees the text: 0 is the whole name; None is nowhere."""
    wanted, name = terms(text, NAMES[kind].own), compact(entry.name)
    if not wanted:
        return None
    whole = {compact(text), "".join(map(written, wanted))}
    if name in whole:
        return 0
    if any(name.startswith(each) for each in whole):
        return 1
    return next((at for at, matches in enumerate(scans(entry, wanted, kind), start=2) if matches), None)


def scans(entry: Findable, wanted: Sequence[Term], kind: str) -> Iterator[bool]:
    """Yield what a scan of each place finds, the best place first: all words, then any of them."""
    name = {*indexed_name(entry.name).split()}
    near = name | {*separated(entry.near)}
    places = [near], [near, {*separated(entry.rest)}]
    shortest = SHORTEST_BEGINNING if len(wanted) <= FEW else 1_000

    def found(term: Term, words: Sequence[set[str]], shortest: int) -> bool:
        named = NAMES[kind].categories.get(written(term), ())
        return any(is_in(term, each, shortest) for each in words) or not {*named}.isdisjoint(entry.categories)

    yield all(is_in(term, name, 1) for term in wanted)
    for words in places:
        yield all(found(term, words, 1_000) for term in wanted)
        yield all(found(term, words, shortest) for term in wanted)
    for size in range(len(wanted) - 1, 0, -1):
        for words in places:
            yield sum(found(term, words, shortest) for term in wanted) >= size


def is_in(term: Term, words: set[str], shortest: int) -> bool:
    first = term.words[0]
    if term.begins and (len(first) >= shortest or not first.isascii()):
        return any(word.startswith(first) for word in words)
    if len(term.words) > 1:
        return {*term.words} <= words
    return not words.isdisjoint(forms(first))


@examples(200)
@given(changes, odd_texts, st.sampled_from(KINDS))
def test_it_finds_what_a_plain_scan_finds(history: Sequence[Findable | str], text: str, kind: str) -> None:
    table, model = SearchTable(), dict[str, Findable]()
    for number, change in enumerate(history):
        if number == SETTLED:
            table.settle()
        apply(change, table, model)
    matches = table.find(text, kind, 100)
    sorts = [refs for refs in matches.sorts if refs]
    found = [ref for refs in sorts for ref in refs]
    places = {ref: place(entry, text, kind) for ref, entry in model.items() if ref.startswith(kind)}
    assert set(found) == {ref for ref, where in places.items() if where is not None}
    in_sorts = [{places[ref] for ref in refs} for refs in sorts]
    assert all(len(each) == 1 for each in in_sorts)
    assert in_sorts == sorted(in_sorts, key=str)
    assert len(found) == len(set(found)) == matches.total
    assert table.count == len(model)
    table.close()


def table_of(*entries: Findable) -> SearchTable:
    table = SearchTable()
    table.put(entries)
    table.settle()
    return table


def bot(number: int, name: str, near: str = "", rest: str = "", *more: tuple[str, ...]) -> Findable:
    return Findable(f"bots/{number}", name, near, rest, *more)


def found_in(table: SearchTable, text: str, *within: str) -> list[str]:
    """Return the numbers of the bots that are found, the best first."""
    matches = table.find(text, "bots", 48, within)
    return [ref.removeprefix("bots/") for refs in matches.sorts for ref in sorted(refs)]


def test_the_name_comes_before_tags_and_the_short_text_and_these_before_the_rest() -> None:
    table = table_of(
        bot(1, "Box", rest="a chess clock"), bot(2, "Knight", "Plays chess"), bot(3, "A Chess Club"),
        bot(4, "Chess"),
    )  # fmt: skip
    assert found_in(table, "chess") == ["4", "3", "2", "1"]


def test_all_words_come_before_any_word() -> None:
    table = table_of(
        bot(1, "Radio"), bot(2, "Jazz", rest="radio for the night"), bot(3, "Jazz radio"),
        bot(4, "Night", rest="jazz on the radio"), bot(5, "Weather"),
    )  # fmt: skip
    assert found_in(table, "jazz radio night") == ["2", "4", "3", "1"]


def test_a_word_that_names_the_kind_shuts_nothing_out() -> None:
    table = table_of(bot(1, "Groove", "Plays music"), bot(2, "Music Bot"), bot(3, "Bot"))
    assert found_in(table, "music bot") == ["2", "1"]
    assert found_in(table, "bot")[0] == "3", "it counts where it is the only one"
    assert found_in(table, "a bot for music")[:2] == ["2", "1"]


def test_a_category_is_found_by_its_name_in_any_language() -> None:
    def translated(text: Text) -> list[str]:
        return [text.english, {"Music": "Musik", "Bot": "ボット"}.get(text.english, text.english)]

    table = SearchTable(translated)
    table.put([bot(1, "Groove", "", "", ("Music",)), bot(2, "Chess", "", "", ("Fun & Games",))])
    assert found_in(table, "music") == found_in(table, "musik") == found_in(table, "musikボット") == ["1"]
    assert found_in(table, "games") == found_in(table, "game") == ["2"]


@pytest.mark.parametrize("typed", ["musik", "muzic", "musicc", "msuic", "musi", "musicbot"])
def test_a_word_that_no_listing_has_is_read_as_one_near_to_it(typed: str) -> None:
    table = table_of(bot(1, "Groove", "Plays music"), bot(2, "Mosaic tiles"))
    assert found_in(table, typed) == ["1"]


def test_the_text_with_the_words_that_were_meant_is_told() -> None:
    table = table_of(bot(1, "Guard", "Moderation for everybody"))
    assert table.find("moderaton bot", "bots", 9).read_as == "moderation"
    assert table.find("moderation", "bots", 9).read_as is None
    assert table.find("economi", "bots", 9).read_as is None, "no listing is of that category"
    assert table.find("economi moderation", "bots", 9).read_as is None, "nor if another word is found"


def test_a_word_of_two_edits_is_meant_only_where_no_word_is_nearer() -> None:
    table = table_of(bot(1, "Groove", "Plays concerts"), bot(2, "Reader", "Finds contextz"))
    assert found_in(table, "concertz") == ["1"], "the other word is two edits away"
    assert found_in(table, "contertz") == ["2"]
    assert found_in(table, "cancertz") == ["1"], "the other word is three edits away"


def test_near_misses_follow_what_has_the_word() -> None:
    table = table_of(bot(1, "Music"), bot(2, "Musik"), bot(3, "Tunes", "All your music"))
    assert found_in(table, "musik") == ["2", "1", "3"]


def test_a_search_finds_nothing_outside_of_its_conditions() -> None:
    table = table_of(
        bot(1, "Jazz", "", "", ("Music",), ("late night",), ("en",)),
        bot(2, "Jazz", "", "", ("Other",), ("late-night",), ("de",)),
    )
    assert found_in(table, "jazz", of_category("Music")) == ["1"]
    assert found_in(table, "jazz", with_tag("Late Night")) == ["1", "2"]
    assert found_in(table, "jazz", with_tag("Late Night"), in_language("de")) == ["2"]
    assert found_in(table, "jaz", in_language("fr")) == []


def test_all_matches_are_counted_up_to_a_bound() -> None:
    table = table_of(*(bot(number, f"Jazz {number}") for number in range(COUNTED + 5)))
    assert table.find("jazz", "bots", 10).total == COUNTED


def test_what_is_gone_is_found_no_more_by_a_word_of_very_many_listings() -> None:
    numbers = [str(number) for number in range(1_000, 1_000 + CANDIDATES + 3)]
    table = table_of(*(bot(int(number), "Common") for number in numbers))
    assert found_in(table, "common") == numbers[:CANDIDATES]
    table.put([bot(9_000, "Common")])
    assert found_in(table, "common") == numbers[:CANDIDATES]
    table.put([bot(1_001, "Another")], ["bots/1000"])
    assert found_in(table, "common") == [*numbers[2:], "9000"][:CANDIDATES]
    assert table.find("common", "bots", 48).total == CANDIDATES + 2


def test_listings_are_alike_by_tags_before_words_before_categories() -> None:
    table = table_of(
        bot(1, "Groove", "Plays songs", "", ("Music",), ("dj",)), bot(2, "A", "", "", ("Music",), ("dj",)),
        bot(3, "B", "Finds songs", "", ("Other",)), bot(4, "C", "", "", ("Music",)), bot(5, "D", "the bot"),
    )  # fmt: skip
    shared = table.similar(bot(1, "Groove", "Plays songs for the bot", "", ("Music",), ("dj",)), "bots")
    assert sorted(shared, key=shared.__getitem__, reverse=True) == ["bots/2", "bots/3", "bots/4"]


def test_names_are_suggested_by_their_beginning_or_that_of_a_word() -> None:
    table = table_of(bot(1, "Music Box"), bot(2, "The Music"), bot(3, "Tunes", "Music for all"))
    assert [[*refs] for refs in table.names("mus", "bots", 9)] == [["bots/1"], ["bots/2"]]
    assert table.names("", "bots", 9) == []
