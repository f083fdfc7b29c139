"""What comes of an attempt to tell an owner. Law: what trying again cannot change is not tried again.

A refusal of the platform is for good: its bot may not write to this user, there is no such user, or the bot
token is wrong. After any other failure the next attempt comes as for a webhook: some retries, each a fixed
delay after the failure before it, and then the pauses of a suspended endpoint, up to the age at which a
webhook expires. A limit of the platform uses up no try.
"""

import math
from typing import NamedTuple

from chatplatform.platform_client import PlatformAway
from core.events import OwnerMessageAttempted
from core.rows import Attempt, Outcome, OwnerMessage
from webhook.attempts import LEAST_BACKOFF_MS, RetryPolicy, ended_ms

CANNOT_MESSAGE = {50_007, 50_278}
"""The platform's numbers for a user who takes no messages of the bot, or shares no server with it."""
WORTH_ANOTHER_TRY = {408, *range(500, 600)}


class MessagePolicy(NamedTuple):
    """The schedule of webhooks, and the age at which a message is given up."""

    retries: RetryPolicy
    kept_ms: int


class Failure(NamedTuple):
    """A failed attempt. `error` is its class. `wait_ms` is the wait that the platform asks for."""

    error: str
    status: int | None = None
    is_final: bool = False
    wait_ms: int = 0


INTERNAL = Failure("internal")


def failure_of(away: PlatformAway) -> Failure:
    """Return what an answer, or none, means for a message."""
    if away.reason == "limited":
        return Failure("limited", wait_ms=math.ceil((away.retry_seconds or 0) * 1_000))
    if away.reason != "refused":
        return Failure(away.reason)
    is_closed = away.status == 403 and away.code in CANNOT_MESSAGE
    error = "cannot_message" if is_closed else f"http_{away.status}"
    return Failure(error, away.status, is_final=away.status not in WORTH_ANOTHER_TRY)


def attempt_event(
    policy: MessagePolicy,
    ref: str,
    message: OwnerMessage,
    failure: Failure | None,
    at_ms: int,
    duration_ms: int,
) -> OwnerMessageAttempted:
    """Return the event of an attempt. `failure` is None for one that has told the owner."""
    fate = fate_of(policy, message.tries, message.decided_ms, failure, at_ms, duration_ms)
    return OwnerMessageAttempted(ref, message.decided_ms, message.made + 1, *fate)


class Fate(NamedTuple):
    """What came of an attempt, and when the next one is due (Unix ms); None after the last."""

    attempt: Attempt
    outcome: Outcome
    next_attempt_ms: int | None


def fate_of(
    policy: MessagePolicy, tries: int, since_ms: int, failure: Failure | None, at_ms: int, duration_ms: int
) -> Fate:
    """Return what comes of an attempt.

    Args:
        tries: the attempts before it that count.
        since_ms: the time that the message tells of.
        failure: None if the message has arrived.
    """
    if failure is None:
        return Fate(Attempt(at_ms, duration_ms, 200, None, ""), "delivered", None)
    attempt = Attempt(at_ms, duration_ms, failure.status, failure.error, "")
    if failure.is_final or ended_ms(attempt) - since_ms >= policy.kept_ms:
        return Fate(attempt, "failed", None)
    if failure.error == "limited":
        return Fate(attempt, "held", ended_ms(attempt) + max(failure.wait_ms, LEAST_BACKOFF_MS))
    return Fate(attempt, "retry", ended_ms(attempt) + _pause_ms(policy.retries, tries + 1))


def _pause_ms(retries: RetryPolicy, failed: int) -> int:
    """Return the wait after so many attempts that failed."""
    if failed <= retries.retries:
        return retries.retry_delay_ms
    return retries.length_ms(failed - retries.retries)
