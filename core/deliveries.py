"""The tables of webhook deliveries. Law: that of the state, whose part they are: no change fails or asks.

What is pending is kept by id and by listing, there in the order in which it came; of what is finished, the
last few of each listing are kept. What other nodes of a fleet are to send is kept apart: it is nothing that
this one may send, unless it takes it over.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from core.events import DeliveryAttempted, DeliveryDropped, DeliveryQueued, DeliveryTaken
from core.rows import Delivery

ATTEMPTS_KEPT = 20  # of one delivery, over all its redeliveries


class Deliveries:
    def __init__(self, kept: int) -> None:
        """`kept` finished ones a listing."""
        self._kept = kept
        self._pending: dict[str, Delivery] = {}
        self._pending_of: dict[str, dict[str, Delivery]] = {}
        self._finished: dict[str, tuple[Delivery, ...]] = {}
        self._elsewhere: dict[str, dict[str, Delivery]] = {}
        self._owners: Counter[str] = Counter()
        self.owners: Mapping[str, int] = self._owners  # how many each other node is to send
        self.elsewhere: Mapping[str, Mapping[str, Delivery]] = self._elsewhere  # by ref, by delivery id
        self.pending: Mapping[str, Delivery] = self._pending  # by delivery id
        self.finished: Mapping[str, tuple[Delivery, ...]] = self._finished  # by ref, oldest first

    def pending_of(self, ref: str) -> Mapping[str, Delivery]:
        """By delivery id, oldest first."""
        return self._pending_of.get(ref, {})

    def of(self, ref: str) -> Iterator[Delivery]:
        """All that is kept of a listing's deliveries."""
        yield from self._finished.get(ref, ())
        yield from self._elsewhere.get(ref, {}).values()
        yield from self.pending_of(ref).values()

    def find(self, ref: str, delivery_id: str) -> Delivery | None:
        found = self.pending_of(ref).get(delivery_id) or self._elsewhere.get(ref, {}).get(delivery_id)
        finished = self._finished.get(ref, ())
        return found or next((row for row in finished if row.id == delivery_id), None)

    def queued(self, event: DeliveryQueued) -> None:
        if event.delivery_id in self._pending or event.delivery_id in self._elsewhere.get(event.ref, ()):
            return
        finished = self._finished.get(event.ref, ())
        again = next((row for row in finished if row.id == event.delivery_id), None)
        if again is None:
            row = Delivery(event.delivery_id, event.ref, event.user, event.test, event.at_ms, event.at_ms)
        else:
            row = replace(
                again,
                next_attempt_ms=event.at_ms,
                round_ms=event.at_ms,
                tries=0,
                delivered=False,
                dropped=None,
                dropped_ms=None,
                owner="",
                owned_ms=_taken_ms(again, event.at_ms) if again.owner else again.owned_ms,
            )
            self._finished[event.ref] = tuple(other for other in finished if other is not again)
        self._put(row)

    def attempted(self, event: DeliveryAttempted) -> None:
        row = self._pending.get(event.delivery_id)
        if row is None or row.ref != event.ref or event.number <= row.made:
            return
        row = replace(
            row,
            attempts=(*row.attempts, event.attempt)[-ATTEMPTS_KEPT:],
            made=event.number,
            tries=row.tries + (event.outcome != "held"),
            next_attempt_ms=event.next_attempt_ms,
            delivered=event.outcome == "delivered",
        )
        if row.next_attempt_ms is not None:
            self._put(row)
        else:
            self._finish(row)

    def dropped(self, event: DeliveryDropped) -> None:
        row = self._pending.get(event.delivery_id)
        if row is not None and row.ref == event.ref and row.made == event.made:
            self._finish(replace(row, next_attempt_ms=None, dropped=event.reason, dropped_ms=event.at_ms))

    def taken(self, event: DeliveryTaken) -> None:
        row = self._elsewhere.get(event.ref, {}).get(event.delivery_id)
        if row is not None:
            self._forget(row)
            due_ms = min(row.next_attempt_ms or 0, event.at_ms)  # whatever the clock of its owner said
            taken_ms = _taken_ms(row, event.at_ms)
            self._put(replace(row, owner="", owned_ms=taken_ms, next_attempt_ms=due_ms))

    def merged(self, row: Delivery) -> None:
        """Takes the row in place of what is known of the delivery."""
        known = self.find(row.ref, row.id)
        if known is not None:
            self._forget(known)
        if row.next_attempt_ms is None:
            self._keep(row)
        else:
            self._put(row)

    def forgotten(self, ref: str, delivery_id: str) -> None:
        """Of what another node was to send."""
        row = self._elsewhere.get(ref, {}).get(delivery_id)
        if row is not None:
            self._forget(row)

    def erased(self, ref: str, user: str) -> None:
        for row in [row for row in self.pending_of(ref).values() if row.user == user]:
            self._drop(row)
        for row in [row for row in self._elsewhere.get(ref, {}).values() if row.user == user]:
            self._forget(row)
        if ref in self._finished:
            self._finished[ref] = tuple(row for row in self._finished[ref] if row.user != user)

    def removed(self, ref: str) -> None:
        for row in list(self.pending_of(ref).values()):
            self._drop(row)
        self._finished.pop(ref, None)
        for row in self._elsewhere.pop(ref, {}).values():
            self._disowned(row)

    def load(self, row: Delivery) -> None:
        """Takes a row of a copy, behind those of its listing that came before it."""
        if row.next_attempt_ms is None:
            self._finished[row.ref] = (*self._finished.get(row.ref, ()), row)
        else:
            self._put(row)

    def _put(self, row: Delivery) -> None:
        if row.owner:
            of_listing = self._elsewhere.setdefault(row.ref, {})
            self._owners[row.owner] += row.id not in of_listing
            of_listing[row.id] = row
            return
        self._pending[row.id] = row
        self._pending_of.setdefault(row.ref, {})[row.id] = row

    def _forget(self, row: Delivery) -> None:
        """Wherever it is kept."""
        if row.next_attempt_ms is None:
            self._finished[row.ref] = tuple(other for other in self._finished[row.ref] if other is not row)
        elif row.owner:
            del self._elsewhere[row.ref][row.id]
            self._disowned(row)
            if not self._elsewhere[row.ref]:
                del self._elsewhere[row.ref]
        else:
            self._drop(row)

    def _disowned(self, row: Delivery) -> None:
        self._owners[row.owner] -= 1
        if not self._owners[row.owner]:
            del self._owners[row.owner]

    def _drop(self, row: Delivery) -> None:
        self._pending.pop(row.id, None)
        of_listing = self._pending_of[row.ref]
        of_listing.pop(row.id, None)
        if not of_listing:
            del self._pending_of[row.ref]

    def _finish(self, row: Delivery) -> None:
        self._drop(row)
        self._keep(row)

    def _keep(self, row: Delivery) -> None:
        self._finished[row.ref] = (*self._finished.get(row.ref, ()), row)[-self._kept :]


def _taken_ms(row: Delivery, at_ms: int) -> int:
    """When it is taken over, later than the last time whatever the clocks say."""
    return max(at_ms, row.owned_ms + 1)
