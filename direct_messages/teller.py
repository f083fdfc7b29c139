"""Attempts to tell owners of decisions. Law: an attempt has an outcome in the log, or it is made again.

    decision --record--> durable and due -> open the channel -> post the message -> outcome --record-->

One attempt runs at a time, because all go to one platform, which limits them together. If the journal takes
no writes, the outcome waits, and no attempt starts before it is written. All times of `_Waiting` are steady
time (core/clock.py).
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from chatplatform.platform_client import PlatformAway
from core.actors import user_of
from core.clock import NS_PER_MS, Clock, Moment, moment
from core.events import (
    Event,
    ListingMerged,
    ListingRemoved,
    NodeNamed,
    OwnerMessageAttempted,
    OwnerMessageQueued,
    OwnerMessageTaken,
    UserErased,
)
from core.ledger import Ledger
from core.refusals import Unavailable
from core.rows import Listing, OwnerMessage
from direct_messages.message_outcomes import (
    INTERNAL,
    Failure,
    MessagePolicy,
    attempt_event,
    failure_of,
)
from direct_messages.message_text import message_text, nonce_of
from webhook.attempts import ended_ms

log = logging.getLogger(__name__)

UNRECORDED_SECONDS = 1.0  # between tries to write an outcome that waits
HELD_BACK_SECONDS = 0.25  # between questions whether the node may send
LONGEST_SLEEP_SECONDS = 60.0  # between two looks at what waits, whatever the clocks do


_CHANGING = {
    *(OwnerMessageQueued, OwnerMessageAttempted, OwnerMessageTaken),
    *(ListingMerged, ListingRemoved, UserErased, NodeNamed),
}


class Messenger(Protocol):
    """The part of the chat platform's client that attempts use. Its calls raise PlatformAway."""

    async def channel(self, user_id: str) -> str: ...
    async def post(self, channel_id: str, content: str, nonce: str) -> None: ...


class _Waiting(NamedTuple):
    """A message of this node, which may leave at `due_ms`, once the record at `position` is durable."""

    message: OwnerMessage
    due_ms: int
    position: int


class Teller:
    def __init__(
        self,
        ledger: Ledger,
        messenger: Messenger,
        policy: MessagePolicy,
        public_url: str,
        clock: Clock,
        durable: Callable[[], int],
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take over the messages that wait. `run` starts the attempts.

        Args:
            public_url: where owners find the pages of their listings.
            durable: returns the newest durable position.
            may_send: returns False while other nodes may have sent what is due here.
        """
        self._ledger = ledger
        self._messenger = messenger
        self._policy = policy
        self._public_url = public_url
        self._clock = clock
        self._durable = durable
        self._may_send = may_send
        self._waiting: dict[str, _Waiting] = {}
        self._unrecorded: tuple[OwnerMessage, OwnerMessageAttempted] | None = None
        self._is_held_up = False
        self._is_failing = False
        self._is_stopping = False
        self._running: asyncio.Timeout | None = None
        """The context of the attempt that runs, by which it can be broken off."""
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._look(position=0)

    def wake(self) -> None:
        """Look again at what waits, if anything does: hardly any record has a decision."""
        if self._waiting:
            self._wake.set()

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record. Whatever an event changes, `untold` says what waits now."""
        if any(type(event) in _CHANGING for event in events):
            self._look(position)

    def _look(self, position: int) -> None:
        """Note what waits after the record at a position. What was known before stays as it is."""
        now, before = moment(self._clock), self._waiting
        self._waiting = {}
        for ref, message in self._ledger.state.listings.untold.items():
            known = before.get(ref)
            if known is not None and known.message == message:
                self._waiting[ref] = known
            elif not message.node:
                self._waiting[ref] = _Waiting(message, _due_ms(message, now), position)

    async def run(self) -> None:
        """Make attempts until `stop`."""
        loop = asyncio.get_running_loop()
        while not self._is_stopping:
            self._wake.clear()
            if await self.step():
                continue
            timer = loop.call_later(self._patience_seconds(), self.wake)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    async def step(self) -> bool:
        """Make the attempt that is due, if there is one. Return False if there was nothing to do."""
        if not self._is_recorded() or not self._may_send():
            return False
        ref = self._next_due()
        listing = self._ledger.state.listings.get(ref) if ref is not None else None
        if ref is None or listing is None:
            return False
        self._idle.clear()
        try:
            await self._attempt(listing, self._waiting[ref].message)
        finally:
            self._idle.set()
        return True

    def stop(self) -> None:
        """Start no more attempts, and end `run`."""
        self._is_stopping = True
        self._wake.set()

    def abandon(self) -> None:
        """Break off the attempt that runs. It is made again after the next start."""
        if self._running is not None:
            self._running.reschedule(asyncio.get_running_loop().time())

    async def idle(self) -> None:
        """Wait for the attempt that runs, and write its outcome if the journal takes it."""
        await self._idle.wait()
        self._is_recorded()

    def _next_due(self) -> str | None:
        now_ms, durable = self._clock.steady_ms(), self._durable()
        due = (
            (each.due_ms, ref)
            for ref, each in self._waiting.items()
            if each.due_ms <= now_ms and each.position <= durable
        )
        return min(due, default=(0, None))[1]

    def _patience_seconds(self) -> float:
        if self._unrecorded is not None:
            return UNRECORDED_SECONDS
        if not self._may_send():
            return HELD_BACK_SECONDS
        durable = self._durable()
        # A record that is not durable yet wakes by itself.
        first_ms = min(
            (each.due_ms for each in self._waiting.values() if each.position <= durable), default=None
        )
        if first_ms is None:
            return LONGEST_SLEEP_SECONDS
        return min(max(first_ms - self._clock.steady_ms(), 0) / 1_000, LONGEST_SLEEP_SECONDS)

    async def _attempt(self, listing: Listing, message: OwnerMessage) -> None:
        started_ns = self._clock.monotonic_ns()
        try:
            async with asyncio.timeout(None) as self._running:
                failure = await self._tell(listing, message)
        except TimeoutError:
            return  # abandoned
        finally:
            self._running = None
        duration_ms = (self._clock.monotonic_ns() - started_ns) // NS_PER_MS
        # Dated back from its end: waits begin there, and the wall clock may have been set since the start.
        at_ms = self._clock.now_ms() - duration_ms
        event = attempt_event(self._policy, listing.ref, message, failure, at_ms, duration_ms)
        self._say(event, failure)
        self._unrecorded = (message, event)
        if not self._is_recorded():
            log.warning("no owner is told of a decision until it can be written what came of the last one")
            self._is_held_up = True

    async def _tell(self, listing: Listing, message: OwnerMessage) -> Failure | None:
        """Send the message. Return None if the owner has it."""
        try:
            channel_id = await self._messenger.channel(user_of(message.to) or "")
            if self._ledger.state.listings.untold.get(listing.ref) != message:
                return None  # erased, or decided anew meanwhile: then no outcome is written
            text = message_text(listing, message, self._public_url)
            await self._messenger.post(channel_id, text, nonce_of(listing.ref, message))
        except PlatformAway as away:
            return failure_of(away)
        except Exception as bug:
            # A bug in one message must not stop the others. The log gets its place, and no words of people.
            place = "".join(traceback.format_tb(bug.__traceback__))
            log.error(
                "the message to the owner of %s failed inside: %s\n%s", listing.ref, type(bug).__name__, place
            )
            return INTERNAL
        return None

    def _is_recorded(self) -> bool:
        """Write the outcome that waits. Return True if none is left."""
        if self._unrecorded is None:
            return True
        message, event = self._unrecorded
        if self._ledger.state.listings.untold.get(event.ref) == message:  # else it is over by other means
            try:
                self._ledger.commit([event])
            except Unavailable:
                return False
        self._unrecorded = None
        if self._is_held_up:
            log.info("owners get messages about decisions again: the last outcome is written")
            self._is_held_up = False
        return True

    def _say(self, event: OwnerMessageAttempted, failure: Failure | None) -> None:
        """Tell the operator of messages that are given up, and when the platform fails and works again."""
        if failure is not None and event.outcome == "failed":
            log.warning("the owner of %s is not told of the decision: %s", event.ref, failure.error)
        is_failing = failure is not None and not failure.is_final
        if is_failing and not self._is_failing and failure is not None:
            log.warning("no owner can be told of a decision (%s): it is tried again", failure.error)
        elif self._is_failing and not is_failing:
            log.info("owners get messages about decisions again")
        self._is_failing = is_failing


def _due_ms(message: OwnerMessage, now: Moment) -> int:
    """Return the steady time at which a message is due. The wait is at most what its last attempt set."""
    next_ms = message.next_attempt_ms or 0
    longest_ms = max(next_ms - ended_ms(message.last), 0) if message.last is not None else 0
    return now.steady_ms + min(max(next_ms - now.wall_ms, 0), longest_ms)
