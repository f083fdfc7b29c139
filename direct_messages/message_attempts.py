"""Attempts at messages to people, and their outcomes. A transport takes a message to its user.

    open the way -> is the message still due? -> send it -> outcome

There are two transports: direct messages of the chat platform, below, and e-mail (mail/mail_server.py). The
platform limits all messages together, so one attempt runs at a time. A refusal of the platform is final: its
bot may not write to this user, there is no such user, or the bot token is wrong. After any other failure the
next attempt comes as for a webhook: some retries, each a fixed delay after the failure before it, and then
the pauses of a suspended endpoint, up to the age at which a webhook expires. A limit of the platform uses up
no try.
"""

import logging
import math
from collections.abc import Callable
from typing import Generic, NamedTuple, Protocol, TypeVar

from chatplatform.platform_client import PlatformAway
from core.clock import Clock
from core.rows import Attempt, Outcome
from direct_messages.message_text import Message
from webhook.attempts import LEAST_BACKOFF_MS, RetryPolicy, ended_ms
from webhook.sender import Trouble, dated_back, log_bug

M = TypeVar("M")
"""A message, in the form that its transport takes."""
Taken = TypeVar("Taken", contravariant=True)
log = logging.getLogger(__name__)

CANNOT_MESSAGE = {50_007, 50_278}
"""The platform's numbers for a user who takes no messages of the bot, or shares no server with it."""
WORTH_ANOTHER_TRY = {408, *range(500, 600)}


class Failure(NamedTuple):
    """A failed attempt. `error` is its class. `wait_ms` is the wait that the platform asks for."""

    error: str
    status: int | None = None
    is_final: bool = False
    wait_ms: int = 0


INTERNAL = Failure("internal")


def failure_of(away: PlatformAway) -> Failure:
    """Return the failure of a message without a good answer."""
    if away.reason == "limited":
        return Failure("limited", wait_ms=math.ceil((away.retry_seconds or 0) * 1_000))
    if away.reason != "refused":
        return Failure(away.reason)
    is_closed = away.status == 403 and away.code in CANNOT_MESSAGE
    error = "cannot_message" if is_closed else f"http_{away.status}"
    return Failure(error, away.status, is_final=away.status not in WORTH_ANOTHER_TRY)


class Fate(NamedTuple):
    """The outcome of an attempt, and when the next one is due (Unix ms); None after the last."""

    attempt: Attempt
    outcome: Outcome
    next_attempt_ms: int | None


def fate_of(
    policy: RetryPolicy, tries: int, since_ms: int, failure: Failure | None, at_ms: int, duration_ms: int
) -> Fate:
    """Return the outcome of an attempt.

    Args:
        tries: the attempts before it that count.
        since_ms: the time that the message is about.
        failure: None if the message has arrived.
    """
    if failure is None:
        return Fate(Attempt(at_ms, duration_ms, 200, None, ""), "delivered", None)
    attempt = Attempt(at_ms, duration_ms, failure.status, failure.error, "")
    if failure.is_final or ended_ms(attempt) - since_ms >= policy.kept_ms:
        return Fate(attempt, "failed", None)
    if failure.error == "limited":
        return Fate(attempt, "held", ended_ms(attempt) + max(failure.wait_ms, LEAST_BACKOFF_MS))
    return Fate(attempt, "retry", ended_ms(attempt) + _pause_ms(policy, tries + 1))


def _pause_ms(policy: RetryPolicy, failed: int) -> int:
    """Return the wait after so many attempts that failed."""
    if failed <= policy.retries:
        return policy.retry_delay_ms
    return policy.length_ms(failed - policy.retries)


class Messenger(Protocol):
    """The part of the chat platform's client that attempts use. Its calls raise PlatformAway."""

    async def channel(self, user_id: str) -> str: ...
    async def post(self, channel_id: str, content: str, nonce: str) -> None: ...


class NotSent(Exception):
    """A transport could not send a message."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error)
        self.failure = failure


class Transport(Protocol[Taken]):
    async def send(self, user_id: str, compose: Callable[[], Taken | None]) -> bool:
        """Send a message, and return True; False if it is not due any more. Raises NotSent.

        Args:
            compose: is called right before the message leaves. It returns None if that is not due any more.
        """


class DirectMessages:
    """The transport of the chat platform."""

    def __init__(self, messenger: Messenger) -> None:
        self._messenger = messenger

    async def send(self, user_id: str, compose: Callable[[], Message | None]) -> bool:
        try:
            channel_id = await self._messenger.channel(user_id)
            message = compose()
            if message is None:
                return False
            await self._messenger.post(channel_id, message.text, message.nonce)
        except PlatformAway as away:
            raise NotSent(failure_of(away)) from None
        return True


class Messages(Generic[M]):
    """Makes the attempts at one kind of messages."""

    def __init__(
        self, name: str, failing: Trouble, transport: Transport[M], policy: RetryPolicy, clock: Clock
    ) -> None:
        """Make attempts at messages that the log calls `name`.

        Args:
            failing: the lines for a transport that fails; the first one has a place for the error.
        """
        self.policy = policy
        self._name = name
        self._failing = failing
        self._transport = transport
        self._clock = clock
        self._is_failing = False

    async def attempt(
        self, listing: str, user_id: str, compose: Callable[[], M | None], tries: int, since_ms: int
    ) -> Fate | None:
        """Send a message about a listing.

        Args:
            compose: see `Transport`.
            tries, since_ms: see `fate_of`.

        Returns None if the message is not due any more.
        """
        started_ns = self._clock.monotonic_ns()
        try:
            if not await self._transport.send(user_id, compose):
                return None
            failure = None
        except NotSent as error:
            failure = error.failure
        except Exception as bug:
            log_bug(f"{self._name} {listing}", bug)
            failure = INTERNAL
        self._log(failure)
        return fate_of(self.policy, tries, since_ms, failure, *dated_back(self._clock, started_ns))

    def _log(self, failure: Failure | None) -> None:
        """Log when the transport begins to fail, and when it works again."""
        was_failing, self._is_failing = self._is_failing, failure is not None and not failure.is_final
        if failure is not None and self._is_failing and not was_failing:
            log.warning(self._failing.begins, failure.error)
        elif was_failing and not self._is_failing:
            log.info(self._failing.ends)
