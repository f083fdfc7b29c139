"""The tables of the index, in SQLite in memory. Law: one thread has them, and every call takes milliseconds.

    entries    ref, kind, compact name: what is listed now
    names      FTS5: words of the name
    texts      FTS5: words of the name, of the short description, of the rest

Both FTS5 tables keep no text. An entry that changes gets a new row in them, and the old one is dead: no entry
points to it. `dead` tells when it is time to build everything anew.

A query goes from the best matches to the worst, and ends when it has enough: the same name, names that begin
so, words in the name, words in the name and the short description, words anywhere. Of each sort, at most
`CANDIDATES` are ranked by bm25. So a word that everybody uses costs no more than a rare one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from search.search_words import SHORTEST_BEGINNING, TEXT, Term, compact, indexed, indexed_name, terms

Kind = Literal["bots", "servers"]
KINDS: Sequence[Kind] = ("bots", "servers")
CANDIDATES = 500
_FIRST = {"bots": 0, "servers": 1 << 40}
"""The first row of each kind: a range of rows is a kind."""
_TABLES = """
    CREATE TABLE entries (id INTEGER PRIMARY KEY, ref TEXT UNIQUE, content INTEGER, kind TEXT, compact TEXT);
    CREATE INDEX by_compact ON entries (kind, compact);
    CREATE VIRTUAL TABLE names USING fts5(name, content='', tokenize='ascii', prefix='1 2');
    CREATE VIRTUAL TABLE texts USING fts5(name, short, rest, content='', tokenize='ascii');
"""
_SAME = "SELECT compact, ref FROM entries WHERE kind = ? AND compact = ? LIMIT ?"
_BEGINS = "SELECT compact, ref FROM entries WHERE kind = ? AND compact > ? AND compact < ? ORDER BY 1 LIMIT ?"
_MATCH = """
    SELECT score, ref FROM (
        SELECT bm25({table}) AS score, ref FROM {table} JOIN entries ON id = {table}.rowid
        WHERE {table} MATCH ? AND {table}.rowid BETWEEN ? AND ? LIMIT ?
    ) ORDER BY score LIMIT ?
"""
_IN_NAMES, _IN_TEXTS = _MATCH.format(table="names"), _MATCH.format(table="texts")
_END = chr(0x10FFFF)
_MOST_ROWS = (1 << 40) - 1
Rows = list[tuple[float | str, str]]
"""What a step has found: its order, and the ref."""


class Findable(NamedTuple):
    """The part of an approved listing that can be found."""

    ref: str
    name: str
    short: str
    rest: str


class SearchTable:
    def __init__(self) -> None:
        """Raises ImportError where Python has no SQLite, and sqlite3.Error where that has no FTS5."""
        import sqlite3

        self._sql = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._sql.execute("PRAGMA journal_mode = OFF")
        self._sql.executescript(_TABLES)
        self._next = dict(_FIRST)
        self.count = 0
        self.dead = 0

    def put(self, entries: Iterable[Findable], gone: Iterable[str] = ()) -> None:
        """Take entries in place of those of their refs, and forget those that are gone."""
        self._sql.execute("BEGIN")
        for ref in gone:
            self._remove(ref)
        for entry in entries:
            self._put(entry)
        self._sql.execute("COMMIT")

    def find(self, text: str, kind: Kind | None, most: int) -> list[str]:
        """Return the refs that match every word of a text, the best first."""
        wanted, name = terms(text), compact(text[:TEXT])
        refs: dict[str, None] = {}
        kinds = KINDS if kind is None else (kind,)
        for step in self._steps(wanted, name, most) if wanted else ():
            found = sorted(row for each in kinds for row in step(each))
            refs.update((ref, None) for _, ref in found)
            if len(refs) >= most:
                break
        return list(refs)[:most]

    def close(self) -> None:
        self._sql.close()

    def _steps(self, wanted: Sequence[Term], name: str, most: int) -> Sequence[Callable[[Kind], Rows]]:
        named, anywhere = _expression(wanted, 1), _expression(wanted, SHORTEST_BEGINNING)
        return (
            lambda kind: self._rows(_SAME, kind, name, most),
            lambda kind: self._rows(_BEGINS, kind, name, name + _END, most),
            lambda kind: self._matches(_IN_NAMES, kind, named, most),
            lambda kind: self._matches(_IN_TEXTS, kind, f"{{name short}} : ({anywhere})", most),
            lambda kind: self._matches(_IN_TEXTS, kind, anywhere, most),
        )

    def _matches(self, query: str, kind: Kind, expression: str, most: int) -> Rows:
        first = _FIRST[kind]
        return self._rows(query, expression, first, first + _MOST_ROWS, CANDIDATES, most)

    def _rows(self, query: str, *values: object) -> Rows:
        return self._sql.execute(query, values).fetchall()

    def _put(self, entry: Findable) -> None:
        content = hash(entry)
        before = self._sql.execute("SELECT content FROM entries WHERE ref = ?", (entry.ref,)).fetchone()
        if before == (content,):
            return  # something of the listing has changed that is not searched
        self._remove(entry.ref)
        kind: Kind = "bots" if entry.ref.startswith("bots/") else "servers"
        row = self._next[kind]
        self._next[kind] += 1
        name = indexed_name(entry.name)
        self._sql.execute(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (row, entry.ref, content, kind, compact(entry.name))
        )
        self._sql.execute("INSERT INTO names (rowid, name) VALUES (?, ?)", (row, name))
        texts = (row, name, indexed(entry.short), indexed(entry.rest))
        self._sql.execute("INSERT INTO texts (rowid, name, short, rest) VALUES (?, ?, ?, ?)", texts)
        self.count += 1

    def _remove(self, ref: str) -> None:
        removed = self._sql.execute("DELETE FROM entries WHERE ref = ?", (ref,)).rowcount
        self.count -= removed
        self.dead += removed


def _expression(wanted: Sequence[Term], shortest: int) -> str:
    """Return FTS5's expression for all terms. A word has no quote in it, so that nothing of it is syntax."""
    return " AND ".join(_phrase(term, shortest) for term in wanted)


def _phrase(term: Term, shortest: int) -> str:
    (first, *_) = term.words
    begins = term.begins and (len(first) >= shortest or not first.isascii())
    return f'"{" ".join(term.words)}"{" *" if begins else ""}'
