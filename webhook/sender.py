"""The loop that sends: webhooks, messages to owners, and reminders. A `Notifier` chooses the items.

    due -> slot -> attempt -> outcome as events, committed -> the next time -> due ...

The state has the waiting items, and a notifier orders them. `take` returns the items whose time has come and
whose record is durable, and gives each a slot. Each attempt is a task of its own. It ends with an outcome:
the events that say how the attempt went and when the next one is due. The sender commits them, and the
notifier reads them from the log, as it reads everything else.

* *A crash* loses no item. An attempt whose outcome was not written is made again, under the same id.
* *A full disk.* While the journal takes no writes, outcomes wait in memory, and no attempt starts before all
  of them are written. So a receiver gets an item twice only if the process dies between the answer and the
  record.
* *A removal.* An outcome becomes events when it is written. If its item is gone by then, there are none.
* *A clock that jumps* moves no attempt: waits are steady time (core/clock.py), and a notifier bounds each
  wait by the time that the attempt before has set. The loop looks again after LONGEST_SLEEP_SECONDS, whatever
  the clocks do.
* *A fleet.* While other nodes may send or may have sent the items of this one, `may_send` is false and
  nothing starts.
* *A stop* has phases, each after the one before it:

      RUNNING -> STOPPING      no attempt starts any more; `idle` waits for those that run
      STOPPING -> ABANDONED    the running attempts are cancelled, and made again after the next start

Invariant: an attempt has an outcome in the log, or it is made again.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Coroutine, Sequence
from enum import Enum, auto
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from core.clock import NS_PER_MS, Clock
from core.events import Event
from core.failures import Unavailable
from core.ledger import Ledger

log = logging.getLogger(__name__)

UNRECORDED_SECONDS = 1.0  # between tries to write outcomes that wait
HELD_BACK_SECONDS = 0.25  # between questions whether the node may send
LONGEST_SLEEP_SECONDS = 60.0  # between two looks

Item = TypeVar("Item")
Outcome = Callable[[], Sequence[Event]]
"""Returns the events of an attempt in the present state: other outcomes may have come in between."""
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Trouble(NamedTuple):
    """The lines of the log when something begins to fail, and when it works again."""

    begins: str
    ends: str


class Notifier(Protocol[Item]):
    """The part of sending that differs between webhooks, messages to owners, and reminders."""

    unwritten: Trouble
    """Outcomes have to wait, until all of them are written."""
    one_at_a_time: bool
    """No attempt starts while another one runs."""
    wake: asyncio.Event
    """Set by the notifier when an item may be due earlier than `next_due_ms` has said."""

    def take(self, now_ms: int, durable: int) -> Sequence[Item]:
        """Return the items to attempt now, each with a slot. They are done within one turn of the event loop.

        Args:
            now_ms: steady time.
            durable: the newest durable position.
        """

    async def attempt(self, item: Item) -> Outcome | None:
        """Attempt an item, and give its slot back. Return None if there is nothing to write."""

    def next_due_ms(self) -> int | None:
        """Return the next time (steady) at which `take` may return more although nothing else has happened.

        The sender has just called `take`.
        """


class _Phase(Enum):
    """The phases of a sender, see above."""

    RUNNING = auto()
    STOPPING = auto()
    ABANDONED = auto()


class Sender(Generic[Item]):
    """Attempts the items that a notifier gives out."""

    def __init__(
        self,
        notifier: Notifier[Item],
        ledger: Ledger,
        clock: Clock,
        durable: Callable[[], int],
        spawn: Spawn,
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        """Make a sender that `run` starts.

        Args:
            durable: returns the newest durable position.
            spawn: starts a task that belongs to the caller.
            may_send: returns False while other nodes may send, or may have sent, these items.
        """
        self._notifier = notifier
        self._ledger = ledger
        self._clock = clock
        self._durable = durable
        self._spawn = spawn
        self._may_send = may_send
        self._phase = _Phase.RUNNING
        self._under_way = 0
        self._attempts: set[asyncio.Task[None]] = set()
        """The attempts that have begun."""
        self._unrecorded: list[Outcome] = []
        self._idle = asyncio.Event()
        self._idle.set()

    async def run(self) -> None:
        """Start attempts until `stop`."""
        loop, wake = asyncio.get_running_loop(), self._notifier.wake
        while self._phase is _Phase.RUNNING:
            now_ms = self._clock.steady_ms()
            seconds = self._patience_seconds(now_ms, is_held_back=not self.step(now_ms))
            wake.clear()  # after the step, which has set it, too: so each round waits once
            timer = loop.call_later(seconds, wake.set)  # cheaper than asyncio.timeout
            try:
                await wake.wait()
            finally:
                timer.cancel()

    def step(self, now_ms: int) -> bool:
        """Start the attempts that are due. `now_ms` is steady time.

        Returns False if none may start now: outcomes wait to be written, or other nodes may send.
        """
        if not self._all_recorded() or not self._may_send():
            return False
        for item in self._notifier.take(now_ms, self._durable()) if not self._is_busy else ():
            self._under_way += 1
            self._idle.clear()
            self._spawn(self._attempt(item))
        return True

    def stop(self) -> None:
        """Start no more attempts, and end `run`."""
        if self._phase is _Phase.RUNNING:
            self._phase = _Phase.STOPPING
        self._notifier.wake.set()

    async def idle(self) -> None:
        """Wait for the running attempts, and write their outcomes if the journal takes them."""
        await self._idle.wait()
        self._all_recorded()

    def abandon(self) -> None:
        """Cancel the running attempts. They are made again after the next start."""
        self._phase = _Phase.ABANDONED
        for attempt in self._attempts:
            attempt.cancel()

    @property
    def _is_busy(self) -> bool:
        """True if the end of an attempt has to come first, which wakes the sender."""
        return self._notifier.one_at_a_time and self._under_way > 0

    def _patience_seconds(self, now_ms: int, *, is_held_back: bool) -> float:
        if is_held_back:
            return UNRECORDED_SECONDS if self._unrecorded else HELD_BACK_SECONDS
        due_ms = self._notifier.next_due_ms() if not self._is_busy else None
        if due_ms is None:
            return LONGEST_SLEEP_SECONDS
        return min(max(due_ms - now_ms, 0) / 1_000, LONGEST_SLEEP_SECONDS)

    async def _attempt(self, item: Item) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._attempts.add(task)
            task.add_done_callback(self._attempts.discard)
        try:
            outcome = await self._notifier.attempt(item) if self._phase is not _Phase.ABANDONED else None
            if outcome is not None and not self._record(outcome):
                if not self._unrecorded:
                    log.warning(self._notifier.unwritten.begins)
                self._unrecorded.append(outcome)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
            self._notifier.wake.set()

    def _all_recorded(self) -> bool:
        """Write the outcomes that wait. Returns True if none is left."""
        while self._unrecorded:
            if not self._record(self._unrecorded[0]):
                return False
            del self._unrecorded[0]
            if not self._unrecorded:
                log.info(self._notifier.unwritten.ends)
        return True

    def _record(self, outcome: Outcome) -> bool:
        """Write an outcome. Returns False if it must wait."""
        try:
            if events := outcome():
                self._ledger.commit(events)
        except Unavailable:
            return False
        return True


def dated_back(clock: Clock, started_ns: int, waited_ns: int = 0) -> tuple[int, int]:
    """Return the wall time at which an attempt began, and the milliseconds that it took without `waited_ns`.

    It is dated back from its end: waits begin there, and the wall clock may have been set meanwhile.
    """
    duration_ms = (clock.monotonic_ns() - started_ns - waited_ns) // NS_PER_MS
    return clock.now_ms() - duration_ms, duration_ms


def log_bug(what: str, bug: Exception) -> None:
    """Log a bug in one attempt, which must not stop the others.

    The line has the place of the bug and not its message, which may quote a secret or words of people.
    """
    place = "".join(traceback.format_tb(bug.__traceback__))
    log.error("%s failed inside: %s\n%s", what, type(bug).__name__, place)
