"""The requests that queued deliveries. Law: only log lines tell them, and they do not outlive the process.

An attempt runs in a task of the dispatcher, long after its request. So that the lines of the attempt can be
found under the id of the request, the id is kept beside the delivery until the delivery is over.
"""

from collections import OrderedDict
from collections.abc import Sequence

from core.events import DeliveryQueued, Event
from core.request_id import REQUEST_ID

KEPT = 10_000
"""The most deliveries whose requests are remembered: about 3 MB. The oldest are forgotten first."""


class Origins:
    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._requests: OrderedDict[str, str] = OrderedDict()  # delivery id -> request id

    def on_record(self, events: Sequence[Event]) -> None:
        """Read a record that the request of this context has just committed, if there is one."""
        request = REQUEST_ID.get()
        if not request:
            return
        for event in events:
            if isinstance(event, DeliveryQueued):
                self._requests[event.delivery_id] = request
                self._requests.move_to_end(event.delivery_id)
        while len(self._requests) > self._kept:
            self._requests.popitem(last=False)

    def enter(self, delivery_id: str) -> None:
        """Make the request of a delivery the cause of what happens in the present task."""
        REQUEST_ID.set(self._requests.get(delivery_id, ""))

    def forget(self, delivery_id: str) -> None:
        """Forget a delivery that is over."""
        self._requests.pop(delivery_id, None)
