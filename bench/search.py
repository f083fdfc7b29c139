"""The cost of search: its tables beside SQLite's own tokenizers, and the index at work beside the loop.

    python -m bench.search [--listings 100000] [--rounds 3] [--parts starts tables work]

The listings are made up: words of a language that nobody speaks, some of them in nearly every text and most
of them in few, as in a natural one; one listing in ten is Japanese. The queries look for bots, of which there
are most, and are those that cost most of their sort. A time of the tables is the processor time of the
thread that asks. A stall of the loop is what a timer of it is late; up to a millisecond of it is the timer's
own. A loop that never sleeps, as in `bench/markdown.py`, would leave the thread nothing: SQLite gives the
interpreter away at each row. Gateways start on one data folder, with pages for people and without.
"""

import argparse
import asyncio
import gc
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Protocol

import uvloop

from bench.beside_pages import with_settings
from bench.charts import machine
from bench.markdown import awake_seconds
from bench.people_pages import SITE
from bench.servers import Server, running, votegate
from bench.state_disk import seed_folder
from core.clock import month_of
from core.events import ListingSaved
from core.packing import pack
from core.rows import Listing, Reviewed
from core.state import State
from gateway.serve import tune_interpreter
from kinds.bots import BotProfile
from kinds.registry import AnyProfile
from kinds.servers import ServerProfile
from search.catalogue import IndexKey
from search.index import SearchIndex, findable_of
from search.kind_table import Findable
from search.search_table import Matches, SearchTable
from serving.timeline import resident_bytes
from tests.support.memory_ledger import empty_state

MOST = 48
"""The results of a query."""
ASKER = "127.0.0.1"
BOTS = IndexKey("bots/")
WORDS = 30_000
NOW_MS = 1_750_000_000_000
MONTH = month_of(NOW_MS)
OWNER = "222222222222222222"
SYLLABLES = [first + vowel for first in "bcdfghjklmnprstvwz" for vowel in "aeiou"]
KANA = "あいうえおかきくけこさしすせそたちつてとなにぬねのはひふへほまみむめもやゆよらりるれろわをん"
KANJI = "音楽再生機能検索管理自動投票通知設定会話翻訳画像動画配信遊戯学習天気時計計算"
ASKED = 300
"""Queries of each sort."""
ASKED_OF_PLAIN = 10
"""Queries of each sort for a table to compare with. Some of its queries take half a second."""
CHANGES = 300
TIMER_SECONDS = 0.001
PARTS = ("starts", "tables", "work")


class Texts:
    """Makes texts. Word n comes 1/n as often as the first."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        made = dict[str, None]()
        while len(made) < WORDS:
            length = 1 + min(int(self._chance.expovariate(0.7)), 3)
            made["".join(self._chance.choices(SYLLABLES, k=length))] = None
        self.words = [*made]
        self._weights = [*accumulate(1 / (number + 1) for number in range(WORDS))]

    def text(self, count: int) -> str:
        return " ".join(self._chance.choices(self.words, cum_weights=self._weights, k=count))

    def name(self) -> str:
        """Words of a name are not the most frequent ones."""
        return " ".join(self._chance.choices(self.words[100:], k=self._chance.randint(1, 3))).title()

    def japanese(self, count: int) -> str:
        return "".join(self._chance.choices(KANA + KANJI * 2, k=count))


def rows(count: int) -> list[Listing]:
    """Return listings. Of ten, eight are bots, and one is Japanese."""
    texts, found = Texts(1), []
    for number in range(count):
        if number % 10 == 1:
            profile: AnyProfile = BotProfile(
                texts.japanese(8), texts.japanese(60), texts.japanese(400), ("Music",)
            )
        elif number % 10 < 9:
            profile = BotProfile(texts.name(), texts.text(14), texts.text(150), ("Utility", "Fun"))
        else:
            profile = ServerProfile(texts.name(), texts.text(30), ("chess", "books"), "Education")
        kind = "servers" if isinstance(profile, ServerProfile) else "bots"
        ref = f"{kind}/{2 * 10**17 + number}"
        found.append(Listing(ref, OWNER, profile, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS)))
    return found


def queries(listed: Sequence[Findable]) -> Mapping[str, list[str]]:
    """Return queries by their sort."""
    texts, chance = Texts(1), random.Random(2)
    often, seldom = texts.words[:20], texts.words[2_000:]

    def some(make: Callable[[], str]) -> list[str]:
        return [make() for _ in range(ASKED)]

    return {
        "a whole name": some(lambda: chance.choice(listed).name),
        "the beginning of a name": some(lambda: chance.choice(listed).name[: chance.randint(2, 6)]),
        "a rare word": some(lambda: chance.choice(seldom)),
        "a word that nearly every text has": some(lambda: chance.choice(often)),
        "two such words": some(lambda: " ".join(chance.sample(often, 2))),
        "five such words": some(lambda: " ".join(chance.sample(often, 5))),
        "a frequent word and a rare one": some(lambda: f"{chance.choice(often)} {chance.choice(seldom)}"),
        "one letter": some(lambda: chance.choice("abcdefghijklmnoprstuvwz")),
        "three letters": some(lambda: chance.choice(often)[:2] + chance.choice("bcdfghklmnprst")),
        "two Japanese characters": some(lambda: texts.japanese(2)),
        "one Japanese character": some(lambda: texts.japanese(1)),
        "a misspelled word": some(lambda: misspelled(chance.choice(seldom), chance)),
        "a word that is nowhere": some(lambda: "qx" + chance.choice(seldom)),
        "10 KB of operators": some(lambda: '" OR NEAR(* ^-:{a} AND NOT ' * 370),
        "10 KB of frequent words": some(lambda: " ".join(chance.choices(often, k=3_000))),
    }


def misspelled(word: str, chance: random.Random) -> str:
    """Return a word without one of its letters. The first letter stays."""
    at = chance.randrange(1, len(word))
    return word[:at] + word[at + 1 :]


class Table(Protocol):
    def put(self, entries: Sequence[Findable]) -> object: ...
    def settle(self) -> None: ...
    def find(self, text: str, kind: str, most: int) -> Sequence[object]: ...
    def close(self) -> None: ...


class PlainTable:
    """One table of FTS5 with a tokenizer of SQLite's, and the words of a query as strings of its syntax."""

    def __init__(self, tokenizer: str, *, begins: bool) -> None:
        self._begins = "*" if begins else ""
        self._sql = sqlite3.connect(":memory:", isolation_level=None)
        self._sql.executescript(
            "CREATE TABLE refs (id INTEGER PRIMARY KEY, ref TEXT);"
            f"CREATE VIRTUAL TABLE texts USING fts5(name, rest, content='', tokenize='{tokenizer}');"
        )

    def put(self, entries: Sequence[Findable]) -> None:
        self._sql.execute("BEGIN")
        for entry in entries:
            row = self._sql.execute("INSERT INTO refs (ref) VALUES (?)", (entry.ref,)).lastrowid
            texts = (row, entry.name, f"{entry.near} {entry.rest}")
            self._sql.execute("INSERT INTO texts (rowid, name, rest) VALUES (?, ?, ?)", texts)
        self._sql.execute("COMMIT")

    def settle(self) -> None:
        self._sql.execute("INSERT INTO texts (texts) VALUES ('optimize')")

    def find(self, text: str, _: str, most: int) -> list[str]:
        words = [word.replace('"', '""') for word in text[:256].split()]
        expression = " AND ".join(f'"{word}"' for word in words) + self._begins
        found = self._sql.execute(
            "SELECT ref FROM texts JOIN refs ON id = texts.rowid WHERE texts MATCH ?"
            " ORDER BY bm25(texts, 8, 1) LIMIT ?",
            (expression, most),
        )
        return [ref for (ref,) in found]

    def close(self) -> None:
        self._sql.close()


TABLES: Mapping[str, Callable[[], Table]] = {
    "search/": SearchTable,
    "unicode61": lambda: PlainTable("unicode61", begins=True),
    "trigram": lambda: PlainTable("trigram", begins=False),
}
TRIALS = {
    "`quiz` finds Quiz Master": ("quiz", "Quiz Master"),
    "`qu` finds it, too": ("qu", "Quiz Master"),
    "`quizmaster` finds it, too": ("quizmaster", "Quiz Master"),
    "`music` finds MusicBot": ("music", "MusicBot"),
    "`pokemon` finds Pokémon": ("pokemon", "Pokémon"),
    "`isik` finds IŞIK": ("isik", "IŞIK"),
    "`音楽` finds 日本の音楽再生": ("音楽", "日本の音楽再生"),
    "`楽` finds it, too": ("楽", "日本の音楽再生"),
    "`🎵` finds Play 🎵": ("🎵", "Play 🎵"),
    "`art` does not find Party": ("art", "Party"),
}


class Costs(NamedTuple):
    seconds: float
    bytes_each: float
    ms: Mapping[str, Sequence[float]]
    """The times of each sort of query, in order."""

    @property
    def all_ms(self) -> Sequence[float]:
        return sorted(ms for each in self.ms.values() for ms in each)


def p99(ordered: Sequence[float]) -> float:
    return ordered[len(ordered) * 99 // 100]


def costs(make: Callable[[], Table], listed: Sequence[Findable], asked: Mapping[str, list[str]]) -> Costs:
    gc.collect()
    before, began = resident_bytes(), time.thread_time()
    table = make()
    for first in range(0, len(listed), 64):
        table.put(listed[first : first + 64])
    table.settle()
    seconds = time.thread_time() - began
    gc.collect()
    each = (resident_bytes() - before) / len(listed)
    number = ASKED if isinstance(table, SearchTable) else ASKED_OF_PLAIN
    took = {sort: sorted(_ms(table, text) for text in texts[:number]) for sort, texts in asked.items()}
    table.close()
    return Costs(seconds, each, took)


def _ms(table: Table, text: str) -> float:
    began = time.thread_time()
    table.find(text, "bots", MOST)
    return (time.thread_time() - began) * 1_000


def found(make: Callable[[], Table], text: str, name: str) -> bool:
    table = make()
    table.put([Findable("bots/1", name, "", "")])
    try:
        refs = table.find(text, "bots", MOST)
        return any(refs.sorts if isinstance(refs, Matches) else refs)
    finally:
        table.close()


def compare(listed: Sequence[Findable]) -> None:
    asked = queries(listed)
    measured = {name: costs(make, listed, asked) for name, make in TABLES.items()}
    head(f"{len(listed):,} listings", measured)
    row("seconds to index them", [f"{each.seconds:.2f}" for each in measured.values()])
    row("bytes of memory a listing", [f"{each.bytes_each:,.0f}" for each in measured.values()])
    row("all queries, p50 ms", [f"{statistics.median(each.all_ms):.2f}" for each in measured.values()])
    row("all queries, p99 ms", [f"{p99(each.all_ms):.2f}" for each in measured.values()])
    row("the slowest query, ms", [f"{each.all_ms[-1]:.2f}" for each in measured.values()])
    head("p99 of a query, ms", measured)
    for sort in asked:
        row(sort, [f"{p99(each.ms[sort]):.2f}" for each in measured.values()])
    head("what is found", measured)
    for about, (text, name) in TRIALS.items():
        right = "does not" not in about
        row(about, ["yes" if found(make, text, name) == right else "no" for make in TABLES.values()])


def head(title: str, columns: Sequence[str] | Mapping[str, object]) -> None:
    print(f"\n| {title} | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}", flush=True)


def row(title: str, cells: Sequence[str]) -> None:
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


class AtWork(NamedTuple):
    seconds: float
    """From the start until every listing is found."""
    busy_seconds: float
    """The time of the processor meanwhile, with that of the searches."""
    stall_ms: float
    beside_ms: Sequence[float]
    """Searches while it was built."""
    ms: Sequence[float]
    """Searches when nothing else goes on."""
    found_ms: Sequence[float]
    """From a change until a search finds it."""


class Timer:
    """The longest time by which a timer of the loop was late."""

    def __init__(self) -> None:
        self.latest_ms = 0.0

    async def run(self) -> None:
        while True:
            set_at = awake_seconds()
            await asyncio.sleep(TIMER_SECONDS)
            late = awake_seconds() - set_at - TIMER_SECONDS
            self.latest_ms = max(self.latest_ms, late * 1_000)


async def at_work(listings: Sequence[Listing], asked: Sequence[str]) -> AtWork:
    state = empty_state()
    state.load_packed([each.ref for each in listings], [pack(each) for each in listings], 0, [])
    state.loaded()
    tune_interpreter()  # as a gateway does with a state that was recovered
    index, timer, chance = SearchIndex(state), Timer(), random.Random(3)
    timing = asyncio.create_task(timer.run())
    began, busy = time.perf_counter(), time.process_time()
    following = asyncio.create_task(index.run())
    await asyncio.sleep(0.05)
    beside = []
    while not index.is_complete:
        beside.append(await _search_ms(index, chance.choice(asked)))
        await asyncio.sleep(0.1)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    timing.cancel()
    calm = [await _search_ms(index, text) for text in asked]
    found_ms = [await _found_ms(index, state, number) for number in range(CHANGES)]
    following.cancel()
    await asyncio.wait([following])
    return AtWork(seconds, busy, timer.latest_ms, sorted(beside), sorted(calm), sorted(found_ms))


async def _search_ms(index: SearchIndex, text: str) -> float:
    began = time.perf_counter()
    await index.find(text, BOTS, MOST, MONTH, ASKER)
    return (time.perf_counter() - began) * 1_000


async def _found_ms(index: SearchIndex, state: State, number: int) -> float:
    began, name = time.perf_counter(), f"changed{number}"
    profile = BotProfile(name, "It has another name now", "", ("Utility",))
    event = ListingSaved(f"bots/{3 * 10**17 + number}", OWNER, profile, "approved", NOW_MS)
    state.apply(event)
    index.on_record(number, [event])
    while not (await index.find(name, BOTS, MOST, MONTH, ASKER)).refs:
        pass
    return (time.perf_counter() - began) * 1_000


class Started(NamedTuple):
    """A gateway on a data folder of as many bots."""

    seconds: float
    """From the start of the process until it serves."""
    cpu_seconds: float
    """The processor's time until then."""
    found_seconds: float
    """From then until its search has found the last listing; 0 without a search."""
    found_cpu_seconds: float
    bytes: int


def start(server: Server, log: Path, last: str | None) -> Started:
    began = time.perf_counter()
    with running(server, log) as gateway:
        seconds, cpu, found_seconds, found_cpu = time.perf_counter() - began, gateway.cpu_seconds(), 0.0, 0.0
        connection = HTTPConnection("127.0.0.1", gateway.port)
        while last is not None and not found_seconds:
            connection.request("GET", f"/bots.json?q={last}")
            if f'"id":"{last}"'.encode() in connection.getresponse().read():
                found_seconds = time.perf_counter() - began - seconds
                found_cpu = gateway.cpu_seconds() - cpu
            time.sleep(0.25)
        return Started(seconds, cpu, found_seconds, found_cpu, gateway.resident())


def starts(count: int, rounds: int) -> None:
    last = 2 * 10**17 + count - 1
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "data").mkdir(mode=0o700)
        seed_folder(place / "data", [(f"bots/{last - number}", 0) for number in reversed(range(count))])
        plain = votegate(place / "data")
        site = with_settings(plain, "with pages", SITE)
        pairs = [
            (start(plain, place / "plain.log", None), start(site, place / "site.log", str(last)))
            for _ in range(rounds)
        ]
    head(f"a start with {count:,} bots", [f"round {number + 1}" for number in range(rounds)])
    row("seconds until it serves, without pages", [f"{one.seconds:.2f}" for one, _ in pairs])
    row("seconds until it serves, with pages", [f"{other.seconds:.2f}" for _, other in pairs])
    row("processor seconds until then, without pages", [f"{one.cpu_seconds:.2f}" for one, _ in pairs])
    row("processor seconds until then, with pages", [f"{other.cpu_seconds:.2f}" for _, other in pairs])
    row(
        "processor seconds from then until the last is found",
        [f"{other.found_cpu_seconds:.2f}" for _, other in pairs],
    )
    row("seconds from then until the last is found", [f"{other.found_seconds:.2f}" for _, other in pairs])
    row("memory without pages, MB", [f"{one.bytes / 1e6:.0f}" for one, _ in pairs])
    row("memory with pages and their index, MB", [f"{other.bytes / 1e6:.0f}" for _, other in pairs])


def work(listings: Sequence[Listing], asked: Sequence[str], rounds: int) -> None:
    done = [uvloop.run(at_work(listings, asked)) for _ in range(rounds)]
    head("the index at work", [f"round {number + 1}" for number in range(rounds)])
    row("seconds from the start until all are indexed", [f"{each.seconds:.2f}" for each in done])
    row("seconds of the processor meanwhile", [f"{each.busy_seconds:.2f}" for each in done])
    row("longest stall of the loop meanwhile, ms", [f"{each.stall_ms:.1f}" for each in done])
    row("a search meanwhile, p99 ms", [f"{p99(each.beside_ms):.1f}" for each in done])
    row("a search afterwards, p50 ms", [f"{statistics.median(each.ms):.2f}" for each in done])
    row("a search afterwards, p99 ms", [f"{p99(each.ms):.1f}" for each in done])
    row(
        "from a change until it is found, p50 ms",
        [f"{statistics.median(each.found_ms):.1f}" for each in done],
    )
    row("from a change until it is found, slowest, ms", [f"{each.found_ms[-1]:.1f}" for each in done])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.search")
    parser.add_argument("--listings", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    given = parser.parse_args()
    tune_interpreter()
    print(f"{machine()}, SQLite {sqlite3.sqlite_version}")
    if "starts" in given.parts:
        starts(given.listings, given.rounds)
    listings = rows(given.listings)
    listed = [each for each in map(findable_of, listings) if each is not None]
    if "tables" in given.parts:
        compare(listed)
    if "work" in given.parts:
        asked = [text for texts in queries(listed).values() for text in texts]
        random.Random(4).shuffle(asked)
        work(listings, asked, given.rounds)


if __name__ == "__main__":
    main()
