"""The tables of the index, in SQLite in memory. Invariant: one thread uses them.

Every call but `settle` takes milliseconds.

Each kind of listings has its own:

    entries    ref, and a digest of what was indexed: what is listed now
    words      FTS5: words of the name and of the rest; those of the name once more behind `_NAMED`, and the
               whole name as one word behind `_WHOLE`

FTS5 keeps no text and no positions here (`detail=none`): a query only asks if a word is in a listing. An
entry that changes gets a new row, and no entry points to its old, dead one. `dead` tells when it is time to
build everything again.

A query goes from the best matches to the worst and ends when it has enough: the same name, names that begin
so, words in the name, words anywhere, and at last words of which the last one only begins so. Of each sort,
the first `CANDIDATES` count. So a word that everybody uses costs no more than a rare one.

FTS5 gathers new rows, and writes them when there are enough or when a row has a lower number than the one
before. So each kind has its own tables, and rows are numbered as they come. A search for a beginning goes
through all gathered rows. So the tables gather much while everything is put in, and little after `settle` has
written it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import finalize

from kinds.registry import KINDS
from search.search_words import FEW, SHORTEST_BEGINNING, TEXT, Term, compact, indexed, indexed_name, terms

if TYPE_CHECKING:
    import sqlite3  # a Python may lack it, and only searches need it

CANDIDATES = 250
_WHOLE, _NAMED = "\ue000", "\ue001"
"""Nobody can type them: characters for private use separate words."""
_TABLES = """
    CREATE TABLE entries (id INTEGER PRIMARY KEY, ref TEXT, content INTEGER);
    CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=none, columnsize=0, tokenize='ascii');
"""
_GATHER = "INSERT INTO words (words, rank) VALUES ('hashsize', ?)"
AT_FIRST, SETTLED = 8 << 20, 256 << 10
"""The bytes that are gathered. With 1 MiB at first, 100,000 listings take half as long again. A search in
them takes 15 ms with 8 MiB, and 1 ms with 256 KiB."""
_MATCH = """
    SELECT group_concat(ref) FROM (
        SELECT ref FROM words JOIN entries ON id = words.rowid
        WHERE words MATCH ? LIMIT ?
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
        self._of: Mapping[str, _Entries] = {kind.plural: _Entries() for kind in KINDS}

    @property
    def count(self) -> int:
        return sum(each.count for each in self._of.values())

    @property
    def dead(self) -> int:
        return sum(each.dead for each in self._of.values())

    def put(self, entries: Sequence[Findable], gone: Sequence[str] = ()) -> None:
        """Replace the entries of some refs, and forget the refs that are gone."""
        for kind, own in self._of.items():
            own.put(
                [entry for entry in entries if entry.ref.startswith(kind)],
                [ref for ref in gone if ref.startswith(kind)],
            )

    def settle(self) -> None:
        """Make searches quick, once all listings were put."""
        for own in self._of.values():
            own.settle()

    def find(self, text: str, kind: str, most: int) -> list[list[str]]:
        """Return the refs that match every word of a text, in sorts: the best sort first.

        A ref is in one sort only. The search ends with the sort that brings the number to `most`.
        """
        wanted, found = terms(text), list[list[str]]()
        known: set[str] = set()
        for expression in _steps(wanted, compact(text[:TEXT])) if wanted else ():
            refs = self._of[kind].matching(expression)
            found.append([ref for ref in refs if ref not in known])
            known.update(refs)
            if len(known) >= most:
                break
        return found

    def close(self) -> None:
        for own in self._of.values():
            own.close()


class _Entries:
    """The entries of one kind."""

    def __init__(self) -> None:
        self._sql = _connected(self)
        self._sql.executescript(_TABLES)
        self._gather(AT_FIRST)
        self._rows: dict[str, int] = {}
        self._next = 0
        self.dead = 0

    @property
    def count(self) -> int:
        return len(self._rows)

    def put(self, entries: Sequence[Findable], gone: Sequence[str]) -> None:
        for ref in gone:
            self._remove(ref)
        rows, texts = [], []
        for entry in {entry.ref: entry for entry in entries}.values():
            content = hash(entry)
            if self._holds(entry.ref, content):
                continue  # the change was in a part that is not searched
            self._remove(entry.ref)
            row = self._rows[entry.ref] = self._next
            self._next += 1
            rows.append((row, entry.ref, content))
            texts.append((row, _words(entry)))
        self._sql.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        self._sql.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)

    def settle(self) -> None:
        """Write all gathered rows at once, and go on in a connection that gathers little. The memory of the
        old one never shrinks, and a search for a beginning goes through all of it."""
        gathered = self._sql
        gathered.execute("COMMIT")
        gathered.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._sql = _connected(self)
        gathered.backup(self._sql)
        gathered.close()
        self._gather(SETTLED)

    def matching(self, expression: str) -> Sequence[str]:
        (refs,) = self._sql.execute(_MATCH, (expression, CANDIDATES)).fetchone()
        return refs.split(",") if refs else ()

    def close(self) -> None:
        self._sql.close()

    def _gather(self, most: int) -> None:
        self._sql.execute(_GATHER, (most,))
        self._sql.execute("BEGIN")  # and no COMMIT before `settle`: it writes all that is gathered

    def _holds(self, ref: str, content: int) -> bool:
        row = self._rows.get(ref)
        if row is None:
            return False
        return bool(
            self._sql.execute("SELECT content = ? FROM entries WHERE id = ?", (content, row)).fetchone()[0]
        )

    def _remove(self, ref: str) -> None:
        row = self._rows.pop(ref, None)
        if row is not None:
            self._sql.execute("DELETE FROM entries WHERE id = ?", (row,))
            self.dead += 1


def _connected(owner: _Entries) -> "sqlite3.Connection":
    """Return a new database, which is closed with its owner: Python 3.13 warns of open ones."""
    import sqlite3

    sql = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    sql.execute("PRAGMA journal_mode = OFF")
    finalize(owner, sql.close)
    return sql


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
