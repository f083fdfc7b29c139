"""Suspensions in the operator's log. Law: one line when a suspension begins, and one when it ends.

The lines show no URL and no response, because both may hold secrets.
"""

import logging
from collections.abc import Iterable, Sequence

from core.events import (
    DeliveryAttempted,
    EndpointHealthSet,
    Event,
    ListingRemoved,
    SlotsSet,
)
from core.rows import Suspension, Webhook
from core.state import State
from webhook.recovery_log import Recoveries

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
        """Return the number of endpoints that are suspended, without walking over all that have a queue."""
        return len(self._suspended)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record. The health of an endpoint changes with an attempt, or by hand."""
        self._recoveries.on_events(events)
        attempted = any(isinstance(event, DeliveryAttempted) for event in events)
        for event in events:
            match event:
                case EndpointHealthSet():
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
