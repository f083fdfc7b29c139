"""Messages to owners about decisions, as a `Sender` sends them (webhook/sender.py).

A message is a part of the listing's row (core/owner_messages.py). A later decision replaces the message of an
earlier one that was not delivered. All times of `_Waiting` are steady time (core/clock.py).
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from core.actors import user_of
from core.clock import Clock, moment
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
from core.rows import OwnerMessage
from core.state import State
from direct_messages.message_attempts import DirectMessages, Messages, Messenger
from direct_messages.message_text import Message, owner_message
from webhook.attempts import RetryPolicy, due_at_ms
from webhook.sender import Outcome, Trouble

log = logging.getLogger(__name__)

_CHANGING = {
    *(OwnerMessageQueued, OwnerMessageAttempted, OwnerMessageTaken),
    *(ListingMerged, ListingRemoved, UserErased, NodeNamed),
}
_FAILING = Trouble(
    "no owner can be told of a decision (%s): it is tried again",
    "owners get messages about decisions again",
)


class _Waiting(NamedTuple):
    """A message of this node, which may leave at `due_ms`, once the record at `position` is durable."""

    message: OwnerMessage
    due_ms: int
    position: int


class OwnerNotifier:
    one_at_a_time = True
    unwritten = Trouble(
        "no owner gets a message about a decision until the outcome of the last one can be written",
        "owners get messages about decisions again: the last outcome is written",
    )

    def __init__(
        self, state: State, messenger: Messenger, policy: RetryPolicy, public_url: str, clock: Clock
    ) -> None:
        """Take over the messages that wait.

        Args:
            public_url: where owners find the pages of their listings.
        """
        self.wake = asyncio.Event()
        self._state = state
        transport = DirectMessages(messenger)
        self._messages = Messages("the message to the owner of", _FAILING, transport, policy, clock)
        self._public_url = public_url
        self._clock = clock
        self._waiting: dict[str, _Waiting] = {}
        self._durable = 0
        self._look(position=0)

    def on_durable(self) -> None:
        """Look again if any message waits: few records have a decision."""
        if self._waiting:
            self.wake.set()

    def on_record(self, position: int, events: Sequence[Event]) -> None:
        """Read a committed record. The state's `untold` has the messages that wait now."""
        if any(type(event) in _CHANGING for event in events):
            self._look(position)

    def _look(self, position: int) -> None:
        """Note the messages that wait after the record at a position. A known message keeps its time."""
        now, before = moment(self._clock), self._waiting
        self._waiting = {}
        for ref, message in self._state.listings.untold.items():
            known = before.get(ref)
            if known is not None and known.message == message:
                self._waiting[ref] = known
            elif not message.node:
                at_ms = due_at_ms(message.next_attempt_ms or 0, message.last, now)
                self._waiting[ref] = _Waiting(message, at_ms, position)

    def take(self, now_ms: int, durable: int) -> Sequence[str]:
        """Return the ref of the listing whose message is due first."""
        self._durable = durable
        due = [(each.due_ms, ref) for ref, each in self._may_leave() if each.due_ms <= now_ms]
        return [min(due)[1]] if due else []

    def next_due_ms(self) -> int | None:
        """Return the time of the first message whose record is durable; the others wake the sender."""
        return min((each.due_ms for _, each in self._may_leave()), default=None)

    def _may_leave(self) -> list[tuple[str, _Waiting]]:
        return [(ref, each) for ref, each in self._waiting.items() if each.position <= self._durable]

    async def attempt(self, ref: str) -> Outcome | None:
        waiting = self._waiting.get(ref)
        if waiting is None:
            return None
        message = waiting.message
        compose = partial(self._composed, ref, message)
        to, since_ms = user_of(message.to) or "", message.decided_ms
        fate = await self._messages.attempt(ref, to, compose, message.tries, since_ms)
        if fate is None:
            return None
        if fate.outcome == "failed":
            log.warning("the owner of %s is not told of the decision: %s", ref, fate.attempt.error)
        event = OwnerMessageAttempted(ref, message.decided_ms, message.made + 1, *fate)
        return lambda: [event] if self._state.listings.untold.get(ref) == message else []

    def _composed(self, ref: str, message: OwnerMessage) -> Message | None:
        """Return the message, or None if its user was erased or another decision was made meanwhile."""
        if self._state.listings.untold.get(ref) != message:
            return None
        return owner_message(self._state.listings[ref], message, self._public_url)
