"""The tables of one kind of listings, in SQLite in memory. Invariant: one thread uses them.

Every call but `settle` takes milliseconds.

    entries    ref, and a digest of what was indexed: what is listed now
    words      FTS5: words of the name and of the near texts, each behind a mark, those of the rest, and
               marked words for the whole name, the categories, the tags and the language (`search_query.py`)
    vocab      the words of that table, in order

FTS5 keeps no text and no positions here (`detail=none`): a query only asks if a word is in a listing. An
entry that changes gets a new row, and no entry points to its old, dead one. `dead` tells when it is time to
rebuild all tables.

FTS5 gathers new rows, and writes them when there are enough or when a row has a lower number than the one
before. So each kind has its own tables, and rows are numbered as they come. A prefix search reads all
gathered rows. So the tables gather many rows while they are filled, and few after that. A query of the
vocabulary writes all gathered rows, so there is none before they are filled.

`pieces` gives the rows of the tables, also of those that FTS5 keeps its words in, and an empty table that
`take`s them finds the same. Between two rows of a result or of an `executemany`, the module `sqlite3`
releases the GIL, and then waits for it. So all rows of a piece are read as one text, and written by one
statement.
"""

import hashlib
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import finalize

import msgspec

from core.packing import SHAPE
from core.version import VERSION
from kinds.kind import Kind
from kinds.registry import KINDS
from search.search_query import NAMED, NEAR, WHOLE, KindNames, in_language, of_category, with_tag
from search.search_words import (
    SMALL,
    compact,
    edits_allowed,
    indexed,
    indexed_name,
    near_words,
    separated,
)

if TYPE_CHECKING:
    import sqlite3  # a Python may lack it, and only searches need it

CANDIDATES = 250
COUNTED = 1_000
"""The number up to which matches are counted, because counting takes time."""
NEAREST, LOOKED_AT = 4, 5_000
"""The most near words that replace a word, and the most words of the vocabulary that are compared with it."""
MOST_VOCABULARIES, ALIKE = 64, 1_000
"""The letters whose words are kept in memory, and the part of the listings (one in so many) that may change
until they are read again: with a million listings, that takes 20 ms."""
MOST_FULL = 1_000
"""The answers to frequent words that are kept, of 5 KB each."""
LIKE_WORDS = 24
"""The number of words of a listing that its similar listings are searched by."""
TAG_SHARED, WORD_SHARED, CATEGORY_SHARED = 3.0, 1.0, 0.25
"""The weights of what two listings share."""
_TABLES = """
    CREATE TABLE entries (id INTEGER PRIMARY KEY, ref TEXT UNIQUE, content INTEGER);
    CREATE VIRTUAL TABLE words USING fts5(text, content='', detail=none, columnsize=0, tokenize='ascii');
"""
_VOCABULARY = "CREATE VIRTUAL TABLE temp.vocab USING fts5vocab(main, words, 'row')"
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
"""One row, because the module `sqlite3` releases the GIL between two rows of a result."""
_COUNT = (
    "SELECT count(*) FROM (SELECT 1 FROM words JOIN entries ON id = words.rowid WHERE words MATCH ? LIMIT ?)"
)
_KNOWN = """
    SELECT group_concat(id || ' ' || content || ' ' || ref, char(10))
    FROM entries WHERE ref IN (SELECT value FROM json_each(?))
"""
_REMOVE = "DELETE FROM entries WHERE ref IN (SELECT value FROM json_each(?))"
_NEAR_WORDS = """
    SELECT group_concat(term || ' ' || doc) FROM (
        SELECT term, doc FROM temp.vocab WHERE term >= ? AND term < ? LIMIT ?
    )
"""


class _Pieces(NamedTuple):
    """The way to read a table in pieces, and to write a piece.

    `read` takes the last row of the piece before, as two numbers (a and b) and bytes (c), and selects such
    rows as one text. `write` takes the bytes of all rows of a piece, and a JSON list with the numbers and the
    place of the bytes of each.
    """

    read: str
    write: str


_PIECES = {
    "words_data": _Pieces(
        """
        SELECT group_concat(a || ' ' || b || ' ' || hex(c), char(10)) FROM (
            SELECT id a, 0 b, block c FROM words_data WHERE id > :a ORDER BY id LIMIT 64
        )
        """,
        """
        INSERT OR REPLACE INTO words_data (id, block)
        SELECT json_extract(value, '$[0]'),
               ifnull(substr(?1, json_extract(value, '$[2]'), json_extract(value, '$[3]')), x'')
        FROM json_each(?2)
        """,
    ),
    "words_idx": _Pieces(
        """
        SELECT group_concat(a || ' ' || b || ' ' || hex(c), char(10)) FROM (
            SELECT segid a, pgno b, term c FROM words_idx WHERE (segid, term) > (:a, :c)
            ORDER BY segid, term LIMIT 1024
        )
        """,
        """
        INSERT INTO words_idx (segid, pgno, term)
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),
               ifnull(substr(?1, json_extract(value, '$[2]'), json_extract(value, '$[3]')), x'')
        FROM json_each(?2)
        """,
    ),
    "entries": _Pieces(
        """
        SELECT group_concat(a || ' ' || b || ' ' || hex(c), char(10)) FROM (
            SELECT id a, content b, ref c FROM entries WHERE id > :a ORDER BY id LIMIT 1024
        )
        """,
        """
        INSERT INTO entries (id, content, ref)
        SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'),
               CAST(substr(?1, json_extract(value, '$[2]'), json_extract(value, '$[3]')) AS TEXT)
        FROM json_each(?2)
        """,
    ),
}


class TablePiece(msgspec.Struct, frozen=True, gc=False):
    """Some rows of a table of a kind. `places` is a JSON list of their numbers and of the places of their
    bytes in `content`."""

    kind: str
    table: str
    places: bytes
    content: bytes


_encoded = msgspec.json.Encoder().encode


def _json(refs: Sequence[str]) -> str:
    return _encoded(refs).decode()


class Findable(NamedTuple):
    """The part of an approved listing that can be found. `near` is its short text, with its tags."""

    ref: str
    name: str
    near: str
    rest: str
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()


class KindTable:
    """The entries of one kind, and their words."""

    def __init__(self, names: KindNames) -> None:
        self.names = names
        self._sql = _connected(self)
        self._sql.executescript(_TABLES)
        self.count = 0
        self.next = 0
        """The number of the next row. Each row below it has an entry, or is dead."""
        self._is_settled = False
        self._full: dict[tuple[str, str, int], tuple[int, str | int]] = {}
        """Answers with as many rows as were asked for, each with the number of dead rows at that time. The
        least recently used are first."""
        self._vocabularies: dict[str, tuple[int, Mapping[str, int]]] = {}
        """Words by their mark and first letter, each with the number of the next row when they were read. The
        least recently used are first."""

    @property
    def dead(self) -> int:
        return self.next - self.count

    def put(self, entries: Sequence[Findable], gone: Sequence[str]) -> Sequence[str]:
        self._gather()
        put = {entry.ref: entry for entry in entries}
        known = self._known([*put, *gone])
        contents = {ref: _digest(entry) for ref, entry in put.items()}
        changed = [ref for ref, content in contents.items() if known.get(ref) != content]
        removed = [ref for ref in (*gone, *changed) if ref in known]
        if removed:
            self._sql.execute(_REMOVE, (_json(removed),))
        numbers = dict(zip(changed, range(self.next, self.next + len(changed)), strict=True))
        rows = [(number, ref, contents[ref]) for ref, number in numbers.items()]
        self._sql.executemany("INSERT INTO entries VALUES (?, ?, ?)", rows)
        texts = [(number, _words(put[ref])) for ref, number in numbers.items()]
        self._sql.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", texts)
        self.next += len(changed)
        self.count += len(changed) - len(removed)
        return [*changed, *(ref for ref in gone if ref in known)]

    def _known(self, refs: Sequence[str]) -> Mapping[str, int]:
        """Return the contents of the refs that have an entry."""
        (found,) = self._sql.execute(_KNOWN, (_json(refs),)).fetchone() if refs else ("",)
        return {ref: int(content) for _, content, ref in _split(found or "")}

    def pieces(self, kind: str) -> Iterator[TablePiece]:
        self._write()
        for table, of_table in _PIECES.items():
            last: tuple[int, int, bytes] = (-1, 0, b"")
            while text := self._sql.execute(of_table.read, dict(zip("abc", last, strict=True))).fetchone()[0]:
                rows = [(int(a), int(b), bytes.fromhex(c)) for a, b, c in _split(text)]
                last, at, places = rows[-1], 1, list[tuple[int, int, int, int]]()
                for first, second, content in rows:
                    places.append((first, second, at, len(content)))
                    at += len(content)
                yield TablePiece(kind, table, _encoded(places), b"".join(row[2] for row in rows))

    def take(self, piece: TablePiece) -> None:
        if not self._sql.in_transaction:
            self._sql.execute("BEGIN")  # FTS5 has read nothing yet, and remembers nothing that is replaced
        self._sql.execute(_PIECES[piece.table].write, (piece.content, piece.places.decode()))

    def taken(self, number: int) -> None:
        (self.count,) = self._sql.execute("SELECT count(*) FROM entries").fetchone()
        self.next = number
        self._write()
        self._begin_searches()

    def settle(self) -> None:
        """Write all gathered rows at once, and go on in a connection that gathers little. The memory of the
        old one never shrinks, and a prefix search reads all of it."""
        gathered = self._sql
        self._write()
        gathered.execute("INSERT INTO words (words) VALUES ('optimize')")
        self._sql = _connected(self)
        gathered.backup(self._sql)
        gathered.close()
        self._begin_searches()

    def _begin_searches(self) -> None:
        self._sql.execute(_VOCABULARY)
        self._is_settled = True
        self._vocabularies.clear()

    def matching(self, expression: str) -> Sequence[str]:
        refs = self._answer(_MATCH, expression, CANDIDATES, lambda refs: (refs or "").count(",") + 1)
        return refs.split(",") if refs else ()

    def counted(self, expression: str, most: int = COUNTED) -> int:
        return int(self._answer(_COUNT, expression, most, int))

    def _answer(self, sql: str, expression: str, most: int, rows: Callable[[Any], int]) -> Any:
        """Return the answer of a query that ends with `most` rows. One with so many took long and is kept:
        no row that comes later is among its first rows.

        Args:
            rows: returns the number of rows of an answer.
        """
        key = sql, expression, most
        dead, answer = self._full.pop(key, (0, None))
        if answer is None or self.dead - dead > self.count // ALIKE:
            dead, answer = self.dead, self._sql.execute(sql, (expression, most)).fetchone()[0]
        if rows(answer) >= most:
            if len(self._full) >= MOST_FULL:
                del self._full[next(iter(self._full))]
            self._full[key] = dead, answer
        return answer

    def near_words(self, word: str) -> Sequence[str]:
        """Return the words that a word may be a misspelling of, the nearest first."""
        allowed = edits_allowed(word)
        if not allowed:
            return ()
        known = self._vocabulary(NEAR + word[0])
        found = {**known, **dict.fromkeys(self.names.categories, COUNTED)}
        own = (name for name in self.names.own if len(word) > len(name) + 2)
        cut = [part for name in own for part in (word.removesuffix(name),) if part != word and part in found]
        near: list[str] = []
        for edits in range(1, allowed + 1):  # two edits only where one leads nowhere
            near = near or [each for each in near_words(word, found, edits) if each != word]
        near.sort(key=found.__getitem__, reverse=True)
        return (*dict.fromkeys((*cut, *near)),)[:NEAREST]

    def similar(self, entry: Findable) -> Mapping[str, float]:
        found: dict[str, float] = {}
        for word, weight in _of_its_own(entry, self.names.own):
            refs = self.matching(f'"{word}"')
            if len(refs) < CANDIDATES:  # a word that so many share tells nothing
                for ref in refs:
                    found[ref] = found.get(ref, 0.0) + weight * log(1 + self.count / len(refs))
        found.pop(entry.ref, None)
        return found

    def close(self) -> None:
        self._sql.close()

    def _vocabulary(self, beginning: str) -> Mapping[str, int]:
        """Return the words behind the mark of a beginning, in order, with the number of their listings."""
        at, words = self._vocabularies.pop(beginning, (-1, {}))
        if at < 0 or self.next - at > self.count // ALIKE:
            at, words = self.next, self._read_vocabulary(beginning) if self._is_settled else {}
        if len(self._vocabularies) >= MOST_VOCABULARIES:
            del self._vocabularies[next(iter(self._vocabularies))]
        self._vocabularies[beginning] = at, words
        return words

    def _read_vocabulary(self, beginning: str) -> Mapping[str, int]:
        end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        (words,) = self._sql.execute(_NEAR_WORDS, (beginning, end, LOOKED_AT)).fetchone()
        each = (word.partition(" ") for word in words.split(",")) if words else ()
        return {word[1:]: int(listings) for word, _, listings in each}

    def _gather(self) -> None:
        """Gather all rows that follow, until `_write`."""
        if not self._sql.in_transaction:
            self._sql.execute(_GATHER, (SETTLED if self._is_settled else AT_FIRST,))
            self._sql.execute("BEGIN")

    def _write(self) -> None:
        if self._sql.in_transaction:
            self._sql.execute("COMMIT")


def _split(rows: str) -> Iterator[list[str]]:
    """Yield the columns of rows that came as one text."""
    yield from (row.split(" ") for row in rows.split("\n") if row)


def _connected(owner: KindTable) -> "sqlite3.Connection":
    """Return a new database, which is closed with its owner: Python 3.13 warns of open ones."""
    import sqlite3

    sql = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    sql.execute("PRAGMA journal_mode = OFF")
    finalize(owner, sql.close)
    return sql


def _digest(entry: Findable) -> int:
    """Return a number that tells whether an entry has changed: the same in each process."""
    digest = hashlib.blake2b(_encoded(entry), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def form(kinds: Collection[Kind]) -> bytes:
    """Return a fingerprint of the program, of its tables, and of the kinds that the site offers. Pieces of
    another one are not taken."""
    import sqlite3

    sample = Findable("", "Bots 音楽 Pokémon", "Musik, музыка", "אמא b2 اغنية", ("Music",), ("a b",), ("en",))
    versions = (VERSION, sqlite3.sqlite_version, unicodedata.unidata_version, SHAPE)
    content = (*versions, _TABLES, _words(sample), [*map(str, KINDS)], sorted(map(str, kinds)))
    return hashlib.blake2b(_encoded(content), digest_size=16).digest()


def _words(entry: Findable) -> str:
    """Return the text of an entry as FTS5 gets it."""
    name = indexed_name(entry.name).split()
    named, near = map(NAMED.__add__, name), map(NEAR.__add__, (*name, *separated(entry.near)))
    return " ".join((*named, *near, *_marked(entry), indexed(entry.rest)))


def _marked(entry: Findable) -> Iterator[str]:
    yield WHOLE + compact(entry.name)
    yield from map(of_category, entry.categories)
    yield from map(with_tag, entry.tags)
    yield from map(in_language, entry.languages)


def _of_its_own(entry: Findable, names: Collection[str]) -> Iterator[tuple[str, float]]:
    """Yield the words that similar entries share with an entry, with their weights."""
    words = dict.fromkeys((*separated(entry.near), *indexed_name(entry.name).split()))
    telling = (word for word in words if word not in SMALL and word not in names)
    yield from ((with_tag(tag), TAG_SHARED) for tag in entry.tags)
    yield from ((NEAR + word, WORD_SHARED) for word in islice(telling, LIKE_WORDS))
    yield from ((of_category(each), CATEGORY_SHARED) for each in entry.categories)
