"""search/search_table.py: it finds what a plain scan finds, and the best first."""

import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from search.search_table import Findable, SearchTable
from search.search_words import FEW, SHORTEST_BEGINNING, TERMS, compact, folded
from tests.support.examples import examples

KINDS: Sequence[str] = ("bots", "servers")
SETTLED = 6
"""The changes before the table is settled."""
SIGNS = "\u3040-\u30ff\u4e00-\u9fff"
SPACELESS = re.compile(f"[{SIGNS}]")
WORD = re.compile(f"[{SIGNS}]+|[^ {SIGNS}]+")
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
entries = st.builds(Findable, refs, texts, texts)
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


def place(entry: Findable, text: str) -> int | None:
    """Return where a plain scan sees the text: 0 is the whole name, 4 is anywhere; None is nowhere."""
    name, wanted = compact(entry.name), compact(text)
    if not wanted:
        return None
    if name == wanted:
        return 0
    if name.startswith(wanted):
        return 1
    humps = f"{entry.name} {re.sub('(?<=[a-z0-9])(?=[A-Z])', ' ', entry.name)}"
    everything = f"{humps}\n{entry.rest}"
    if has_all(humps, text, shortest=1):
        return 2
    if has_all(everything, text, shortest=1_000):
        return 3
    few = len(words_of(text)) <= FEW
    return 4 if has_all(everything, text, shortest=SHORTEST_BEGINNING if few else 1_000) else None


def words_of(text: str) -> list[str]:
    return WORD.findall(folded(text))[:TERMS]


def has_all(content: str, text: str, shortest: int) -> bool:
    """Look for each word of a text: at the beginning of a word, or for each pair of signs without spaces."""
    words = words_of(text)
    lines = [f" {folded(line)} " for line in content.split("\n")]

    def is_there(word: str, *, is_last: bool) -> bool:
        if SPACELESS.match(word):
            pairs = [word[at : at + 2] for at in range(len(word) - 1)] or [word]
            return all(any(pair in line for line in lines) for pair in pairs)
        may_go_on = is_last and (len(word) >= shortest or not word.isascii())
        return any(has(line, word, may_go_on=may_go_on) for line in lines)

    return all(is_there(word, is_last=number == len(words) - 1) for number, word in enumerate(words))


def has(line: str, word: str, *, may_go_on: bool) -> bool:
    end = "" if may_go_on else f"(?![^ {SIGNS}])"
    return re.search(f"(?<![^ {SIGNS}]){re.escape(word)}{end}", line) is not None


@examples(200)
@given(changes, odd_texts, st.sampled_from(KINDS))
def test_it_finds_what_a_plain_scan_finds(history: Sequence[Findable | str], text: str, kind: str) -> None:
    table, model = SearchTable(), dict[str, Findable]()
    for number, change in enumerate(history):
        if number == SETTLED:
            table.settle()
        apply(change, table, model)
    sorts = table.find(text, kind, 100)
    found = [ref for refs in sorts for ref in refs]
    places = {ref: place(entry, text) for ref, entry in model.items() if ref.startswith(kind)}
    assert set(found) == {ref for ref, where in places.items() if where is not None}
    assert [[places[ref] for ref in refs] for refs in sorts] == [
        [at] * len(refs) for at, refs in enumerate(sorts)
    ]
    assert len(found) == len(set(found))
    assert table.count == len(model)
    table.close()
