"""Reminders to users that they may vote again, as a `Sender` sends them (webhook/sender.py).

    vote, reminder --record--> timer -> due? -> attempt -> outcome --record-->

A message is due if the reminder is on and the cooldown of the last vote is over (core/due_reminders.py). The
rows decide what is sent, so a crash forgets nothing: after a start all reminders are looked at. The outcome
of an attempt is kept in the user's row, with the end of the cooldown that it is about.

A user who takes no messages is not asked again before they turn a reminder on again. In a fleet, the node
with the lease for reminders sends them.

Invariant: one message for each vote, or none.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from core.clock import Clock, moment
from core.due_reminders import due_reminder, ends_ms
from core.events import (
    FREQUENT,
    Event,
    ListingMerged,
    ListingRemoved,
    ListingReviewed,
    ListingSaved,
    ReminderAttempted,
    ReminderSet,
    SlotsSet,
    UserErased,
    UserMerged,
    VoteCast,
    VotesMerged,
)
from core.ledger import Ledger
from core.user_rows import USERS, Reminder, ReminderMessage, UserRow, user_ref
from direct_messages.message_attempts import DirectMessages, Messages, Messenger
from direct_messages.message_text import Message, reminder_message
from direct_messages.timers import Timers
from webhook.attempts import RetryPolicy, due_at_ms
from webhook.sender import Outcome, Trouble

SLICE_REMINDERS = 128
"""The most reminders of one slice of a look at many, but for the last user's."""
_FAILING = Trouble(
    "no user can be reminded by a message (%s): it is tried again",
    "users are reminded by messages again",
)
_CHANGING_LISTINGS = (ListingReviewed, ListingSaved, ListingMerged, ListingRemoved, SlotsSet)
_Key = tuple[str, str]
"""A user and a listing, by their refs."""


class _Due(NamedTuple):
    """A message that is due now. `message` has the results of earlier attempts."""

    user: str
    listing: str
    ends_ms: int
    message: ReminderMessage | None


class ReminderNotifier:
    one_at_a_time = True
    unwritten = Trouble(
        "no user is reminded by a message until the outcome of the last one can be written",
        "users are reminded by messages again: the last outcome is written",
    )

    def __init__(
        self,
        ledger: Ledger,
        messenger: Messenger,
        policy: RetryPolicy,
        public_url: str,
        cooldown_ms: int,
        clock: Clock,
    ) -> None:
        """Make a notifier whose first steps look at all reminders.

        Args:
            public_url: where users find the pages of listings.
            cooldown_ms: how long after a vote a user may vote again.
        """
        self._timers = Timers[_Key]()
        self.wake: asyncio.Event = self._timers.wake
        self._ledger = ledger
        self._state = ledger.state
        self._messages = Messages("a reminder for", _FAILING, DirectMessages(messenger), policy, clock)
        self._public_url = public_url
        self._cooldown_ms = cooldown_ms
        self._clock = clock
        self._hidden: defaultdict[str, set[str]] = defaultdict(set)
        """By listing that is not public now: the users with a due reminder of it."""
        self._timers.add_look(self._look_at_all())
        self._looks_again = False

    # -- timers ----------------------------------------------------------------------------------------

    def on_durable(self) -> None:
        self._timers.wake_if_due(self._clock.steady_ms())

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
                    self._timers.add_look(self._look_at_users(users, event.ref, position))
            elif isinstance(event, VotesMerged):
                if with_reminders:
                    self._looks_again = True  # a leaf may hold very many users
                    self.wake.set()
            else:
                self._read_of_user(position, event)

    def _read_of_user(self, position: int, event: Event) -> None:
        if isinstance(event, ReminderSet) and not event.is_on:
            self._timers.remove((event.ref, event.listing))
        elif isinstance(event, ReminderSet | ReminderAttempted | UserMerged):
            self._look_at_user(event.ref, position)
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
        self._timers.set((row.ref, reminder.listing), self._due_ms(row, reminder), position)

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
        return due_at_ms(message.next_attempt_ms, message.last, now)

    # -- attempts --------------------------------------------------------------------------------------

    def take(self, now_ms: int, durable: int) -> Sequence[_Due]:
        """Return the message that is due. Look at a slice of reminders before."""
        if self._looks_again and not self._timers.has_looks:
            self._looks_again = False
            self._timers.add_look(self._look_at_all())
        if self._timers.run_slice(now_ms, durable):
            return []
        for _ in range(SLICE_REMINDERS):  # very many may be over at once
            key = self._timers.next_due()
            if key is None:
                break
            wall_ms = self._clock.now_ms()
            due = self._due(key, wall_ms)
            if due is not None:
                self._timers.remove(key)
                return [due]
            self._put_off(key, wall_ms)
        return []

    def next_due_ms(self) -> int | None:
        return self._timers.next_due_ms()

    def _due(self, key: _Key, now_ms: int) -> _Due | None:
        """Return the message of a reminder that is due now; None if there is none."""
        row = self._state.users.get(key[0])
        reminder = row.reminder(key[1]) if row is not None else None
        if row is None or reminder is None:
            return None
        message = reminder.message
        due = due_reminder(self._state, row, reminder, self._cooldown_ms, now_ms)
        if due is None:
            return None
        if message is None or message.ends_ms != due.ends_ms:
            is_late = now_ms - due.ends_ms >= self._messages.policy.kept_ms
            return None if is_late or _is_closed(row) else _Due(*key, due.ends_ms, None)
        return _Due(*key, due.ends_ms, message) if message.next_attempt_ms is not None else None

    def _put_off(self, key: _Key, now_ms: int) -> None:
        """Remove a timer that is over while there is nothing to send. It is set again once there is.

        `now_ms` is the time at which there was nothing to send: the cooldown may end a moment later.
        """
        self._timers.remove(key)
        row, listing = self._state.users.get(key[0]), self._state.listings.get(key[1])
        reminder = row.reminder(key[1]) if row is not None else None
        if row is None or reminder is None or listing is None:
            return
        end_ms = ends_ms(self._state, row, reminder, self._cooldown_ms)
        if end_ms is not None and now_ms < end_ms:  # the wall clock was set back, or is a moment behind
            self._time(row, reminder, self._ledger.head)
        elif not listing.is_public:
            self._hidden[listing.ref].add(row.ref)

    async def attempt(self, due: _Due) -> Outcome | None:
        made, tries = (due.message.made, due.message.tries) if due.message is not None else (0, 0)
        user_id, compose = due.user.removeprefix(USERS), partial(self._composed, due)
        fate = await self._messages.attempt(due.listing, user_id, compose, tries, due.ends_ms)
        if fate is None:
            self._look(due.user, due.listing, self._ledger.head)
            return None
        event = ReminderAttempted(due.user, due.listing, due.ends_ms, made + 1, *fate)
        return lambda: [event] if self._is_on(due) else []

    def _composed(self, due: _Due) -> Message | None:
        """Return the message; None if it is not due any more, now that the platform has answered."""
        if self._due((due.user, due.listing), self._clock.now_ms()) != due:
            return None
        listing = self._state.listings[due.listing]
        return reminder_message(due.user, listing, due.ends_ms, self._public_url)

    def _is_on(self, due: _Due) -> bool:
        row = self._state.users.get(due.user)
        return row is not None and row.reminder(due.listing) is not None


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
