"""Attempts to tell users that they may vote again. Law: one message for each vote, or none.

    vote, reminder --record--> timer -> due? -> open the channel -> post the message -> outcome --record-->

A message is a fact first: the reminder is on, and the cooldown of the last vote is over
(`core/due_reminders.py`). A timer only says when to look; what is sent is decided by the rows as they are
then. So a crash forgets nothing: a start looks at all reminders anew, in slices, and the outcome of an
attempt stands in the user's row, under the end of the cooldown that it is about. An attempt whose outcome is
lost is made again under the same nonce, which the platform posts once.

A user who takes no messages is not asked again before turning a reminder on anew. In a fleet the node with
the leader lease sends (`may_send`). All times of `_Timer` are steady time (core/clock.py).
"""

import asyncio
import logging
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from chatplatform.platform_client import PlatformAway
from core.clock import NS_PER_MS, Clock, moment
from core.due_reminders import due_reminder, ends_ms
from core.events import (
    FREQUENT,
    Event,
    ListingMerged,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    ReminderAttempted,
    ReminderCleared,
    ReminderSet,
    SlotsSet,
    UserErased,
    UserMerged,
    VoteCast,
    VotesMerged,
)
from core.ledger import Ledger
from core.refusals import Unavailable
from core.user_rows import USERS, Reminder, ReminderMessage, UserRow, user_ref
from direct_messages.message_outcomes import INTERNAL, Failure, MessagePolicy, failure_of, fate_of
from direct_messages.message_text import reminder_nonce, reminder_text
from direct_messages.teller import (
    HELD_BACK_SECONDS,
    LONGEST_SLEEP_SECONDS,
    UNRECORDED_SECONDS,
    Messenger,
)
from webhook.attempts import ended_ms

log = logging.getLogger(__name__)

SLICE_REMINDERS, BREATH_SECONDS = 128, 0.001
"""The most reminders of one slice of a look at many, but for the last user's; and the pause behind it."""
_CHANGING_LISTINGS = (ListingReviewed, ListingSaved, ListingMerged, ListingRemoved, SlotsSet)
_Key = tuple[str, str]
"""A user and a listing, by their refs."""


class _Timer(NamedTuple):
    """When to look at a reminder, once the record at `position` is durable."""

    due_ms: int
    position: int


class _Telling(NamedTuple):
    """A message that is due now. `message` is what the attempts before have come to."""

    user: str
    listing: str
    ends_ms: int
    message: ReminderMessage | None


class ReminderTeller:
    def __init__(
        self,
        ledger: Ledger,
        messenger: Messenger,
        policy: MessagePolicy,
        public_url: str,
        cooldown_ms: int,
        clock: Clock,
        durable: Callable[[], int],
        may_send: Callable[[], bool] = lambda: True,
    ) -> None:
        """`run` starts the attempts.

        Args:
            public_url: where users find the pages of listings.
            cooldown_ms: how long after a vote a user may vote again.
            durable: returns the newest durable position.
            may_send: returns False while another node may send, or may have sent, what is due.
        """
        self._ledger = ledger
        self._state = ledger.state
        self._messenger = messenger
        self._policy = policy
        self._public_url = public_url
        self._cooldown_ms = cooldown_ms
        self._clock = clock
        self._durable = durable
        self._may_send = may_send
        self._timers: dict[_Key, _Timer] = {}
        self._heap: list[tuple[int, _Key]] = []
        """The timers by their times. An entry whose timer has moved is passed over."""
        self._hidden: defaultdict[str, set[str]] = defaultdict(set)
        """Users with a reminder that is due of a listing that is not public now, by listing."""
        self._looking = deque([self._look_at_all()])
        """The looks at many reminders that are under way, each of which yields after a slice."""
        self._looks_again = False
        self._unrecorded: ReminderAttempted | None = None
        self._is_failing = False
        self._is_stopping = False
        self._running: asyncio.Timeout | None = None
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    # -- timers ----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Look again if anything is due: most records become durable long before that."""
        if self._heap and self._heap[0][0] <= self._clock.steady_ms():
            self._wake.set()

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        with_reminders = self._state.users.with_reminders
        for event in events:
            if type(event) is VoteCast:
                ref = user_ref(event.user)
                if ref in with_reminders:
                    self._look(ref, event.ref, position)
            elif type(event) in FREQUENT:
                continue
            elif isinstance(event, _CHANGING_LISTINGS):
                if users := self._hidden.pop(event.ref, None):
                    self._looking.append(self._look_at_users(users, event.ref, position))
                    self._wake.set()
            elif isinstance(event, VotesMerged):
                if with_reminders:
                    self._looks_again = True  # a leaf may hold very many users
                    self._wake.set()
            else:
                self._read_of_user(position, event)

    def _read_of_user(self, position: int, event: Event) -> None:
        if isinstance(event, ReminderSet | ReminderAttempted | UserMerged):
            self._look_at_user(event.ref, position)
        elif isinstance(event, ReminderCleared):
            self._timers.pop((event.ref, event.listing), None)
        elif isinstance(event, UserErased):
            for refs in self._hidden.values():
                refs.discard(user_ref(event.user))

    def _look_at_all(self) -> Iterator[None]:
        looked = 0
        for ref in [*self._state.users.with_reminders]:
            looked += self._look_at_user(ref, self._ledger.head)
            if looked >= SLICE_REMINDERS:
                looked = 0
                yield

    def _look_at_users(self, refs: set[str], listing: str, position: int) -> Iterator[None]:
        while refs:
            for _ in range(min(len(refs), SLICE_REMINDERS)):
                self._look(refs.pop(), listing, position)
            yield

    def _look_at_user(self, ref: str, position: int) -> int:
        """Look at the reminders of a user, and return how many they are."""
        row = self._state.users.get(ref)
        if row is None:
            return 0
        for reminder in row.reminders_on:
            self._time(row, reminder, position)
        return len(row.reminders_on)

    def _look(self, ref: str, listing: str, position: int) -> None:
        row = self._state.users.get(ref)
        reminder = row.reminder(listing) if row is not None else None
        if row is not None and reminder is not None:
            self._time(row, reminder, position)

    def _time(self, row: UserRow, reminder: Reminder, position: int) -> None:
        """Set the timer of a reminder, or take it away if nothing is to be sent."""
        key, due_ms = (row.ref, reminder.listing), self._due_ms(row, reminder)
        known = self._timers.pop(key, None)
        if due_ms is None:
            return
        if known is not None and abs(known.due_ms - due_ms) <= 1:
            self._timers[key] = known  # the same, by clocks that are read at two moments
            return
        heappush(self._heap, (due_ms, key))
        self._timers[key] = _Timer(due_ms, position)
        self._wake.set()

    def _due_ms(self, row: UserRow, reminder: Reminder) -> int | None:
        """Return the steady time at which a message is due; None if there is none to send."""
        end_ms = ends_ms(self._state, row, reminder, self._cooldown_ms)
        if end_ms is None:
            return None
        now, message = moment(self._clock), reminder.message
        if message is None or message.ends_ms != end_ms:
            return now.steady_ms + max(end_ms - now.wall_ms, 0)
        if message.next_attempt_ms is None:
            return None
        longest_ms = max(message.next_attempt_ms - ended_ms(message.last), 0)
        return now.steady_ms + min(max(message.next_attempt_ms - now.wall_ms, 0), longest_ms)

    # -- attempts --------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Look at all reminders, and make attempts until `stop`."""
        loop = asyncio.get_running_loop()
        while not self._is_stopping:
            self._wake.clear()
            if self.look():
                await asyncio.sleep(BREATH_SECONDS)
            elif not await self.step():
                timer = loop.call_later(self._patience_seconds(), self._wake.set)
                try:
                    await self._wake.wait()
                finally:
                    timer.cancel()

    def look(self) -> bool:
        """Look at some reminders; return False once all were looked at."""
        if not self._looking and self._looks_again:
            self._looks_again = False
            self._looking.append(self._look_at_all())
        if self._looking and next(self._looking[0], self) is self:
            self._looking.popleft()
        return bool(self._looking)

    async def step(self) -> bool:
        """Make the attempt that is due, if there is one. Return False if there was nothing to do."""
        if not self._is_recorded() or not self._may_send():
            return False
        key = self._next_due()
        if key is None:
            return False
        now_ms = self._clock.now_ms()
        telling = self._telling(key, now_ms)
        if telling is None:
            self._put_off(key, now_ms)
            await asyncio.sleep(0)  # very many may be over at once
            return True
        del self._timers[key]
        self._idle.clear()
        try:
            await self._attempt(telling)
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

    def _first(self) -> tuple[_Key, _Timer] | None:
        """Return the earliest timer."""
        while self._heap:
            due_ms, key = self._heap[0]
            timer = self._timers.get(key)
            if timer is not None and timer.due_ms == due_ms:
                return key, timer
            heappop(self._heap)
        return None

    def _next_due(self) -> _Key | None:
        first = self._first()
        if first is None or first[1].due_ms > self._clock.steady_ms() or first[1].position > self._durable():
            return None
        return first[0]

    def _patience_seconds(self) -> float:
        if self._unrecorded is not None:
            return UNRECORDED_SECONDS
        first = self._first()
        if first is None:
            return LONGEST_SLEEP_SECONDS
        wait_seconds = max(first[1].due_ms - self._clock.steady_ms(), 0) / 1_000
        if wait_seconds == 0:  # the record is not durable yet, which wakes by itself, or may not be sent now
            return HELD_BACK_SECONDS
        return min(wait_seconds, LONGEST_SLEEP_SECONDS)

    def _telling(self, key: _Key, now_ms: int) -> _Telling | None:
        """Return the message that is to be sent of a reminder now; None if there is none."""
        row = self._state.users.get(key[0])
        reminder = row.reminder(key[1]) if row is not None else None
        if row is None or reminder is None:
            return None
        message = reminder.message
        due = due_reminder(self._state, row, reminder, self._cooldown_ms, now_ms)
        if due is None:
            return None
        if message is None or message.ends_ms != due.ends_ms:
            is_late = now_ms - due.ends_ms >= self._policy.kept_ms
            return None if is_late or _is_closed(row) else _Telling(*key, due.ends_ms, None)
        return _Telling(*key, due.ends_ms, message) if message.next_attempt_ms is not None else None

    def _put_off(self, key: _Key, now_ms: int) -> None:
        """Take away a timer that has ended while there is nothing to send, until there is.

        `now_ms` is the time at which there was nothing: a moment later the end may have come.
        """
        del self._timers[key]
        row, listing = self._state.users.get(key[0]), self._state.listings.get(key[1])
        reminder = row.reminder(key[1]) if row is not None else None
        if row is None or reminder is None or listing is None:
            return
        end_ms = ends_ms(self._state, row, reminder, self._cooldown_ms)
        if end_ms is not None and now_ms < end_ms:  # the wall clock was set back, or is a moment behind
            self._time(row, reminder, self._ledger.head)
        elif not listing.is_public:
            self._hidden[listing.ref].add(row.ref)

    async def _attempt(self, telling: _Telling) -> None:
        started_ns = self._clock.monotonic_ns()
        try:
            async with asyncio.timeout(None) as self._running:
                came = await self._tell(telling)
        except TimeoutError:
            return  # abandoned
        finally:
            self._running = None
        if came == "overtaken":
            self._look(telling.user, telling.listing, self._ledger.head)
            return
        failure, duration_ms = came, (self._clock.monotonic_ns() - started_ns) // NS_PER_MS
        # Dated back from its end: waits begin there, and the wall clock may have been set since the start.
        at_ms, message = self._clock.now_ms() - duration_ms, telling.message
        made, tries = (message.made, message.tries) if message is not None else (0, 0)
        fate = fate_of(self._policy, tries, telling.ends_ms, failure, at_ms, duration_ms)
        self._say(failure)
        self._unrecorded = ReminderAttempted(telling.user, telling.listing, telling.ends_ms, made + 1, *fate)
        self._is_recorded()

    async def _tell(self, telling: _Telling) -> Failure | Literal["overtaken"] | None:
        """Send the message. Return None if the user has it; "overtaken" if it is not to be sent any more."""
        user, listing = telling.user, telling.listing
        try:
            channel_id = await self._messenger.channel(user.removeprefix(USERS))
            if self._telling((user, listing), self._clock.now_ms()) != telling:
                return "overtaken"  # much may happen while the platform answers
            text = reminder_text(self._state.listings[listing], self._public_url)
            await self._messenger.post(channel_id, text, reminder_nonce(user, listing, telling.ends_ms))
        except PlatformAway as away:
            return failure_of(away)
        except Exception as bug:
            # A bug in one message must not stop the others. The log gets its place, and no words of people.
            place = "".join(traceback.format_tb(bug.__traceback__))
            log.error("a reminder for %s failed inside: %s\n%s", listing, type(bug).__name__, place)
            return INTERNAL
        return None

    def _is_recorded(self) -> bool:
        """Write the outcome that waits. Return True if none is left."""
        event = self._unrecorded
        row = self._state.users.get(event.ref) if event is not None else None
        if event is not None and row is not None and row.reminder(event.listing) is not None:
            try:
                self._ledger.commit([event])
            except Unavailable:
                return False
        self._unrecorded = None
        return True

    def _say(self, failure: Failure | None) -> None:
        """Tell the operator when the platform fails and works again."""
        is_failing = failure is not None and not failure.is_final
        if is_failing and not self._is_failing and failure is not None:
            log.warning("no user can be reminded by a message (%s): it is tried again", failure.error)
        elif self._is_failing and not is_failing:
            log.info("users are reminded by messages again")
        self._is_failing = is_failing


def _is_closed(row: UserRow) -> bool:
    """Tell if the user takes no messages, as far as is known since the last reminder was turned on."""
    closed_ms = max(
        (
            each.message.last.at_ms
            for each in row.reminders_on
            if each.message is not None
            and each.message.next_attempt_ms is None
            and each.message.last.error == "cannot_message"
        ),
        default=None,
    )
    return closed_ms is not None and all(each.set_ms <= closed_ms for each in row.reminders_on)
