"""Many listings of each kind: their memory, the start, searches and lists, and what they cost a vote check.

    python -m bench.each_kind [--listings 100000] [--kinds bots ...] [--rounds 3] [--together]

A gateway with pages starts on a folder with so many listings of one kind, then of the next; with `--together`
on a folder with all of them. The listings are made from the declarations: the words of `bench/search.py`, one
of the categories each, an owner each, and the checks of the chat platform that the kind has. The memory of a
listing is that of the started process once its indexes are complete, less that of a process without listings,
less the bytes of the listing's profile as a snapshot holds it.

Every second listing has votes or likes of the last weeks. Requests come one after the other over one
connection. A time is the processor time of the gateway until the answer is read, with all of its threads: so
the work of other processes on the machine is not in it.

At last, two gateways answer vote checks in turns: one with all kinds that were chosen, and one without.
"""

import argparse
import math
import random
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import replace

from bench.beside_pages import with_settings
from bench.charts import machine
from bench.load import closed_loop
from bench.people_pages import SITE
from bench.search import Texts, head, misspelled, row
from bench.servers import OPERATOR, Running, running, votegate
from bench.state import in_process
from bench.state_disk import seed_state
from bench.world import add_callers, list_bots, write_requests
from core.clock import SystemClock, day_of, month_of
from core.events import VoteCast
from core.packing import pack
from core.rows import Eligibility, Listing, Reviewed, ServerCheck, TemplateCheck
from forms.file_fields import FileRef
from kinds.kind import Given, Kind, Made, Profile, choices_of
from kinds.registry import BY_PLURAL, KINDS
from kinds.shared_fields import TEXT_LANGUAGES
from pages.public.lists import sorts_of
from tests.support.memory_ledger import empty_state

NOW_MS = SystemClock().now_ms()
FIRST = 2 * 10**17
ASKED = 300
"""Requests of each sort."""
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
CHECKED = [(f"bots/{10**17 + number}", 1) for number in range(100)]
"""Bots whose votes are checked."""
CONNECTIONS = 64
SECONDS = 2
IDLE_SHARE = 0.02
"""The share of a core that a gateway takes while nothing is left to do after its start."""


def ref_of(kind: Kind, number: int) -> str:
    """Return a ref with an id such as the kind's ids are."""
    match kind.id:
        case Made(byte_count=count):
            return kind.ref(f"{number * 2_654_435_761 % (1 << 8 * count):0{2 * count}x}")
        case Given() if not kind.has_snowflakes:
            digits = (number * 2_654_435_761 // 62**place % 62 for place in range(12))
            return kind.ref("".join(LETTERS[digit] for digit in digits))
    return kind.ref(str(FIRST + number))


def profile_of(kind: Kind, number: int, texts: Texts, chance: random.Random) -> Profile:
    """Return the sample of a profile with texts, choices, files and unique values of its own."""
    made = dict[str, Any]()
    for name, shown in kind.shown.items():
        value = getattr(kind.sample, name)
        if name in kind.file_rules:
            value = _own_files(value, number)
        elif shown.finds == "title":
            value = texts.name()
        elif shown.widget == "text":
            value = texts.text(150 if kind.summary(kind.sample) != value else 24)
        elif shown.finds == "word" and isinstance(value, str):
            value = texts.text(12)
        elif shown.finds == "category":
            choice = chance.choice([*choices_of(kind.fields[name])])
            value = (choice,) if isinstance(value, tuple) else choice
        elif shown.finds == "keyword":
            value = tuple(texts.words[chance.randrange(20, 2_000)] for _ in range(2))
        elif shown.finds == "language":
            value = chance.choice([*TEXT_LANGUAGES])
        made[name] = value
    for names in kind.unique:
        is_colour = kind.shown[names[0]].widget == "colour"
        made[names[0]] = f"#{number:06x}" if is_colour else f"{texts.words[number % 9_000]}.{number}"
    return replace(kind.sample, **made)


def _own_files(value: FileRef | tuple[FileRef, ...] | None, number: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_own_files(each, number * 9 + place) for place, each in enumerate(value))
    return replace(value, digest=f"{number:064x}") if value is not None else None


def rows(kind: Kind, count: int) -> Iterator[Listing]:
    texts, chance = Texts(1), random.Random(2)
    checks = kind.checks.conditions if kind.checks is not None else ()
    met = tuple(ServerCheck(name, "pass", 60, 50, NOW_MS) for name in checks)
    for number in range(count):
        tree = FileRef(f"{number:064x}", "application/json", 4_000)
        yield Listing(
            ref_of(kind, number),
            str(FIRST + number),
            profile_of(kind, number, texts, chance),
            NOW_MS - number * 1_000,
            NOW_MS,
            Reviewed("approved", NOW_MS) if kind.review is not None else None,
            eligibility=Eligibility(NOW_MS, met) if checks else None,
            template=TemplateCheck(NOW_MS, uses=number, channels=40, roles=9, tree=tree)
            if kind.has("tree")
            else None,
        )


def votes(kind: Kind, count: int) -> Iterator[VoteCast]:
    """Yield votes or likes of the last weeks for every second listing, of which some grow."""
    if kind.tally is None:
        return
    for number in range(0, count, 2):
        ref, of_month = ref_of(kind, number), dict[int, int]()
        for voter in range(1 + number % 7):
            at_ms = NOW_MS - (voter * number % 40) * 86_400_000
            month = month_of(at_ms)
            of_month[month] = of_month.get(month, 0) + 1
            user = str(FIRST + (number * 7 + voter) % (2 * count))
            yield VoteCast(ref, user, 1, at_ms, "", 1, of_month[month], day_of(at_ms))


class Seeded(NamedTuple):
    profile_bytes: float
    """The bytes of a profile, packed."""
    row_bytes: float


def seed(path: Path, plurals: Sequence[str], count: int, voted: int) -> Seeded:
    """Make a data folder with so many listings of each kind, of which so many may have votes."""
    state, profiles, packed = empty_state(), 0, 0
    for kind in map(BY_PLURAL.__getitem__, plurals):
        for row_ in rows(kind, count):
            content = pack(row_)
            profiles += len(msgspec.msgpack.encode(row_.profile))
            packed += len(content)
            state.load_packed([row_.ref], [content], 0, [])
    state.loaded()
    for plural in plurals:
        for vote in votes(BY_PLURAL[plural], voted):
            state.apply(vote)
    last = VoteCast("bots/1", "1", 1, NOW_MS)
    seed_state(path, state, last)
    number = max(count * len(plurals), 1)
    return Seeded(profiles / number, packed / number)


class Started(NamedTuple):
    seconds: float
    """From the start of the process until it serves."""
    cpu_seconds: float
    """The processor's time until then."""
    settled_seconds: float
    """From then until the indexes are complete."""
    bytes: int


def settled(gateway: Running) -> None:
    """Wait until a gateway has nothing left to do."""
    quiet, before = 0, gateway.cpu_seconds()
    while quiet < 4:
        time.sleep(0.5)
        now = gateway.cpu_seconds()
        quiet, before = quiet + 1 if now - before <= IDLE_SHARE * 0.5 else 0, now


def started(place: Path, folder: Path) -> Started:
    began = time.perf_counter()
    with running(with_settings(votegate(folder), "with pages", SITE), place / "log") as gateway:
        seconds, cpu_seconds = time.perf_counter() - began, gateway.cpu_seconds()
        settled(gateway)
        took = time.perf_counter() - began - seconds
        return Started(seconds, cpu_seconds, took, gateway.resident())


def searches(kind: Kind, count: int) -> Mapping[str, list[str]]:
    """Return the paths that are asked for, by their sort."""
    texts, chance, here = Texts(1), random.Random(3), f"/{kind}.json"
    often = texts.words[:20] if kind.finds_by("word") else texts.words[100:120]  # which names have
    seldom = texts.words[2_000:]
    categories = [*kind.categories]

    def asking(**query: str) -> str:
        return f"{here}?{urlencode(query, quote_via=quote)}"

    made: dict[str, list[str]] = {
        "a frequent word": [asking(q=chance.choice(often)) for _ in range(ASKED)],
        "two such words": [asking(q=" ".join(chance.sample(often, 2))) for _ in range(ASKED)],
        "a rare word": [asking(q=chance.choice(seldom)) for _ in range(ASKED)],
        "a misspelled word": [asking(q=misspelled(chance.choice(seldom), chance)) for _ in range(ASKED)],
        "the beginning of a word": [asking(q=chance.choice(often)[:2]) for _ in range(ASKED)],
    }
    if categories:
        made["a word, in a category"] = [
            asking(q=chance.choice(often), category=chance.choice(categories)) for _ in range(ASKED)
        ]
        made["a category"] = [asking(category=chance.choice(categories)) for _ in range(ASKED)]
    if kind.finds_by("keyword"):
        made["a tag"] = [asking(keyword=chance.choice(texts.words[20:60])) for _ in range(ASKED)]
    if kind.finds_by("language"):
        languages = [*filter(None, TEXT_LANGUAGES)]
        made["a language"] = [asking(language=chance.choice(languages)) for _ in range(ASKED)]
    for sort in sorts_of(kind):
        made[f"order: {sort}"] = [asking(sort=sort)] * ASKED
    if kind.has("tally"):
        month = time.strftime("%Y-%m", time.gmtime(NOW_MS / 1_000))
        made["the ranking of the month"] = [f"/{kind}/ranking/{month}.json"] * ASKED
    made["home, with what is popular and trending"] = ["/index.json"] * ASKED
    made["a listing"] = [f"/{ref_of(kind, chance.randrange(count))}.json" for _ in range(ASKED)]
    return made


def busy_ms(pid: int) -> float:
    """Return the processor time that a process has used, in itself and in the kernel, to the microsecond."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e6


def times(gateway: Running, paths: Sequence[str]) -> list[float]:
    """Ask for each path once, and return the milliseconds of each. The first requests of an order wait until
    it is made."""
    connection, took = HTTPConnection("127.0.0.1", gateway.port), list[float]()
    for path in dict.fromkeys(paths):
        connection.request("GET", path)
        connection.getresponse().read()
    settled(gateway)
    for path in paths:
        began = busy_ms(gateway.pid)
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status not in {200, 301, 303, 308}:  # a profile is at its name
            raise AssertionError(f"{path}: {answer.status}")
        took.append(busy_ms(gateway.pid) - began)
    connection.close()
    return took


def p99(ordered: Sequence[float]) -> float:
    return ordered[len(ordered) * 99 // 100]


def measure(place: Path, plurals: Sequence[str], count: int, rounds: int) -> dict[str, str]:
    """Return the numbers of listings of some kinds, by their titles."""
    folders = {name: place / name for name in ("none", "listed", "voted")}
    for folder in folders.values():
        folder.mkdir(mode=0o700)
    in_process(seed, folders["none"], plurals, 0, 0)
    seeded = in_process(seed, folders["listed"], plurals, count, 0)
    in_process(seed, folders["voted"], plurals, count, count)
    empty = started(place, folders["none"])
    listed = [started(place, folders["listed"]) for _ in range(rounds)]
    each = (min(one.bytes for one in listed) - empty.bytes) / (count * len(plurals))
    found = {
        "bytes of a profile": f"{seeded.profile_bytes:,.0f}",
        "bytes of the packed row": f"{seeded.row_bytes:,.0f}",
        "memory a listing beside its profile": f"{each - seeded.profile_bytes:,.0f}",
        "memory a listing beside its row": f"{each - seeded.row_bytes:,.0f}",
        "seconds until it serves": f"{min(one.seconds for one in listed):.2f}",
        "processor seconds until it serves": f"{min(one.cpu_seconds for one in listed):.2f}",
        "seconds until its indexes are complete": f"{min(one.settled_seconds for one in listed):.1f}",
    }
    site = with_settings(votegate(folders["voted"]), "with pages", SITE)
    took = dict[str, list[float]]()
    with running(site, place / "log") as gateway:
        settled(gateway)
        for kind in map(BY_PLURAL.__getitem__, plurals):
            for title, paths in searches(kind, count).items():
                took.setdefault(title, []).extend(times(gateway, paths))
    for title, all_ms in took.items():
        found[f"p99 ms: {title}"] = f"{p99(sorted(all_ms)):.2f}"
    found["p99 ms: all of them"] = f"{p99(sorted(ms for all_ms in took.values() for ms in all_ms)):.2f}"
    return found


def vote_checks(place: Path, plurals: Sequence[str], count: int, rounds: int) -> None:
    """Compare vote checks with and without the listings, in turns."""
    best = {"without them": math.inf, "with them": math.inf}
    folders = {name: place / name.replace(" ", "-") for name in best}
    for folder, number in zip(folders.values(), (0, count), strict=True):
        folder.mkdir(mode=0o700)
        in_process(seed, folder, plurals, number, number)
        with running(votegate(folder), place / "log") as gateway:
            list_bots(gateway.port, OPERATOR, [ref for ref, _ in CHECKED])
            write_requests(folder.with_suffix(".requests"), add_callers(gateway.port, OPERATOR, CHECKED))
    for number in range(3 * rounds):
        for name in sorted(best, reverse=bool(number % 2)):
            requests = folders[name].with_suffix(".requests")
            with running(votegate(folders[name]), place / "log") as gateway:
                settled(gateway)
                before = gateway.cpu_seconds()
                asked = closed_loop(gateway.port, CONNECTIONS, SECONDS, requests).answered
                best[name] = min(best[name], (gateway.cpu_seconds() - before) / asked * 1e6)
    head(f"vote checks beside {count * len(plurals):,} listings", ["us of the processor", "ratio"])
    for name, us in best.items():
        row(name, [f"{us:.2f}", f"{us / best['without them']:.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.each_kind")
    parser.add_argument("--listings", type=int, default=100_000, help="of each kind")
    parser.add_argument("--kinds", nargs="+", choices=[*BY_PLURAL], default=[kind.plural for kind in KINDS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--together", action="store_true", help="also all of them in one gateway")
    given = parser.parse_args()
    print(machine())
    columns = {plural: [plural] for plural in given.kinds}
    if given.together:
        columns["together"] = given.kinds
    measured = dict[str, dict[str, str]]()
    for name, plurals in columns.items():
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
            measured[name] = measure(Path(folder), plurals, given.listings, given.rounds)
        head(f"{given.listings:,} listings", [name])
        for title, cell in measured[name].items():
            row(title, [cell])
    head(f"{given.listings:,} listings of each kind", [*measured])
    for title in dict.fromkeys(title for cells in measured.values() for title in cells):
        row(title, [cells.get(title, "") for cells in measured.values()])
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        vote_checks(Path(folder), given.kinds, given.listings, given.rounds)


if __name__ == "__main__":
    main()
