"""The rules on attempts: retries and suspension. Invariant: only failures of the endpoint count against a
delivery and its endpoint.

A delivery has a first attempt and some retries, each a fixed delay after the failure before it. Then it has
failed for good. An endpoint is suspended after a number of consecutive deliveries that failed for good, or
when it answers that it is gone. During a suspension nothing is lost: a delivery that fails is held. Now and
then one delivery probes the endpoint; the time between probes doubles. The first delivery that succeeds ends
the suspension.

A failure of our proxy or resolver, and a chat platform's rate limit, use up no try of the delivery and do not
count against the endpoint. A test does not count against the endpoint either, because it is no vote.
"""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from core.clock import Moment
from core.events import DeliveryAttempted, EndpointHealthSet, Event
from core.rows import Attempt, Delivery, Outcome, Suspension, Webhook

UNCHARGED = {"proxy", "resolver", "internal"}
LEAST_BACKOFF_MS, LONGEST_BACKOFF_MS = 1_000, 300_000


@dataclass(frozen=True)
class RetryPolicy:
    """The numbers of the rules.

    `retries` may follow a failed first attempt. After `suspend_after` deliveries that failed for good, an
    endpoint is suspended for `suspension_ms`, which doubles up to `longest_suspension_ms`. A delivery or a
    message expires after `kept_ms`.
    """

    retries: int
    retry_delay_ms: int
    suspend_after: int
    suspension_ms: int
    longest_suspension_ms: int
    kept_ms: int

    def length_ms(self, times: int) -> int:
        """Return the length of the suspension number `times` since the endpoint last worked."""
        return min(self.suspension_ms << min(times - 1, 40), self.longest_suspension_ms)

    def longest_to_probe_ms(self, times: int) -> int:
        """Return the longest possible wait for the next probe, postponed or not."""
        return max(self.length_ms(times), LONGEST_BACKOFF_MS)


class AttemptResult(NamedTuple):
    """The result of an attempt, and its meaning for the endpoint.

    `charged` is True if a failure is the endpoint's. `gone` is True if the endpoint refuses all further
    deliveries. `wait_ms` is the wait that the endpoint asks for; `everywhere` extends it to all chat
    webhooks.
    """

    attempt: Attempt
    charged: bool = True
    gone: bool = False
    wait_ms: int = 0
    everywhere: bool = False


def attempt_events(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook | None, result: AttemptResult, *, probe: bool
) -> list[Event]:
    """Return the events of an attempt. `webhook` is None if its settings have changed since the attempt
    began."""
    attempt = result.attempt
    if attempt.error is None:
        recovered = webhook is not None and (webhook.failed or webhook.suspension)
        health = [EndpointHealthSet(delivery.ref, 0, None)] if recovered else []
        return [_attempted(delivery, attempt, "delivered", None), *health]
    if not result.charged:
        next_ms = ended_ms(attempt) + (result.wait_ms or _backoff_ms(policy, delivery, attempt))
        held = _attempted(delivery, attempt, "held", next_ms)
        if not probe or webhook is None or webhook.suspension is None:
            return [held]
        put_off = replace(webhook.suspension, probe_ms=next_ms)
        return [held, EndpointHealthSet(delivery.ref, webhook.failed, put_off)]
    if delivery.test:
        return _failed(policy, delivery, None, attempt)
    if webhook is None:
        # The new endpoint has not been asked.
        return [_attempted(delivery, attempt, "held", ended_ms(attempt))]
    if webhook.suspension is not None or result.gone:
        return _suspended(policy, delivery, webhook, attempt, probe=probe)
    return _failed(policy, delivery, webhook, attempt)


def _suspended(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook, attempt: Attempt, *, probe: bool
) -> list[Event]:
    """Hold the delivery: the endpoint is suspended, or is so from now on."""
    held = _attempted(delivery, attempt, "held", ended_ms(attempt))
    if webhook.suspension is not None and not probe:
        return [held]  # the attempt began before the suspension
    return [held, EndpointHealthSet(delivery.ref, webhook.failed, _longer(policy, webhook, attempt))]


def _failed(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook | None, attempt: Attempt
) -> list[Event]:
    """Retry the delivery, or give it up. With a webhook, the failure counts against the endpoint."""
    if delivery.tries < policy.retries:
        next_ms = ended_ms(attempt) + policy.retry_delay_ms
        return [_attempted(delivery, attempt, "retry", next_ms)]
    final = _attempted(delivery, attempt, "failed", None)
    if webhook is None:
        return [final]
    failed = webhook.failed + 1
    suspension = _longer(policy, webhook, attempt) if failed >= policy.suspend_after else None
    return [final, EndpointHealthSet(delivery.ref, failed, suspension)]


def _longer(policy: RetryPolicy, webhook: Webhook, attempt: Attempt) -> Suspension:
    """Return the next suspension of the endpoint, longer than the one before."""
    at_ms = ended_ms(attempt)
    before = webhook.suspension
    times = before.times + 1 if before is not None else 1
    since_ms = before.since_ms if before is not None else at_ms
    return Suspension(since_ms, attempt.error or "", times, at_ms + policy.length_ms(times))


def _backoff_ms(policy: RetryPolicy, delivery: Delivery, attempt: Attempt) -> int:
    """Return the wait after an attempt that is charged to nobody.

    It is the retry delay, doubled for each uncharged failure, or failure of the same class, just before this
    attempt.
    """
    misses = 0
    for before in reversed(delivery.attempts):
        if before.error not in {*UNCHARGED, attempt.error}:
            break
        misses += 1
    return min(max(policy.retry_delay_ms, LEAST_BACKOFF_MS) << misses, LONGEST_BACKOFF_MS)


def ended_ms(attempt: Attempt) -> int:
    """Return the wall time at which an attempt ended."""
    return attempt.at_ms + attempt.duration_ms


def due_at_ms(next_ms: int, last: Attempt | None, now: Moment) -> int:
    """Return the steady time of an attempt that is due at the wall time `next_ms`: now, if it is the first.

    The wait is at most as long as `last`, the attempt before, has set it.
    """
    return to_steady_ms(next_ms, next_ms - ended_ms(last) if last is not None else 0, now)


def to_steady_ms(wall_ms: int, longest_ms: int, now: Moment) -> int:
    """Convert a wall time to steady time: not before now, and at most `longest_ms` later."""
    wait_ms = min(wall_ms - now.wall_ms, longest_ms)
    return now.steady_ms + (wait_ms + now.rounding_ms if wait_ms > 0 else 0)


def _attempted(
    delivery: Delivery, attempt: Attempt, outcome: Outcome, next_ms: int | None
) -> DeliveryAttempted:
    return DeliveryAttempted(delivery.id, delivery.ref, delivery.made + 1, attempt, outcome, next_ms)
