"""What an attempt means for its delivery and its endpoint. Law: nobody is charged for another's failure.

A delivery has a first attempt and some retries, each a delay after the failure before it; then it has failed
for good. An endpoint whose last events all failed for good, or that says that it is gone, is suspended. From
then on nothing is lost: whatever fails is held, and now and then one event probes the endpoint, twice as long
after the probe before it. The first event that is delivered ends the suspension.

A failure of our proxy or resolver, and a chat platform's "not so fast", cost a delivery no try and an
endpoint no standing. A test costs an endpoint nothing either: it is a question of the owner, not an event.
"""

from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from core.events import DeliveryAttempted, EndpointHealthSet, Event
from core.rows import Attempt, Delivery, Outcome, Suspension, Webhook

UNCHARGED = {"proxy", "resolver", "internal"}
LEAST_BACKOFF_MS, LONGEST_BACKOFF_MS = 1_000, 300_000


@dataclass(frozen=True)
class RetryPolicy:
    """`retries` follow a failed first attempt. After `suspend_after` events an endpoint is suspended, first
    for `suspension_ms`, at last for `longest_suspension_ms`."""

    retries: int
    retry_delay_ms: int
    suspend_after: int
    suspension_ms: int
    longest_suspension_ms: int

    def length_ms(self, times: int) -> int:
        """How long an endpoint is suspended that has failed as a whole so many times."""
        return min(self.suspension_ms << min(times - 1, 40), self.longest_suspension_ms)

    def longest_to_probe_ms(self, times: int) -> int:
        """How far away its next probe is at the most, put off or not."""
        return max(self.length_ms(times), LONGEST_BACKOFF_MS)


class AttemptResult(NamedTuple):
    """What came of an attempt. `charged`: a failure is the endpoint's. `gone`: the endpoint wants nothing any
    more. `wait_ms`: it wants nothing so soon, and neither do other endpoints of its kind if `everywhere`."""

    attempt: Attempt
    charged: bool = True
    gone: bool = False
    wait_ms: int = 0
    everywhere: bool = False


def attempt_events(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook | None, finding: AttemptResult, *, probe: bool
) -> list[Event]:
    """The events of an attempt. `webhook` is None when the settings that were used are no longer those."""
    attempt = finding.attempt
    if attempt.error is None:
        recovered = webhook is not None and (webhook.failed or webhook.suspension)
        health = [EndpointHealthSet(delivery.ref, 0, None)] if recovered else []
        return [_attempted(delivery, attempt, "delivered", None), *health]
    if not finding.charged:
        next_ms = ended_ms(attempt) + (finding.wait_ms or _backoff_ms(policy, delivery, attempt))
        held = _attempted(delivery, attempt, "held", next_ms)
        if not probe or webhook is None or webhook.suspension is None:
            return [held]
        put_off = replace(webhook.suspension, probe_ms=next_ms)
        return [held, EndpointHealthSet(delivery.ref, webhook.failed, put_off)]
    if delivery.test:
        return _failed(policy, delivery, None, attempt)
    if webhook is None:
        return [_attempted(delivery, attempt, "held", ended_ms(attempt))]  # nobody has asked the new one
    if webhook.suspension is not None or finding.gone:
        return _suspended(policy, delivery, webhook, attempt, probe=probe)
    return _failed(policy, delivery, webhook, attempt)


def _suspended(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook, attempt: Attempt, *, probe: bool
) -> list[Event]:
    """The endpoint is suspended, or is from now on: the delivery is held."""
    held = _attempted(delivery, attempt, "held", ended_ms(attempt))
    if webhook.suspension is not None and not probe:
        return [held]  # it was under way when the endpoint was suspended
    return [held, EndpointHealthSet(delivery.ref, webhook.failed, _longer(policy, webhook, attempt))]


def _failed(
    policy: RetryPolicy, delivery: Delivery, webhook: Webhook | None, attempt: Attempt
) -> list[Event]:
    """Without a webhook nobody's standing depends on it."""
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
    """The next suspension after a failure of the endpoint as a whole."""
    at_ms = ended_ms(attempt)
    before = webhook.suspension
    times = before.times + 1 if before is not None else 1
    since_ms = before.since_ms if before is not None else at_ms
    return Suspension(since_ms, attempt.error or "", times, at_ms + policy.length_ms(times))


def _backoff_ms(policy: RetryPolicy, delivery: Delivery, attempt: Attempt) -> int:
    """The retry delay, doubled for each attempt just before this one that failed of nobody's fault, or of the
    same as this one."""
    misses = 0
    for before in reversed(delivery.attempts):
        if before.error not in {*UNCHARGED, attempt.error}:
            break
        misses += 1
    return min(max(policy.retry_delay_ms, LEAST_BACKOFF_MS) << misses, LONGEST_BACKOFF_MS)


def ended_ms(attempt: Attempt) -> int:
    return attempt.at_ms + attempt.duration_ms


def _attempted(
    delivery: Delivery, attempt: Attempt, outcome: Outcome, next_ms: int | None
) -> DeliveryAttempted:
    return DeliveryAttempted(delivery.id, delivery.ref, delivery.made + 1, attempt, outcome, next_ms)
