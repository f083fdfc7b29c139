"""The deliveries that tell an endpoint of an event. Invariant: an event and its delivery are one record.

So a fleet tells the endpoint once: the node with the record does, or the node that takes over for it.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from core.events import DeliveryDropped, DeliveryQueued
from core.rows import Listing, WebhookEvent
from core.state import State


class NewDeliveries(NamedTuple):
    """The ids of new deliveries, and how many may wait for one endpoint."""

    new_id: Callable[[], str]
    pending_most: int


def told(
    state: State,
    row: Listing,
    kind: WebhookEvent,
    deliveries: NewDeliveries,
    now_ms: int,
    *,
    users: Collection[str],
    reason: str | None = None,
) -> tuple[DeliveryQueued | DeliveryDropped, ...]:
    """Return a delivery for each user, or none if the listing's endpoint does not take such events.

    Args:
        users: whom the event is about; an empty text if it is about nobody.

    When too many deliveries wait already, a new one is in the log, and not sent.
    """
    if row.webhook is None or kind not in row.webhook.taken:
        return ()
    waiting, events = len(state.deliveries.pending_of(row.ref)), list[DeliveryQueued | DeliveryDropped]()
    for user in users:
        id_ = deliveries.new_id()
        events.append(DeliveryQueued(id_, row.ref, user, test=False, at_ms=now_ms, kind=kind, reason=reason))
        if waiting < deliveries.pending_most:
            waiting += 1
        else:
            events.append(DeliveryDropped(id_, row.ref, made=0, reason="overflow", at_ms=now_ms))
    return tuple(events)
