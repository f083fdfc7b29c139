"""`python -m bench.list_orders FOLDER`: orders of lists that live while votes come, in one process.

The folder is one of `python -m bench.state_folder`. A reader asks for 12 lists in turn and follows their
pages. Meanwhile votes come for listings by chance. The time of the orders is the processor time of noting,
moving and snapshots; a latency includes all that the loop does meanwhile, and what the machine does.
"""

import argparse
import asyncio
import random
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import ParamSpec, TypeVar

import uvloop

from bench.charts import machine
from core.clock import SystemClock, day_of, month_of_day
from core.events import VoteCast
from core.state import State
from gateway.serve import tune_interpreter
from handlers.slices import in_slices
from kinds.bots import CATEGORIES
from search.catalogue import Catalogue, IndexKey
from search.list_keeper import ListKeeper
from search.list_orders import SORTS, ListOrder, ListOrders
from snapshot.recovery import recover
from storage.folder import Folder, kept_keys

BOTS, SERVERS = IndexKey("bots/"), IndexKey("servers/")
SECONDS, RATE = 30.0, 1_000
PAUSE_SECONDS = 0.02
"""The pause between two pages of the reader."""
P = ParamSpec("P")
T = TypeVar("T")


class Costs:
    """Processor time by its name."""

    def __init__(self) -> None:
        self.seconds = dict[str, float]()
        self.longest = 0.0

    def of(self, name: str, call: Callable[P, T]) -> Callable[P, T]:
        def timed(*args: P.args, **named: P.kwargs) -> T:
            begin = time.process_time()
            try:
                return call(*args, **named)
            finally:
                self._add(name, time.process_time() - begin)

        return timed

    def of_slices(self, name: str, slices: Iterator[None]) -> Iterator[None]:
        step = self.of(name, lambda: next(slices, StopIteration))
        while step() is not StopIteration:
            yield

    def _add(self, name: str, seconds: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.longest = max(self.longest, seconds)


class Scene:
    def __init__(self, state: State) -> None:
        self.clock, self.costs, self.state = SystemClock(), Costs(), state
        self.catalogue = Catalogue(state)
        for _ in self.catalogue.survey():
            pass
        self.orders = ListOrders(self.catalogue, state.vote_counts, 1)
        self.catalogue.watchers.append(self.orders.moved)
        state.before_change.append(self.costs.of("notes", self.orders.changing))
        drain = self.orders.drain
        self.orders.drain = lambda now_ns: self.costs.of_slices("drains", drain(now_ns))  # type: ignore[method-assign]
        self.keeper = ListKeeper(self.orders, self.clock, in_slices)
        self.day = day_of(self.clock.now_ms())
        month = month_of_day(self.day)
        self.lists = [
            *(ListOrder(BOTS, sort) for sort in SORTS),
            *(ListOrder(SERVERS, sort) for sort in SORTS),
            *(
                ListOrder(IndexKey("bots/", category=each), "month")
                for each in sorted(filter(None, CATEGORIES))[:2]
            ),
            ListOrder(BOTS, "trending"),
            ListOrder(BOTS, "month", month - 1),
        ]

    async def read(self, seconds: float) -> list[float]:
        """Ask for the lists in turn, and return the milliseconds of each answer."""
        after: dict[ListOrder, str | None] = {}
        end, found = time.monotonic() + seconds, list[float]()
        while time.monotonic() < end:
            order = self.lists[len(found) % len(self.lists)]
            begin = time.perf_counter()
            page, _ = await self.keeper.page(order, after.get(order), 24)
            found.append((time.perf_counter() - begin) * 1_000)
            after[order] = page.next
            await asyncio.sleep(PAUSE_SECONDS)
        return found

    async def vote(self, rate: int) -> None:
        """Cast so many votes a second, until this is cancelled."""
        chance, refs, begin, cast = random.Random(1), self.state.listings.refs, time.monotonic(), 0
        while True:
            while cast < (time.monotonic() - begin) * rate:
                cast += 1
                ref, user = chance.choice(refs), str(chance.randrange(10**17, 10**18))
                of_day, of_month = self.state.vote_counts.at(ref, self.state.fleet.own, self.day)
                event = VoteCast(ref, user, 1, self.clock.now_ms(), "", of_day + 1, of_month + 1)
                self.state.apply(event)
                self.catalogue.on_record(1, [event])
            await asyncio.sleep(0.01)


async def measure(scene: Scene, seconds: float, rate: int) -> Iterable[tuple[str, str]]:
    keeping = asyncio.create_task(scene.keeper.run())
    begin = time.process_time()
    await scene.keeper.prepare(scene.lists)
    made = time.process_time() - begin
    places = scene.orders.places
    voting = asyncio.create_task(scene.vote(rate))
    ms = sorted(await scene.read(seconds))
    voting.cancel()
    keeping.cancel()
    share = sum(scene.costs.seconds.values()) / seconds
    return [
        ("12 orders made, places", f"{places:,}"),
        ("their CPU, s", f"{made:.1f}"),
        (f"orders while {rate:,} votes/s come, % of a core", f"{100 * share:.1f}"),
        ("longest slice, ms", f"{1_000 * scene.costs.longest:.1f}"),
        ("list p50, ms", f"{ms[len(ms) // 2]:.2f}"),
        ("list p99, ms", f"{ms[len(ms) * 99 // 100]:.2f}"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.list_orders")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--votes", type=int, default=RATE, help="a second")
    arguments = parser.parse_args()
    keys = kept_keys(arguments.folder, needed=True)
    scene = Scene(recover(Folder(arguments.folder, keys), lambda: State(100)).state)
    tune_interpreter()
    print(f"{machine()}\n\n| {len(scene.state.listings):,} listings | |\n| --- | ---: |")
    for name, value in uvloop.run(measure(scene, arguments.seconds, arguments.votes)):
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
