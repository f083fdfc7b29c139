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
from core.rows import Attempt, OwnerMessage
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
    number, decided_ms = message.made + 1, message.decided_ms
    if failure is None:
        told = Attempt(at_ms, duration_ms, 200, None, "")
        return OwnerMessageAttempted(ref, decided_ms, number, told, "delivered", None)
    attempt = Attempt(at_ms, duration_ms, failure.status, failure.error, "")
    if failure.is_final or ended_ms(attempt) - decided_ms >= policy.kept_ms:
        return OwnerMessageAttempted(ref, decided_ms, number, attempt, "failed", None)
    if failure.error == "limited":
        next_ms = ended_ms(attempt) + max(failure.wait_ms, LEAST_BACKOFF_MS)
        return OwnerMessageAttempted(ref, decided_ms, number, attempt, "held", next_ms)
    next_ms = ended_ms(attempt) + _pause_ms(policy.retries, message.tries + 1)
    return OwnerMessageAttempted(ref, decided_ms, number, attempt, "retry", next_ms)


def _pause_ms(retries: RetryPolicy, failed: int) -> int:
    """Return the wait after so many attempts that failed."""
    if failed <= retries.retries:
        return retries.retry_delay_ms
    return retries.length_ms(failed - retries.retries)
