"""Kills gateways, again and again.

Invariant: after every kill, everything that was acknowledged is there, and no position is missing.

    python -m tests.system.faults.crash --rounds 1000 --seed N --workers 2

A round starts the gateway on the folder that the kill before it left, checks what it recovered against the
outside record (`recorded_load.py`), puts load on it and kills it (SIGKILL) at a moment drawn from the seed.
Snapshots and rotations happen all the time. The command ends with status 1 if anything was lost or a folder
could not be served; that folder is kept.
"""

import asyncio
import contextlib
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import click

from journal.segments import PREFIX as JOURNAL
from journal.segments import TORN_SUFFIX
from snapshot.files import PART_PREFIX
from snapshot.files import PREFIX as SNAPSHOT
from storage.folder import UNFINISHED
from tests.support import recorded_load
from tests.support.failing_disk import Action, Fault, Moment, Point
from tests.support.killable_gateway import DidNotStart, KillableGateway

ROUNDS_PER_FOLDER = 25  # so that a check takes no longer in the last round than in the first
VERIFY_EVERY = 5
LOAD_SECONDS = 0.4
SNAPSHOT_SECONDS = 0.03
ROUND_SECONDS = 60
"""A round that takes longer is stuck."""
SETTINGS = {
    **recorded_load.SETTINGS,
    "journal.segment_bytes": 65_536,
    "snapshot.interval_seconds": 0.2,
}


class Situation(StrEnum):
    LOAD = "under load"
    SNAPSHOT = "during a snapshot"
    ROTATION = "during a rotation"
    WRITE = "in the middle of a write"
    RECOVERY = "before it served"
    IDLE = "as soon as it served"


DRAWN = [situation for situation in Situation if situation is not Situation.IDLE]
ROTATION_STEPS = [
    Point.SEGMENT_CREATE,
    Point.SEGMENT_HEADER_WRITE,
    Point.SEGMENT_HEADER_SYNC,
    Point.SEGMENT_RENAME,
    Point.FOLDER_SYNC,
    Point.CONTINUED_WRITE,
    Point.CONTINUED_SYNC,
]


@dataclass
class Tally:
    seed: int
    rounds: int = 0
    kills: Counter[Situation] = field(default_factory=Counter)
    acknowledged: int = 0
    beyond: int = 0
    lost: int = 0
    failures: list[str] = field(default_factory=list)
    torn: int = 0
    half_rotated: int = 0
    half_written_snapshots: int = 0
    snapshots: int = 0
    segments: int = 0
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        return not self.lost and not self.failures

    def lines(self) -> str:
        kills = ", ".join(f"{self.kills[situation]} {situation}" for situation in Situation)
        rows = [
            ("rounds", f"{self.rounds}, with seed {self.seed}, in {self.seconds:.0f} s"),
            ("kills", f"{self.kills.total()}: {kills}"),
            ("caught by a kill", f"{self.half_rotated} rotations, {self.half_written_snapshots} snapshots"),
            ("files seen", f"{self.segments} segments, {self.snapshots} snapshots"),
            ("torn tails set aside", self.torn),
            ("changes acknowledged", self.acknowledged),
            ("recovered beyond these", f"{self.beyond} that were in flight"),
            ("lost", self.lost),
        ]
        return "\n".join([f"{name:<23}{value}" for name, value in rows] + self.failures)


class Seen:
    """Watches a folder from outside: which files have been there."""

    def __init__(self, folder: Path) -> None:
        self.names: set[str] = set()
        self._folder = folder

    def look(self) -> set[str]:
        """The names that are new."""
        names = {path.name for path in self._folder.iterdir()} if self._folder.exists() else set()
        new = names - self.names
        self.names |= new
        return new

    def count(self, prefix: str, suffix: str = "") -> int:
        """Whole files, unless the suffix says otherwise."""
        return sum(
            name.startswith(prefix) and (name.endswith(suffix) if suffix else "." not in name)
            for name in self.names
        )


class Worker:
    """Crashes one folder after another; a folder is used up after some rounds."""

    def __init__(self, path: Path, tally: Tally, seed: str) -> None:
        self._path = path
        self._tally = tally
        self._random = random.Random(seed)
        self._folders = 0
        self._start_seconds = 0.0

    async def crash(self, rounds: int) -> None:
        while rounds and self._tally.holds:
            await self._crash_folder(min(rounds, ROUNDS_PER_FOLDER))
            rounds -= min(rounds, ROUNDS_PER_FOLDER)

    async def _crash_folder(self, rounds: int) -> None:
        self._folders += 1
        folder = self._path / str(self._folders)
        self._gateway, self._seen, self._clients = (
            KillableGateway(folder, **SETTINGS),
            Seen(folder),
            recorded_load.clients(),
        )
        try:
            self._gateway.launch()
            base_url = await self._served()
            await recorded_load.prepare(base_url, self._clients)
            self._gateway.kill()
            for number in range(rounds):
                async with asyncio.timeout(ROUND_SECONDS):
                    await self._round(must_verify=number % VERIFY_EVERY == 0)
                self._tally.rounds += 1
            await self._stop()
        except (
            recorded_load.Lost,
            recorded_load.Gone,
            DidNotStart,
            AssertionError,
            TimeoutError,
            ExceptionGroup,
        ) as error:
            for cause in _causes(error):
                self._tally.lost += cause.count if isinstance(cause, recorded_load.Lost) else 0
                self._tally.failures.append(f"{folder}: {cause!r}")
            self._gateway.kill()
        else:
            shutil.rmtree(folder)
        self._count_files()

    async def _round(self, *, must_verify: bool) -> None:
        situation = self._random.choice(DRAWN)
        plan = self._plan(situation)
        self._gateway.launch(*plan)
        if situation is Situation.RECOVERY:
            await asyncio.sleep(self._random.uniform(0, self._start_seconds))
            self._kill(Situation.IDLE if self._gateway.has_told else situation)
            return
        with contextlib.suppress(recorded_load.Gone):  # a planned kill may come before there is load
            base_url = await self._served()
            self._record(await recorded_load.check(base_url, self._clients))
            if must_verify:
                await recorded_load.verify(base_url)
            loading = asyncio.create_task(recorded_load.run(base_url, self._clients))
            before = sum(client.acknowledged for client in self._clients)
            try:
                await self._moment(situation, base_url, loading)
            finally:
                self._kill(situation)
                await loading
                self._tally.acknowledged += sum(client.acknowledged for client in self._clients) - before
            return
        assert plan, f"it is gone, and nobody killed it: {self._gateway.log_tail()}"
        self._kill(situation)

    def _plan(self, situation: Situation) -> list[Fault]:
        """Return the faults by which the process kills itself where a kill from outside would miss."""
        if situation is Situation.WRITE:
            return [Fault(Point.JOURNAL_WRITE, Action.SHORT_KILL, nth=self._random.randint(1, 150))]
        if situation is Situation.ROTATION:
            step, moment = self._random.choice(ROTATION_STEPS), self._random.choice(list(Moment))
            return [Fault(step, Action.KILL, moment, nth=self._random.randint(1, 2))]
        return []

    async def _moment(self, situation: Situation, base_url: str, loading: asyncio.Task[None]) -> None:
        """Returns when it is time to kill."""
        if situation in {Situation.WRITE, Situation.ROTATION}:
            await asyncio.wait([loading], timeout=ROUND_SECONDS)  # it kills itself
            return
        await self._watch(self._random.uniform(0, LOAD_SECONDS))
        if situation is Situation.SNAPSHOT:
            taking = asyncio.create_task(_take_snapshot(base_url))
            await self._watch(self._random.uniform(0, SNAPSHOT_SECONDS))
            self._gateway.kill()
            await taking

    async def _watch(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._seen.look()
            await asyncio.sleep(0.002)

    def _kill(self, situation: Situation) -> None:
        self._gateway.kill()
        tally, names = self._tally, {path.name for path in self._gateway.folder.iterdir()}
        tally.kills[situation] += 1
        unfinished = [name for name in names if name.endswith(UNFINISHED)]
        tally.half_rotated += sum(name.startswith(JOURNAL) for name in unfinished)
        tally.half_written_snapshots += sum(name.startswith((SNAPSHOT, PART_PREFIX)) for name in unfinished)
        self._seen.look()

    async def _served(self) -> str:
        """The URL. Raises Gone when it was killed before it served."""
        started = time.monotonic()
        base_url = await asyncio.to_thread(self._gateway.served)
        if base_url is None:
            raise recorded_load.Gone
        self._start_seconds = time.monotonic() - started
        return base_url

    async def _stop(self) -> None:
        self._gateway.launch()
        base_url = await self._served()
        self._record(await recorded_load.check(base_url, self._clients))
        await recorded_load.verify(base_url)
        self._gateway.stop()

    def _record(self, beyond: list[int]) -> None:
        self._tally.beyond += sum(beyond)

    def _count_files(self) -> None:
        self._tally.segments += self._seen.count(JOURNAL)
        self._tally.snapshots += self._seen.count(SNAPSHOT) + self._seen.count(PART_PREFIX)
        self._tally.torn += self._seen.count(JOURNAL, TORN_SUFFIX)


def _causes(error: BaseException) -> list[BaseException]:
    """Return the errors, without the groups around them."""
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in _causes(inner)]
    return [error]


async def _take_snapshot(base_url: str) -> None:
    with contextlib.suppress(recorded_load.Gone):
        async with recorded_load.connected(base_url) as connection:
            await connection.done("POST", "/debug/snapshot")


async def crash(path: Path, rounds: int, seed: int, workers: int) -> Tally:
    """Works in the folder at `path`, of which only what failed is left."""
    tally, started = Tally(seed), time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(workers):
            share = rounds // workers + (number < rounds % workers)
            folder = path / f"worker-{number}"
            folder.mkdir()
            group.create_task(Worker(folder, tally, f"{seed}/{number}").crash(share))
    tally.seconds = time.monotonic() - started
    return tally


def drawn_seed() -> int:
    return random.SystemRandom().getrandbits(32)


@click.command()
@click.option("--rounds", type=click.IntRange(min=1), default=1_000)
@click.option("--seed", type=int, help="Drawn when it is not given.")
@click.option("--workers", type=click.IntRange(min=1), default=2)
def main(rounds: int, seed: int | None, workers: int) -> None:
    """Kill gateways and look for what they lost."""
    path = Path(tempfile.mkdtemp(prefix="votegate-crash-"))
    seed = drawn_seed() if seed is None else seed
    click.echo(f"{rounds} rounds with seed {seed} in {path}")
    tally = asyncio.run(crash(path, rounds, seed, workers))
    click.echo(tally.lines())
    if tally.holds:
        shutil.rmtree(path)
    sys.exit(0 if tally.holds else 1)


if __name__ == "__main__":
    main()
