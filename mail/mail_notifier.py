"""Mails to users, as a `Sender` sends them (webhook/sender.py).

The outcome of an attempt is kept in the user's row, with the time that the mail is about. In a fleet, the
node with the lease for reminders sends the mails.

Invariant: a user gets at most one mail about a decision, a suspension or a newest report. Only a process that
ends before it writes the outcome sends the mail again.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import UNSET
from typing_extensions import TypeIs

from core.clock import Clock, moment
from core.events import (
    FREQUENT,
    ChangeDecided,
    EndpointHealthSet,
    Event,
    ListingMerged,
    ListingReported,
    ListingReviewed,
    MailAttempted,
    SlotsSet,
    UserMerged,
    UserSlotsSet,
)
from core.ledger import Ledger
from core.user_rows import USERS, UserRow, user_ref
from direct_messages.message_attempts import Messages, Transport
from direct_messages.timers import Timers
from listings.ownership import Ownership
from mail.due_mails import OF_LISTINGS, DueMail, MailKey, due_mail
from mail.mail_text import Letterhead, Mail, Say, language_for, mail_to
from webhook.attempts import RetryPolicy, due_at_ms, to_steady_ms
from webhook.sender import Outcome, Trouble

SLICE_LISTINGS = 64
"""The listings in one slice of a look at the listings of many users."""
_FAILING = Trouble("no mail can be sent (%s): it is tried again", "mails are sent again")
_OF_LISTING = (ListingReviewed, ChangeDecided, ListingMerged, SlotsSet)


def _may_choose(event: Event) -> TypeIs[UserMerged | UserSlotsSet]:
    """Tell if an event may turn mails on."""
    return isinstance(event, UserMerged) or (isinstance(event, UserSlotsSet) and event.mail is not UNSET)


class MailNotifier:
    one_at_a_time = True
    unwritten = Trouble(
        "no mail is sent until the outcome of the last one can be written",
        "mails are sent again: the last outcome is written",
    )

    def __init__(
        self,
        ledger: Ledger,
        ownership: Ownership,
        moderators: Callable[[str], bool],
        transport: Transport[Mail],
        policy: RetryPolicy,
        head: Letterhead,
        clock: Clock,
    ) -> None:
        """Make a notifier. Its first steps look at all users who get mails.

        Args:
            moderators: tells if a user, by id, moderates.
        """
        self._timers = Timers[MailKey]()
        self.wake: asyncio.Event = self._timers.wake
        self._ledger = ledger
        self._state = ledger.state
        self._ownership = ownership
        self._moderators = moderators
        self._messages = Messages("a mail about", _FAILING, transport, policy, clock)
        self._head = head
        self._clock = clock
        self._timers.add_look(self._look_at_all())

    # -- timers ----------------------------------------------------------------------------------------

    def on_durable(self) -> None:
        self._timers.wake_if_due(self._clock.steady_ms())

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if not self._state.users.with_mail:
            return
        for event in events:
            if type(event) is EndpointHealthSet:
                if event.suspension is not None:
                    self._look_at_listing(event.ref, position)
            elif type(event) not in FREQUENT:
                self._read(position, event)

    def _read(self, position: int, event: Event) -> None:
        if isinstance(event, _OF_LISTING):
            self._look_at_listing(event.ref, position)
        elif isinstance(event, MailAttempted):
            self._time(MailKey(event.ref, event.topic, event.listing), position)
        elif _may_choose(event) and event.ref in self._state.users.with_mail:
            self._timers.add_look(self._look_at_user(event.ref, position))
        if isinstance(event, ListingReported) or (
            isinstance(event, ListingMerged) and event.row.open_reports
        ):
            self._look_at_reports(position)

    def _look_at_all(self) -> Iterator[None]:
        users = self._state.users
        if users.with_mail:
            yield from self._ownership.survey()
        for ref in [*users.with_mail]:
            yield from self._look_at_user(ref, self._ledger.head)

    def _look_at_user(self, ref: str, position: int) -> Iterator[None]:
        self._time(MailKey(ref, "reports", ""), position)
        for number, listing in enumerate([*self._ownership.refs_of(ref.removeprefix(USERS))]):
            self._look(ref, listing, position)
            if number % SLICE_LISTINGS == SLICE_LISTINGS - 1:
                yield

    def _look_at_listing(self, ref: str, position: int) -> None:
        if ref not in self._state.listings:
            return
        for user_id in self._state.listings.brief(ref).owners:
            if user_ref(user_id) in self._state.users.with_mail:
                self._look(user_ref(user_id), ref, position)

    def _look_at_reports(self, position: int) -> None:
        for ref in self._state.users.with_mail:
            if "reports" in self._state.users[ref].mailed_topics:
                self._time(MailKey(ref, "reports", ""), position)

    def _look(self, user: str, listing: str, position: int) -> None:
        for topic in OF_LISTINGS:
            self._time(MailKey(user, topic, listing), position)

    def _time(self, key: MailKey, position: int) -> None:
        """Set the timer of a mail, or remove it if nothing is to be sent."""
        due = self._due(key)
        self._timers.set(key, self._due_ms(due) if due is not None else None, position)

    def _due_ms(self, due: DueMail) -> int:
        """Return the steady time at which a mail is due."""
        now = moment(self._clock)
        if due.sent is None:
            return to_steady_ms(due.due_ms, due.due_ms - now.wall_ms, now)
        return due_at_ms(due.due_ms, due.sent.last, now)

    # -- attempts --------------------------------------------------------------------------------------

    def take(self, now_ms: int, durable: int) -> Sequence[tuple[MailKey, DueMail]]:
        """Look at a slice of listings, and return the due mail."""
        if self._timers.run_slice(now_ms, durable):
            return []
        while (key := self._timers.next_due()) is not None:
            self._timers.remove(key)
            due = self._due_now(key)
            if due is not None:
                return [(key, due)]
        return []

    def next_due_ms(self) -> int | None:
        return self._timers.next_due_ms()

    def _due_now(self, key: MailKey) -> DueMail | None:
        """Return the mail that is due now. A timer that was too early is set again."""
        due, now_ms = self._due(key), self._clock.now_ms()
        if due is None or now_ms - due.about_ms >= self._messages.policy.kept_ms:
            return None
        if due.sent is None and now_ms < due.due_ms:  # the wall clock was set back
            self._time(key, self._ledger.head)
            return None
        return due

    async def attempt(self, item: tuple[MailKey, DueMail]) -> Outcome | None:
        key, due = item
        made, tries = (due.sent.made, due.sent.tries) if due.sent is not None else (0, 0)
        user = self._user(key)
        if user is None:
            return None
        say = await self._head.speaking(language_for(user))
        compose = partial(self._composed, key, due, say)
        what = key.listing or key.topic
        fate = await self._messages.attempt(what, key.user, compose, tries, due.about_ms)
        if fate is None:
            self._time(key, self._ledger.head)
            return None
        event = MailAttempted(*key, due.about_ms, made + 1, *fate)
        return lambda: [event] if self._user(key) is not None else []

    def _composed(self, key: MailKey, due: DueMail, say: Say) -> Mail | None:
        """Return the mail; None if it is not due any more."""
        user = self._user(key)
        address = user.mail.address if user is not None and user.mail is not None else None
        if address is None or self._due(key) != due:
            return None
        listing = partial(self._state.listings.peek, key.listing)
        return mail_to(address, listing, key, due, self._head, say)

    def _due(self, key: MailKey) -> DueMail | None:
        """Return the next mail of a key. Only moderators get mails about reports."""
        if key.topic == "reports" and not self._moderators(key.user.removeprefix(USERS)):
            return None
        return due_mail(self._state, key)

    def _user(self, key: MailKey) -> UserRow | None:
        return self._state.users.get(key.user)
