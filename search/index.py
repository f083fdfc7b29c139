"""The index of public listings, which follows the log. Invariant: the event loop never waits for SQLite.

SQLite works in one thread. The loop notes the refs of listings that change, and `run` hands their rows to the
thread, a few at a time. At a start it hands over all listings in the same way. So a search waits for a few
rows at most. A ref is noted once, however often its listing changes, and its row is read when it is handed
over.

If SQLite fails or is missing, searches are refused, and the index is built again after a pause. Nothing else
notices.

An index of many listings is kept on disk (`index_file.py`), so that the next start builds none. Behind each
snapshot, the changes are written, too.
"""

import asyncio
import ctypes
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from heapq import nlargest
from itertools import islice
from typing import NamedTuple, TypeVar

from core.clock import MS_PER_DAY, Clock
from core.events import FREQUENT, Event
from core.failures import SearchUnavailable, Unavailable
from core.rows import Listing
from core.state import State
from kinds.registry import kind_of
from search.catalogue import CHANGING, Catalogue, IndexKey
from search.index_file import IndexFile, Records
from search.search_query import Translated, in_language, of_category, with_tag
from search.search_table import Findable, SearchTable, in_english_alone
from search.search_words import beginning

HANDED_OVER = 64
"""The listings that the thread gets at once: about 5 ms of its time."""
SLICE = 16
"""The rows that the loop reads before yielding."""
NOTED = 10_000
"""The changed listings that are noted. With more, the index is built again."""
WAITING, OF_ONE = 64, 8
"""The searches that may wait for the thread: of all askers, and of one, so that nobody keeps out the others.
SQLite cannot end a long search earlier: it counts its own steps, and FTS5 does all its work in one."""
READ = 128
"""The characters of a long description that are searched. The time of a start grows with them."""
DEAD_ALLOWED = 10_000
"""The dead rows that are allowed beyond the number of listings."""
PAUSE_SECONDS = 60.0
KEPT_FROM = 1_000
"""The listings from which an index is kept on disk. One of fewer is built in 0.1 s."""
OLD_DAYS = 7
"""The age of tables at which they are built again, if they have dead rows. So the words of a listing that is
gone do not stay for ever."""
_T = TypeVar("_T")
log = logging.getLogger("votegate")


class SearchResult(NamedTuple):
    """The refs that a search found, the best first.

    `total` counts all that match, up to `COUNTED`. `read_as` is the text with other words, if no listing has
    those that were typed.
    """

    refs: Sequence[str]
    total: int
    read_as: str | None = None


class Keeping(NamedTuple):
    """The disk for an index and for the catalogue.

    `head` returns the position of the newest record, `synced` returns once a position would outlive a power
    cut, and `records` returns those of the journal.
    """

    file: IndexFile
    catalogue: Catalogue
    clock: Clock
    head: Callable[[], int]
    synced: Callable[[int], Awaitable[None]]
    records: Records


class SearchIndex:
    def __init__(
        self,
        state: State,
        translated: Translated = in_english_alone,
        pause_seconds: float = PAUSE_SECONDS,
        keeping: Keeping | None = None,
    ) -> None:
        """`pause_seconds` is the pause after a failure of SQLite. Without `keeping`, each start builds it."""
        self._translated = translated
        self._listings = state.listings
        self._votes = state.vote_counts
        self._thread = ThreadPoolExecutor(1, "search")
        self._table: SearchTable | None = None
        self._noted: dict[str, None] = {}
        self._woken = asyncio.Event()
        self._is_outdated = self._has_failed = False
        self._in_hand = 0
        self._waiting: list[str] = []
        """The askers of the searches that wait."""
        self._pause_seconds = pause_seconds
        self._keeping = keeping
        self.has_looked = asyncio.Event()
        """Is set once it is known that there is no file, or once the catalogue is read from it."""
        self._is_due = False
        """True if it is time to write what has changed."""
        self._changed: dict[str, None] = {}
        """The refs that have changed since they were last written."""
        self._built_ms = 0
        self.is_filled = asyncio.Event()
        """Is set while every listing is in the index."""

    @property
    def is_complete(self) -> bool:
        """True once every listing is in the index."""
        return self.is_filled.is_set()

    @property
    def count(self) -> int:
        """The number of listings in the index."""
        return self._table.count if self._table is not None else 0

    @property
    def dead(self) -> int:
        """The number of rows that no listing has any more."""
        return self._table.dead if self._table is not None else 0

    @property
    def queued(self) -> int:
        """The number of changed listings that are not in the index yet."""
        return len(self._noted) + self._in_hand

    async def find(self, text: str, key: IndexKey, most: int, month: int, asker: str) -> SearchResult:
        """Return the public listings under a key that match a text, the best first: all words before any word
        before near misses, then by the place of the words, then by votes of a month. Any text is allowed.
        Raises SearchUnavailable.

        Args:
            asker: the address that asks. It has a limit of its own.
        """
        kind = key.prefix.removesuffix("/")
        matches = await self._ask(lambda table: table.find(text, kind, most, marked(key)), asker)
        return SearchResult(self._by_votes(matches.sorts, month)[:most], matches.total, matches.read_as)

    async def names(self, text: str, kind: str, most: int, month: int, asker: str) -> list[str]:
        """Return public listings whose name goes on from a text, or has a word that does. Raises
        SearchUnavailable."""
        sorts = await self._ask(lambda table: table.names(text, kind, most), asker)
        return self._by_votes(sorts, month)[:most]

    async def similar(self, row: Listing, most: int, month: int, asker: str) -> list[str]:
        """Return the public listings most similar to a listing. Raises SearchUnavailable."""
        entry, kind = findable_of(row), kind_of(row.ref).plural
        if entry is None:
            return []
        shared = await self._ask(lambda table: table.similar(entry, kind), asker)
        in_month = self._votes.in_month
        return nlargest(most, shared, key=lambda ref: (shared[ref], in_month(ref, month)))

    async def _ask(self, question: Callable[[SearchTable], _T], asker: str) -> _T:
        table, waiting = self._table, self._waiting
        if table is None or len(waiting) >= WAITING or waiting.count(asker) >= OF_ONE:
            raise SearchUnavailable
        waiting.append(asker)
        try:
            return await self._in_thread(partial(question, table))
        except Exception as error:
            log.exception("a search failed")
            raise SearchUnavailable from error
        finally:
            waiting.remove(asker)

    def _by_votes(self, sorts: Sequence[Sequence[str]], month: int) -> list[str]:
        in_month = self._votes.in_month
        return [ref for refs in sorts for ref in sorted(refs, key=lambda ref: -in_month(ref, month))]

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in FREQUENT and isinstance(event, CHANGING):
                if len(self._noted) >= NOTED:
                    self._noted.clear()
                    self._is_outdated = True
                self._noted[event.ref] = None
                self._woken.set()

    async def keep(self, _: int) -> None:
        """Write what has changed to the disk, soon. Comes behind each snapshot: the journal reaches back to
        the snapshot before it."""
        self._is_due = True
        self._woken.set()

    async def run(self) -> None:
        """Follow the log until it is cancelled."""
        try:
            while True:
                try:
                    await self._follow()
                except Exception:
                    if not self._has_failed:
                        self._has_failed = True
                        log.exception("search is not available")
                    self._table, self._in_hand = None, 0
                    self.is_filled.clear()
                    await asyncio.sleep(self._pause_seconds)
        finally:
            self._table = None
            self._thread.shutdown(wait=False)  # searches that wait for it are answered

    async def _follow(self) -> None:
        """Build the index, and keep it up to date until it must be built again."""
        table = await self._looked() or await self._built()
        while not self._is_outdated and table.dead <= DEAD_ALLOWED + table.count and not self._is_old(table):
            self._woken.clear()
            await self._catch_up([table])
            await self._write(table)
            await self._woken.wait()

    async def _built(self) -> SearchTable:
        """Build a table of all listings. The table before it answers until the new one is complete, and both
        take the listings that change."""
        self._is_outdated = False
        before, table = self._table, await self._in_thread(partial(SearchTable, self._translated))
        tables = [table]
        if before is None:
            self._table = table
        else:
            tables.append(before)
        for refs in batched([*self._listings.refs], HANDED_OVER):
            await self._hand_over([table], refs)
            await self._catch_up(tables)
        await self._in_thread(table.settle)
        await self._in_thread(give_back_memory)
        if self._keeping is not None:
            self._keeping.file.kept, self._is_due = None, True
            self._built_ms = self._keeping.clock.now_ms()
        self._serve(table)
        if before is not None:
            await self._in_thread(before.close)
        return table

    def _serve(self, table: SearchTable) -> None:
        self._table = table
        self.is_filled.set()
        if self._has_failed:
            self._has_failed = False
            log.info("search is available again")

    def _is_old(self, table: SearchTable) -> bool:
        now_ms = self._keeping.clock.now_ms() if self._keeping is not None else 0
        return table.dead > 0 and now_ms - self._built_ms > OLD_DAYS * MS_PER_DAY

    async def _looked(self) -> SearchTable | None:
        """Return the table that is on disk, with all changes since; None if none can be used."""
        if self._keeping is None or self.has_looked.is_set():
            return None
        try:
            return await self._read(self._keeping)
        except Unavailable:  # of the journal, and the file is good
            return None
        except Exception as error:  # it is only a copy
            log.warning("the search index is built again: %s", error)
            await self._in_thread(self._keeping.file.discard)
            return None
        finally:
            self.has_looked.set()

    async def _read(self, keeping: Keeping) -> SearchTable | None:
        """Read the catalogue and the table. Raises Exception if the file cannot be used."""
        file, head = keeping.file, keeping.head()
        await keeping.synced(head)
        behind = await self._in_thread(partial(file.look, keeping.records, head))
        if behind is None or file.kept is None:
            return None
        self._changed.update(dict.fromkeys(behind))
        self._built_ms, self._is_due = file.kept.built_ms, True
        changed = sorted(behind.union(file.kept.refs))
        await self._read_catalogue(file, keeping.catalogue, changed)
        self.has_looked.set()
        table = await self._in_thread(partial(SearchTable, self._translated))
        await self._in_thread(partial(file.read, table))
        for some in batched(changed, HANDED_OVER):
            await self._hand_over([table], some)
        await self._catch_up([table])
        self._serve(table)
        return table

    async def _read_catalogue(self, file: IndexFile, catalogue: Catalogue, changed: Sequence[str]) -> None:
        rows_of_file, keys = file.rows(), list[IndexKey]()
        while (rows := await self._in_thread(partial(next, rows_of_file, None))) is not None:
            catalogue.take(rows, keys)
        for _ in catalogue.taken(changed):
            await asyncio.sleep(0)

    async def _write(self, table: SearchTable) -> None:
        """Write what has changed since the last time, if it is due; or the whole table, if too much has."""
        keeping = self._keeping
        if keeping is None or not self._is_due or self._is_outdated or table.count < KEPT_FROM:
            return
        if not keeping.catalogue.is_complete:
            return  # `keep` is called again
        # A listing that changes again meanwhile is in the catalogue's new notes.
        noted, keeping.catalogue.changed = keeping.catalogue.changed, {}
        self._is_due, position, changed = False, keeping.head(), {**self._changed, **noted}
        try:
            await keeping.synced(position)
            if keeping.file.is_full:
                await self._write_whole(keeping, table, position)
            else:
                await self._in_thread(partial(keeping.file.append, position, [*changed]))
        except (OSError, Unavailable) as error:
            log.error("the search index is not written: %s", error)
            self._changed = changed
        else:
            self._changed.clear()

    async def _write_whole(self, keeping: Keeping, table: SearchTable, position: int) -> None:
        file = keeping.file
        new = await self._in_thread(partial(file.begin, self._built_ms))
        try:
            for rows in keeping.catalogue.rows():
                await self._in_thread(partial(file.add_rows, new, rows))
            pieces = table.pieces()
            while await self._in_thread(partial(file.add_piece, new, pieces)):
                pass  # searches come between two pieces, and changes wait
            await keeping.synced(keeping.head())  # rows of the catalogue may be newer than the position
            await self._in_thread(partial(file.finish, new, self._built_ms, position, table.numbers))
        finally:
            await self._in_thread(new.close)

    async def _catch_up(self, tables: Sequence[SearchTable]) -> None:
        while refs := list(islice(self._noted, HANDED_OVER)):
            for ref in refs:
                del self._noted[ref]
            self._in_hand = len(refs)
            await self._hand_over(tables, refs)
            self._in_hand = 0

    async def _hand_over(self, tables: Sequence[SearchTable], refs: Sequence[str]) -> None:
        entries: list[Findable] = []
        gone: list[str] = []
        for some in batched(refs, SLICE):
            for ref in some:
                entry = findable_of(self._listings.peek(ref)) if ref in self._listings else None
                if entry is None:
                    gone.append(ref)
                else:
                    entries.append(entry._replace(ref=ref))  # the same string in all tables
            await asyncio.sleep(0)
        for table in tables:
            changed = await self._in_thread(partial(table.put, entries, gone))
            if self._keeping is not None:
                self._changed.update(dict.fromkeys(changed))

    async def _in_thread(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)


def findable_of(row: Listing) -> Findable | None:
    """Return the part of a listing that can be found; None if not everybody may find it."""
    kind, profile = kind_of(row.ref), row.profile
    if not row.is_public or kind.is_unlisted(profile):
        return None
    return Findable(
        row.ref,
        profile.name,
        "\n".join(kind.near_words(profile)),
        "\n".join(beginning(text, READ) for text in kind.further_words(profile)),
        kind.values(profile, "category"),
        kind.values(profile, "keyword"),
        tuple(filter(None, kind.values(profile, "language"))),
    )


def marked(key: IndexKey) -> Sequence[str]:
    """Return the marked words of the listings under a key."""
    parts = (of_category, key.category), (with_tag, key.keyword), (in_language, key.language)
    return [mark(part) for mark, part in parts if part]


def give_back_memory() -> None:
    """Return freed memory to the system. A build leaves 300 bytes a listing, which glibc would keep; this
    takes 5 ms with 100,000 listings, at most a part of it while other threads wait for memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a libc may have none
    if trim is not None:
        trim(0)


def batched(refs: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for first in range(0, len(refs), size):
        yield refs[first : first + size]
