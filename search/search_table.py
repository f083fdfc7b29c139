"""The tables of the index, in SQLite in memory. Law: one thread has them, and every call takes milliseconds.

    entries    ref, and a digest of what was indexed: what is listed now
    words      FTS5: words of the name and of the rest; those of the name once more behind `_NAMED`, and the
               whole name as one word behind `_WHOLE`

FTS5 keeps no text and no positions here (`detail=none`): whether a word is in a listing is all that is asked.
An entry that changes gets a new row, and the old one is dead: no entry points to it. `dead` tells when it is
time to build everything anew.

A query goes from the best matches to the worst, and ends when it has enough: the same name, names that begin
so, words in the name, words anywhere; at last, words of which the last one only begins so. Of each sort, the
first `CANDIDATES` count. So a word that everybody uses costs no more than a rare one.
"""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from search.search_words import FEW, SHORTEST_BEGINNING, TEXT, Term, compact, indexed, indexed_name, terms

Kind = Literal["bots", "servers"]
CANDIDATES = 250
_FIRST = {"bots": 0, "servers": 1 << 40}
"""The first row of each kind: a range of rows is a kind."""
_MOST_ROWS = (1 << 40) - 1
_WHOLE, _NAMED = "\ue000", "\ue001"
"""Nobody can type them: characters for private use separate words."""
_TABLES = """
    CREATE TABLE entries (id INTEGER PRIMARY KEY, ref TEXT, content INTEGER);
    CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=none, columnsize=0, tokenize='ascii');
    INSERT INTO words (words, rank) VALUES ('hashsize', 8388608);
"""
_MATCH = """
    SELECT group_concat(ref) FROM (
        SELECT ref FROM words JOIN entries ON id = words.rowid
        WHERE words MATCH ? AND words.rowid BETWEEN ? AND ? LIMIT ?
    )
"""
"""One row: between two rows of a result, SQLite's module lets other threads have the interpreter."""


class Findable(NamedTuple):
    """The part of an approved listing that can be found."""

    ref: str
    name: str
    rest: str


class SearchTable:
    def __init__(self) -> None:
        """Raises ImportError where Python has no SQLite, and sqlite3.Error where that has no FTS5."""
        import sqlite3

        self._sql = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._sql.execute("PRAGMA journal_mode = OFF")
        self._sql.executescript(_TABLES)
        self._sql.execute("BEGIN")  # and never a COMMIT: each would write what FTS5 has gathered so far
        self._rows: dict[str, int] = {}
        self._next = dict(_FIRST)
        self.dead = 0

    @property
    def count(self) -> int:
        return len(self._rows)

    def put(self, entries: Iterable[Findable], gone: Iterable[str] = ()) -> None:
        """Take entries in place of those of their refs, and forget those that are gone."""
        for ref in gone:
            self._remove(ref)
        rows, texts = [], []
        for entry in {entry.ref: entry for entry in entries}.values():
            content = hash(entry)
            if self._holds(entry.ref, content):
                continue  # something of the listing has changed that is not searched
            self._remove(entry.ref)
            row = self._new_row(entry.ref)
            rows.append((row, entry.ref, content))
            texts.append((row, _words(entry)))
        self._sql.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        self._sql.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)

    def find(self, text: str, kind: Kind, most: int) -> list[list[str]]:
        """Return the refs that match every word of a text, by how well they match: the best sort first.

        A ref is in one sort only. No further sort is looked for once there are `most` of them.
        """
        wanted, found = terms(text), list[list[str]]()
        known: set[str] = set()
        for expression in _steps(wanted, compact(text[:TEXT])) if wanted else ():
            refs = self._match(expression, kind)
            found.append([ref for ref in refs if ref not in known])
            known.update(refs)
            if len(known) >= most:
                break
        return found

    def close(self) -> None:
        self._sql.close()

    def _match(self, expression: str, kind: Kind) -> Sequence[str]:
        first = _FIRST[kind]
        (refs,) = self._sql.execute(_MATCH, (expression, first, first + _MOST_ROWS, CANDIDATES)).fetchone()
        return refs.split(",") if refs else ()

    def _holds(self, ref: str, content: int) -> bool:
        row = self._rows.get(ref)
        if row is None:
            return False
        return bool(
            self._sql.execute("SELECT content = ? FROM entries WHERE id = ?", (content, row)).fetchone()[0]
        )

    def _new_row(self, ref: str) -> int:
        kind: Kind = "bots" if ref.startswith("bots/") else "servers"
        self._rows[ref] = row = self._next[kind]
        self._next[kind] += 1
        return row

    def _remove(self, ref: str) -> None:
        row = self._rows.pop(ref, None)
        if row is not None:
            self._sql.execute("DELETE FROM entries WHERE id = ?", (row,))
            self.dead += 1


def _words(entry: Findable) -> str:
    name = indexed_name(entry.name)
    named = " ".join(_NAMED + word for word in name.split())
    return f"{name} {named} {_WHOLE}{compact(entry.name)} {indexed(entry.rest)}"


def _steps(wanted: Sequence[Term], name: str) -> Iterable[str]:
    """Return FTS5's expressions for a query, those of the best matches first, each once."""
    begin = SHORTEST_BEGINNING if len(wanted) <= FEW else TEXT
    steps = (
        f'"{_WHOLE}{name}"',
        f'"{_WHOLE}{name}" *',
        _expression(wanted, 1, _NAMED),
        _expression(wanted, TEXT),
        _expression(wanted, begin),
    )
    return dict.fromkeys(steps)


def _expression(wanted: Sequence[Term], shortest: int, behind: str = "") -> str:
    """Return the expression for all terms. A word has no quote in it, so that nothing of it is syntax."""
    return " AND ".join(_matching(term, shortest, behind) for term in wanted)


def _matching(term: Term, shortest: int, behind: str) -> str:
    (first, *_) = term.words
    if term.begins and (len(first) >= shortest or not first.isascii()):
        return f'"{behind}{first}" *'
    return " AND ".join(f'"{behind}{word}"' for word in term.words)
