"""A ledger that performs random steps, and an outside record of the durability that it promised.

Invariant: every folder that the story may leave behind holds the first n committed records, without a gap and
without others, and n is at least the promised position.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from random import Random

from core.events import (
    DeliveryAttempted,
    DeliveryQueued,
    Event,
    KeySaved,
    ListingRemoved,
    StatsUpdated,
    UserErased,
)
from core.failures import Unavailable
from core.ledger import Ledger
from core.rows import Attempt, Key, StatsWindow
from journal.journal import RETRY_SECONDS, Journal, JournalPolicy
from snapshot.recovery import recover
from snapshot.snapshotter import Interval, Snapshotter
from storage.disk import OS_DISK, Disk
from storage.folder import Folder, refuse_foreign_files, remove_unfinished
from storage.sealing import Keyring
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, listed, voted
from tests.support.turn_loop import LoopClock, run_in_turns

ALWAYS = JournalPolicy("always", interval_seconds=60, segment_bytes=1_500, pending_bytes=1 << 20)
KEYS = Keyring([bytes(range(32))])
INTERVAL = replace(ALWAYS, fsync="interval")


class Step(StrEnum):
    COMMIT = "commit"
    """Commit some records without waiting for them."""
    WAIT = "wait"
    """Wait until all committed records are durable."""
    ROTATE = "rotate"
    SNAPSHOT = "snapshot"
    BUSY_SNAPSHOT = "busy snapshot"
    """Take a snapshot, and commit meanwhile."""
    IDLE = "idle"
    """Wait long enough that the journal syncs everything, and retries writes that had no space."""
    FULL = "full"
    ROOM = "room"
    RESTART = "restart"
    KILL = "kill"
    """End the process at any moment, and start again."""


def events_of(position: int, random: Random) -> list[Event]:
    """Return the events of one record: all kinds that change a table or remove something."""
    if position == 1:
        return [*listed(BOT_REF, "https://receiver.example/votes"), *listed(OTHER_REF)]
    user, at_ms, ref = random.randrange(1, 40), NOW_MS + position, random.choice([BOT_REF, OTHER_REF])
    attempt = Attempt(at_ms, 12, 204, None, "")
    others: list[list[Event]] = [
        [StatsUpdated(ref, position, None, StatsWindow(at_ms, 1), at_ms)],
        [KeySaved(ref, Key(f"k{position}", "a key", f"{position:064x}", "aa", at_ms))],
        [DeliveryQueued(f"d{position}", BOT_REF, str(user), test=False, at_ms=at_ms)],
        [DeliveryAttempted(f"d{position - 1}", BOT_REF, 1, attempt, "delivered", None)],
        [UserErased(str(user), (BOT_REF, OTHER_REF))],
        [ListingRemoved(OTHER_REF), *listed(OTHER_REF)],
    ]
    if random.random() < 0.3:
        return random.choice(others)
    return [voted(user, position, at_ms, ref)] * random.randrange(1, 4)


class Record:
    """The committed records, kept outside of the ledger, and the digest of each prefix of them."""

    def __init__(self, committed: Iterable[Sequence[Event]] = ()) -> None:
        self.committed = list(committed)
        self._state = empty_state()
        self._digests = [self._state.digest()]

    def add(self, events: Sequence[Event]) -> None:
        self.committed.append(events)

    def cut(self, head: int) -> None:
        """Forget the records after `head`, which were never on disk."""
        del self.committed[head:]
        if len(self._digests) > head + 1:
            self._state, self._digests = empty_state(), [empty_state().digest()]

    def digest(self, head: int) -> str:
        """Return the digest of the first `head` records, folded in memory."""
        while len(self._digests) <= head:
            for event in self.committed[len(self._digests) - 1]:
                self._state.apply(event)
            self._digests.append(self._state.digest())
        return self._digests[head]


class Story:
    """A ledger and its folder. Steps and seed decide everything.

    `promise` receives the position up to which a power cut may lose nothing. `fill` receives true when the
    disk becomes full, and false when it has space again.
    """

    def __init__(
        self,
        path: Path,
        disk: Disk = OS_DISK,
        policy: JournalPolicy = ALWAYS,
        seed: int = 0,
        promise: Callable[[int], None] = lambda _: None,
        fill: Callable[[bool], None] = lambda _: None,
    ) -> None:
        self.record = Record()
        self.acknowledged = 0
        """The last position that a caller knows to be durable."""
        self._folder = Folder(path, KEYS, disk)
        self._policy = policy
        self._random = Random(seed)
        self._promise = promise
        self._fill = fill

    async def tell(self, steps: Iterable[Step]) -> None:
        """Open the ledger and perform the steps. Raises OSError if the journal cannot be opened."""
        await self.open()
        for step in steps:
            await self._perform(step)

    async def open(self) -> None:
        recovered = recover(self._folder, empty_state)
        head = recovered.tail.head
        assert self.acknowledged <= head <= len(self.record.committed)
        assert recovered.state.digest() == self.record.digest(head)
        self.record.cut(head)
        remove_unfinished(self._folder)
        clock = LoopClock()
        self.journal = Journal(self._folder, recovered.tail, self._policy, clock)
        self.journal.begin()
        self._promise(head)
        self.ledger = Ledger(recovered.state, self.journal, head)
        self.snapshotter = Snapshotter(
            self._folder,
            self.ledger,
            self.journal,
            clock,
            recovered.chain,
            Interval(3_600),
        )
        self.running = asyncio.create_task(self.journal.run())

    async def stop(self) -> None:
        """Close the journal. Raises OSError if it has failed, or fails now."""
        await self.journal.close()
        await self.running

    def _commit(self) -> None:
        events = events_of(self.ledger.head + 1, self._random)
        with contextlib.suppress(Unavailable):
            self.ledger.commit(events)
            self.record.add(events)

    async def _perform(self, step: Step) -> None:
        match step:
            case Step.COMMIT:
                await self._commit_some()
            case Step.WAIT:
                await self._wait()
            case Step.ROTATE:
                self.journal.rotate()
            case Step.SNAPSHOT:
                await self._snapshot()
            case Step.BUSY_SNAPSHOT:
                await asyncio.gather(self._snapshot(), self._be_busy())
            case Step.IDLE:
                await self._idle()
            case Step.FULL | Step.ROOM:
                self._fill(step is Step.FULL)
            case Step.RESTART | Step.KILL:
                await self._begin_again(clean=step is Step.RESTART)

    async def _commit_some(self) -> None:
        for _ in range(self._random.randrange(1, 4)):
            self._commit()
        await self._some_turns()

    async def _idle(self) -> None:
        await asyncio.sleep(2 * max(RETRY_SECONDS, self._policy.interval_seconds))
        if self.journal.writable:
            self._promise(self.acknowledged)

    async def _wait(self) -> None:
        head = self.ledger.head
        with contextlib.suppress(Unavailable):
            await self.ledger.durable(head)
            self.acknowledged = max(self.acknowledged, head)
            if self._policy.fsync == "always":
                self._promise(head)

    async def _snapshot(self) -> None:
        with contextlib.suppress(Unavailable, OSError):
            taken = await self.snapshotter.take()
            self._promise(taken.position)

    async def _be_busy(self) -> None:
        for _ in range(3):
            self._commit()
            await self._some_turns()
            await self._wait()

    async def _begin_again(self, *, clean: bool) -> None:
        if clean:
            with contextlib.suppress(OSError):  # no space for the last records, which were never acknowledged
                await self.stop()
        else:
            await self._some_turns()
            self.running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.running
        self._fill(False)
        await self.open()

    async def _some_turns(self) -> None:
        for _ in range(self._random.randrange(12)):
            await asyncio.sleep(0)


def check_folder(
    path: Path,
    record: Record,
    promised: int,
    disk: Disk = OS_DISK,
    promise: Callable[[int], None] = lambda _: None,
) -> Record:
    """Start on a folder that a story left behind, check it against the record, commit once more, and start
    again.

    Returns the record of the folder's content after that.
    """
    folder = Folder(path, KEYS, disk)
    refuse_foreign_files(path)
    recovered = recover(folder, empty_state)
    head = recovered.tail.head
    assert promised <= head <= len(record.committed), "promised, recovered, committed"
    assert recovered.state.digest() == record.digest(head)
    record = Record(record.committed[:head])

    async def go_on() -> None:
        remove_unfinished(folder)
        journal = Journal(folder, recovered.tail, ALWAYS, LoopClock())
        journal.begin()
        promise(head)
        running = asyncio.create_task(journal.run())
        ledger = Ledger(recovered.state, journal, head)
        record.add([*listed(BOT_REF), voted(99, head)])
        await ledger.durable(ledger.commit(record.committed[-1]))
        promise(head + 1)
        await journal.close()
        await running

    run_in_turns(go_on())
    again = recover(folder, empty_state)
    assert (again.tail.head, again.tail.closed) == (head + 1, True)
    assert again.state.digest() == record.digest(head + 1)
    return record
