"""Suspensions, probes and recoveries of endpoints in the operator's log. Invariant: one line when each
begins, and one when it ends.

A probe is the attempt that tests whether a suspended endpoint works again. An endpoint recovers from the end
of its suspension until each webhook that waited for that end was attempted, or is removed. If no webhook has
waited, there is no recovery, and no line. The lines show no URL and no response, because both may contain
secrets.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from core.events import DeliveryAttempted, DeliveryQueued, EndpointHealthSet, Event, ListingRemoved, SlotsSet
from core.rows import Attempt, Suspension, Webhook
from core.state import State

log = logging.getLogger(__name__)

BY_HAND = "the operator has lifted it"


class SuspensionLog:
    """Reads the log for changes of suspensions."""

    def __init__(self, state: State, suspended: Iterable[str]) -> None:
        """`suspended` are the refs of the endpoints that are suspended already."""
        self._state = state
        self._suspended = set(suspended)
        self._recoveries = Recoveries(state)

    def __len__(self) -> int:
        """Return the number of suspended endpoints. It does not look at every queue."""
        return len(self._suspended)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record. The health of an endpoint changes with an attempt, or by hand."""
        self._recoveries.on_events(events)
        for event in events:
            match event:
                case EndpointHealthSet():
                    attempted = any(isinstance(each, DeliveryAttempted) for each in events)
                    self._look(event.ref, "it took a webhook" if attempted else BY_HAND)
                case SlotsSet(webhook=Webhook()):
                    self._look(event.ref, "its settings were saved")
                case SlotsSet(webhook=None) | ListingRemoved():
                    self._look(event.ref, "it was removed")

    def _look(self, ref: str, cause: str) -> None:
        suspension = self._suspension(ref)
        if suspension is None and ref in self._suspended:
            self._suspended.discard(ref)
            log.info("the endpoint of %s is no longer suspended: %s", ref, cause)
            self._recoveries.begin(ref)
        elif suspension is not None and ref not in self._suspended:
            self._suspended.add(ref)
            self._recoveries.end(ref, "it is suspended again")
            seconds = -(-(suspension.probe_ms - suspension.since_ms) // 1_000)
            text = "the endpoint of %s is suspended: %s; its webhooks wait, and one probes it in %d s"
            log.warning(text, ref, suspension.reason, seconds)

    def _suspension(self, ref: str) -> Suspension | None:
        listing = self._state.listings.get(ref)
        return listing.webhook.suspension if listing is not None and listing.webhook is not None else None


# -- recoveries ----------------------------------------------------------------------------------------------


class Recoveries:
    """The endpoints that recover, each with the waiting deliveries that were not attempted yet."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: dict[str, set[str]] = {}

    def begin(self, ref: str) -> None:
        """Note that the suspension of an endpoint is over."""
        waiting = {*self._state.deliveries.pending_of(ref)}
        if waiting:
            self._waiting[ref] = waiting
            log.info(
                "the endpoint of %s recovers: it is sent the webhooks that waited, %d of them",
                ref,
                len(waiting),
            )

    def end(self, ref: str, cause: str) -> None:
        """End the recovery of an endpoint, if it recovers."""
        if self._waiting.pop(ref, None) is not None:
            log.info("the endpoint of %s recovers no longer: %s", ref, cause)

    def on_events(self, events: Sequence[Event]) -> None:
        """Read the events of a record that has just been committed."""
        if not self._waiting:
            return
        for event in events:
            if isinstance(event, DeliveryAttempted) and event.ref in self._waiting:
                self._waiting[event.ref].discard(event.delivery_id)
        if not all(isinstance(event, DeliveryAttempted | DeliveryQueued) for event in events):
            for ref, waiting in self._waiting.items():  # the event may have removed any of them
                waiting.intersection_update(self._state.deliveries.pending_of(ref))
        for ref in [ref for ref, waiting in self._waiting.items() if not waiting]:
            self.end(ref, "nothing that waited is left")


# -- probes --------------------------------------------------------------------------------------------------


class Asked:
    """The outcome of an attempt, None until it is known."""

    attempt: Attempt | None = None


@contextmanager
def asking(ref: str, suspension: Suspension | None) -> Iterator[Asked]:
    """Log an attempt if it probes a suspension. The block sets the outcome, unless it is cancelled."""
    asked = Asked()
    if suspension is None:
        yield asked
        return
    log.warning("a webhook probes the endpoint of %s, which is suspended: %s", ref, suspension.reason)
    try:
        yield asked
    finally:
        if asked.attempt is None:
            log.warning("the probe of the endpoint of %s is broken off: the gateway stops", ref)
        elif asked.attempt.error is None:
            log.info("the probe of the endpoint of %s succeeded", ref)
        else:
            error = asked.attempt.error
            log.warning("the probe of the endpoint of %s failed: %s; it stays suspended", ref, error)
