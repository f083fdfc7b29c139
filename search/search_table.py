"""Searches in the tables of all kinds (`kind_table.py`).

A query goes from the best matches to the worst, and ends when it has enough. Of each sort, the first
`CANDIDATES` count. So a word that everybody uses costs no more than a rare one. If fewer than `ANY_BELOW`
listings have all words, listings with some of the words are found, too. A word that no listing has is read as
the nearest known word. With fewer than `NEAR_BELOW` results, other words also stand for similar ones. A
similar word has the same first letter.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kinds.registry import KINDS
from languages.texts import Text
from search.kind_table import CANDIDATES, Findable, KindTable, TablePiece
from search.search_query import Query, Translated, kind_names, query_of, written
from search.search_words import Term

ANY_BELOW, NEAR_BELOW = 24, 5
"""The numbers of results below which a search also looks for some of the words, and for near words: a page,
and the part of it that a visitor sees at once."""


class Matches(NamedTuple):
    """The refs that a search finds, in sorts, the best sort first. A ref is in one sort only.

    `total` counts all matches up to `COUNTED`. `read_as` is the text with other words, if the index has not
    those that were typed.
    """

    sorts: Sequence[Sequence[str]]
    total: int
    read_as: str | None = None


def in_english_alone(text: Text) -> Iterable[str]:
    """Return a text as source code contains it."""
    return (text.english,)


class SearchTable:
    def __init__(self, translated: Translated = in_english_alone) -> None:
        """Raises ImportError where Python has no SQLite, and sqlite3.Error where that has no FTS5."""
        self._of: Mapping[str, KindTable] = {
            kind.plural: KindTable(kind_names(kind, translated)) for kind in KINDS
        }

    @property
    def count(self) -> int:
        return sum(each.count for each in self._of.values())

    @property
    def dead(self) -> int:
        return sum(each.dead for each in self._of.values())

    def put(self, entries: Sequence[Findable], gone: Sequence[str] = ()) -> Sequence[str]:
        """Replace the entries of some refs, and forget the refs that are gone. Return the refs of those that
        have changed."""
        changed: list[str] = []
        for kind, own in self._of.items():
            some = [entry for entry in entries if entry.ref.startswith(f"{kind}/")]
            changed += own.put(some, [ref for ref in gone if ref.startswith(f"{kind}/")])
        return changed

    def settle(self) -> None:
        """Make searches quick, once all listings were put."""
        for own in self._of.values():
            own.settle()

    def pieces(self) -> Iterator[TablePiece]:
        """Yield all rows of the tables, after `settle`. No entry may be put meanwhile."""
        for kind, own in self._of.items():
            yield from own.pieces(kind)

    @property
    def numbers(self) -> Mapping[str, int]:
        """The number of the next row, by kind."""
        return {kind: own.next for kind, own in self._of.items()}

    def take(self, piece: TablePiece) -> None:
        """Take a piece of another table into this one, which was empty."""
        self._of[piece.kind].take(piece)

    def taken(self, numbers: Mapping[str, int]) -> None:
        """Go on where the other table was, once all of its pieces were taken."""
        for kind, own in self._of.items():
            own.taken(numbers[kind])

    def find(self, text: str, kind: str, most: int, within: Sequence[str] = ()) -> Matches:
        """Return what matches a text. The search ends with the sort that brings the number to `most`.

        Args:
            within: marked words that every match has.
        """
        own = self._of[kind]
        query = query_of(text, own.names, within)
        return Search(own, query, most).matches() if query.terms else Matches((), 0)

    def names(self, text: str, kind: str, most: int) -> Sequence[Sequence[str]]:
        """Return the refs whose name goes on from a text, in sorts: the best sort first."""
        own = self._of[kind]
        query = query_of(text, own.names)
        search = Search(own, query, most)
        search.run(query.names_alone() if query.terms else ())
        return search.sorts

    def similar(self, entry: Findable, kind: str) -> Mapping[str, float]:
        """Return the refs that share tags or words with a listing, each with the weight of these."""
        return self._of[kind].similar(entry)

    def close(self) -> None:
        for own in self._of.values():
            own.close()


class Search:
    """One search in the entries of a kind."""

    def __init__(self, entries: KindTable, query: Query, most: int) -> None:
        self._entries = entries
        self._query = query
        self._most = most
        self._known: set[str] = set()
        self._asked: set[str] = set()
        self._near: dict[str, Sequence[str]] = {}
        """The near words of words of the query."""
        self.sorts: list[list[str]] = []

    def matches(self) -> Matches:
        """Search for all words, for any word and for near misses, as far as it takes."""
        query, read_as = self._query, None
        self.run(query.all_words())
        if len(self._known) < ANY_BELOW:
            query, read_as = self._read_as()
            self.run(query.all_words() if read_as is not None else ())
            self.run(query.any_word())
        if len(self._known) < NEAR_BELOW:
            near = query._replace(terms=[self._with_near_words(term) for term in query.terms])
            self.run(near.near_misses() if near != query else ())
        return Matches(self.sorts, self._total(), read_as if self._known else None)

    def run(self, expressions: Iterable[str]) -> None:
        """Add the matches of expressions, until there are enough."""
        for expression in expressions:
            if len(self._known) >= self._most:
                return
            if expression in self._asked:
                continue
            self._asked.add(expression)
            refs = self._entries.matching(expression)
            self.sorts.append([ref for ref in refs if ref not in self._known])
            self._known.update(refs)

    def _total(self) -> int:
        """Return the number of matches. If there are more than enough, those with all words whole count."""
        if len(self._known) < min(self._most, CANDIDATES):
            return len(self._known)
        return max(len(self._known), self._entries.counted(self._query.everywhere()))

    def _read_as(self) -> tuple[Query, str | None]:
        """Return the query with near words in place of those that no listing has, and its text."""
        query = self._query
        meant = [term if self._is_known(term) else self._meant(term) for term in query.terms]
        if meant == query.terms:
            return query, None
        return query._replace(terms=meant), " ".join(map(written, meant))

    def _meant(self, term: Term) -> Term:
        """Return the near words of a term that listings have, the nearest first; else the term."""
        near = (Term((word,), begins=False) for word in self._near_words(term))
        known = [written(each) for each in near if self._is_known(each)]
        return Term((known[0],), begins=False, others=(*known[1:],)) if known else term

    def _is_known(self, term: Term) -> bool:
        return bool(self._entries.counted(self._query.matching(term), 1))

    def _with_near_words(self, term: Term) -> Term:
        return term._replace(others=(*self._near_words(term),))

    def _near_words(self, term: Term) -> Sequence[str]:
        word = written(term)
        if word not in self._near:
            self._near[word] = self._entries.near_words(word)
        return self._near[word]
