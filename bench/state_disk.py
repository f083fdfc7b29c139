"""The disk's part of the state benchmark: a folder to start from, how fast it loads, how fast it syncs."""

import asyncio
import os
import random
import statistics
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.charts import Report
from core.clock import SystemClock
from core.events import Event, VoteCast, encode_record
from core.ledger import Ledger
from core.rows import Key, Listing, Reviewed
from core.state import State
from core.vote_table import LEAF
from journal.journal import Journal, JournalPolicy
from journal.segments import EMPTY
from kinds.bots import BotProfile
from snapshot.files import Chain, SnapshotReader, list_snapshots
from snapshot.recovery import recover
from snapshot.snapshotter import Interval, Snapshotter
from storage.folder import Folder, kept_keys
from tests.support.memory_ledger import empty_state

POLICY = JournalPolicy("always", interval_seconds=1, segment_bytes=64 << 20, pending_bytes=64 << 20)
NOW_MS = 1_750_000_000_000
ROUNDS = 2_000


def seed_folder(path: Path, voters: Sequence[tuple[str, int]]) -> int:
    """Make a data folder with a snapshot of so many voters per listing. Return the bytes of the snapshot."""
    state, chance = empty_state(), random.Random(1)
    for ref, count in voters:
        state.load([_listing(ref)])
        users = array("Q", sorted(chance.getrandbits(60) for _ in range(count)))
        for start in range(0, count, LEAF):
            leaf = users[start : start + LEAF]
            state.load_votes([(ref, (leaf + array("Q", [NOW_MS << 22 | 1] * len(leaf))).tobytes())])
    state.loaded()
    return seed_state(path, state, VoteCast(voters[0][0], "1", 1, NOW_MS))


def seed_state(path: Path, state: State, last: Event) -> int:
    """Make a data folder with a snapshot of a state and one more event. Return the snapshot's bytes."""

    async def write() -> int:
        folder, clock = Folder(path, kept_keys(path, needed=False)), SystemClock()
        journal = Journal(folder, EMPTY, POLICY, clock)
        ledger = Ledger(state, journal, 0)
        running = asyncio.create_task(journal.run())
        ledger.commit([last])
        taken = await Snapshotter(folder, ledger, journal, clock, Chain(), Interval(300)).take()
        await journal.close()
        await running
        return taken.bytes

    return asyncio.run(write())


def _listing(ref: str) -> Listing:
    """Return a listing of the usual size."""
    number = ref.partition("/")[2]
    profile = BotProfile("A bot " + number, "A description of one line", "It counts it. " * 10, ("Utility",))
    key = Key("0" * 24, "production", f"{int(number):064x}", "vg_abcd...", NOW_MS)
    return Listing(
        ref, "222222222222222222", profile, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS), keys=(key,)
    )


def read_seconds(path: Path) -> float:
    """Read the bytes of the newest snapshot."""
    newest = list_snapshots(path)[-1][1]
    started = time.perf_counter()
    with newest.open("rb") as file:
        while file.read(1 << 20):
            pass
    return time.perf_counter() - started


def unseal_seconds(path: Path) -> float:
    """Read and unseal them."""
    reader = SnapshotReader(list_snapshots(path)[-1][1])
    seal = kept_keys(path, needed=True).seal_of(reader.path, reader.header.key_id, reader.header.salt)
    started = time.perf_counter()
    for _ in reader.unsealed(seal):
        pass
    return time.perf_counter() - started


def recover_seconds(path: Path) -> float:
    """Load the state that serves."""
    folder = Folder(path, kept_keys(path, needed=True))
    started = time.perf_counter()
    recover(folder, empty_state)
    return time.perf_counter() - started


def load_times(report: Report, in_process: Callable[[Callable[[Path], float]], Any], size: int) -> None:
    """Return the best of three runs each."""
    read, unseal, whole = (
        min(in_process(call) for _ in range(3)) for call in (read_seconds, unseal_seconds, recover_seconds)
    )
    report.table(
        "load",
        f"a start, {size / 1e6:.0f} MB snapshot",
        ["seconds", "ratio to read and unseal"],
        [
            ("read the file", f"{read:.2f}", f"{read / unseal:.2f}"),
            ("read and unseal it", f"{unseal:.2f}", "1.00"),
            ("recover the state from it", f"{whole:.2f}", f"{whole / unseal:.2f}"),
        ],
    )


def acknowledgements(report: Report, folder: Path) -> None:
    """Append one record at a time until it is durable, and write and sync as many bytes, in turns."""
    record = encode_record([VoteCast("bots/111111111111111111", "222222222222222222", 1, NOW_MS)])
    place = folder / "acknowledgements"
    place.mkdir()
    bare: list[float] = []
    ours: list[float] = []

    async def measure() -> None:
        journal = Journal(Folder(place, kept_keys(place, needed=False)), EMPTY, POLICY, SystemClock())
        running = asyncio.create_task(journal.run())
        with (place / "bare").open("wb", buffering=0) as file:
            for _ in range(ROUNDS):
                started = time.perf_counter()
                file.write(record)
                os.fdatasync(file.fileno())
                between = time.perf_counter()
                await journal.durable(journal.append(record))
                bare.append(between - started)
                ours.append(time.perf_counter() - between)
        await journal.close()
        await running

    asyncio.run(measure())
    report.table(
        "acknowledgement",
        "one record durable, milliseconds",
        ["p50", "p99"],
        [
            (label, f"{statistics.median(times) * 1e3:.2f}", f"{percentile(times, 99) * 1e3:.2f}")
            for label, times in {"bare write and fdatasync": bare, "journal, until durable": ours}.items()
        ],
    )


def percentile(times: Sequence[float], percent: int) -> float:
    return statistics.quantiles(times, n=100)[percent - 1]
