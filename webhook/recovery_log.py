"""Recoveries of endpoints in the operator's log. Law: one line when a recovery begins, and one when it ends.

An endpoint recovers from the end of its suspension until each webhook that waited for that end has been
attempted, or is gone. Without one that waited there is nothing to recover from, and no line.
"""

import logging
from collections.abc import Sequence

from core.events import DeliveryAttempted, DeliveryQueued, Event
from core.state import State

log = logging.getLogger(__name__)


class Recoveries:
    """The endpoints that recover, each with the deliveries that have waited and are not attempted yet."""

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
