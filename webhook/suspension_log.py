"""Endpoints that are suspended, told to who reads the log. Law: a line when it begins and one when it ends.

Neither URLs nor answers are told: both may hold secrets. A probe that fails changes nothing, and is not told.
"""

import logging
from collections.abc import Iterable, Sequence

from core.events import EndpointHealthSet, Event, ListingRemoved, WebhookRemoved, WebhookSaved
from core.rows import Suspension
from core.state import State

log = logging.getLogger(__name__)


class SuspensionLog:
    def __init__(self, state: State, suspended: Iterable[str]) -> None:
        """`suspended` are the refs of those who were told of before the start."""
        self._state = state
        self._suspended = set(suspended)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Reads a committed record."""
        for event in events:
            match event:
                case EndpointHealthSet():
                    self._look(event.ref, "it took a webhook")
                case WebhookSaved():
                    self._look(event.ref, "its settings were saved")
                case WebhookRemoved() | ListingRemoved():
                    self._look(event.ref, "it was removed")

    def _look(self, ref: str, cause: str) -> None:
        suspension = self._suspension(ref)
        if suspension is None and ref in self._suspended:
            self._suspended.discard(ref)
            log.warning("the endpoint of %s is no longer suspended: %s", ref, cause)
        elif suspension is not None and ref not in self._suspended:
            self._suspended.add(ref)
            seconds = -(-(suspension.probe_ms - suspension.since_ms) // 1_000)
            text = "the endpoint of %s is suspended: %s; its webhooks wait, and one probes it in %d s"
            log.warning(text, ref, suspension.reason, seconds)

    def _suspension(self, ref: str) -> Suspension | None:
        listing = self._state.listings.get(ref)
        return listing.webhook.suspension if listing is not None and listing.webhook is not None else None
