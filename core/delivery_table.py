"""The table of webhook deliveries. Invariant: a change about something that is gone changes nothing.

A pending delivery is local or remote. This node sends the local ones. Another node of the fleet sends a
remote one, unless this node takes it over. Local ones are kept by id and by listing, there in the order in
which they came. Of finished deliveries, the table keeps the last few of each listing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from msgspec.structs import replace

from core.changes import Changes
from core.events import DeliveryAttempted, DeliveryDropped, DeliveryForgotten, DeliveryQueued, DeliveryTaken
from core.rows import Delivery

ATTEMPTS_KEPT = 20  # of one delivery, over all its redeliveries


class DeliveriesView:
    """The deliveries, as readers see them."""

    def __init__(self, kept: int) -> None:
        """`kept` is the number of finished deliveries that stay, for each listing."""
        self._kept = kept
        self._pending: dict[str, Delivery] = {}
        self._pending_of: dict[str, dict[str, Delivery]] = {}
        self._finished: dict[str, tuple[Delivery, ...]] = {}
        self._remote: dict[str, dict[str, Delivery]] = {}
        self._remote_counts: Counter[str] = Counter()
        self._votes: dict[str, dict[str, str]] = {}
        """By ref, by user: the pending delivery of the latest vote."""
        self.pending: Mapping[str, Delivery] = self._pending
        """The local ones by delivery id."""
        self.refs_pending: Collection[str] = self._pending_of.keys()
        """The refs of listings with local ones."""
        self.remote: Mapping[str, Mapping[str, Delivery]] = self._remote
        """By ref, by delivery id."""
        self.remote_counts: Mapping[str, int] = self._remote_counts
        """The number of remote ones by the node that sends them."""
        self.finished: Mapping[str, tuple[Delivery, ...]] = self._finished
        """By ref, oldest first."""

    def pending_of(self, ref: str) -> Mapping[str, Delivery]:
        """Return a listing's local ones by delivery id, oldest first."""
        return self._pending_of.get(ref, {})

    def waiting(self, ref: str) -> int:
        """Return the number of a listing's pending ones, local and remote."""
        return len(self.pending_of(ref)) + len(self._remote.get(ref, ()))

    def of(self, ref: str) -> Iterator[Delivery]:
        """Return all that is kept of a listing's deliveries, in no order."""
        yield from self._finished.get(ref, ())
        yield from self._remote.get(ref, {}).values()
        yield from self.pending_of(ref).values()

    def with_user(self, refs: Iterable[str], user: str) -> list[str]:
        """Return those of some refs that have a delivery for a vote of the user."""
        kept = (self._finished, self._remote, self._pending_of)
        some = (ref for ref in refs if any(ref in each for each in kept))
        return [ref for ref in some if any(row.user == user for row in self.of(ref))]

    def newest_first(self, ref: str) -> list[Delivery]:
        """Return the same in the order of their votes, the newest first."""
        return sorted(self.of(ref), key=lambda delivery: delivery.queued_ms)[::-1]

    def find(self, ref: str, delivery_id: str) -> Delivery | None:
        finished = self._finished.get(ref, ())
        found = self._find_pending(ref, delivery_id)
        return found or next((row for row in finished if row.id == delivery_id), None)

    def of_vote(self, ref: str, user: str, cast_ms: int) -> Delivery | None:
        """Return the delivery of a user's latest vote, which was cast at that time.

        Many deliveries may wait, so an index finds it. The index has the latest vote of each user alone.
        """
        delivery_id = self._votes.get(ref, {}).get(user)
        pending = self._find_pending(ref, delivery_id) if delivery_id is not None else None
        rows = chain((pending,) if pending is not None else (), reversed(self._finished.get(ref, ())))
        return next(
            (row for row in rows if row.user == user and row.queued_ms == cast_ms and _is_vote(row)), None
        )

    def _find_pending(self, ref: str, delivery_id: str) -> Delivery | None:
        return self.pending_of(ref).get(delivery_id) or self._remote.get(ref, {}).get(delivery_id)


class DeliveryTable(DeliveriesView):
    def __init__(self, kept: int) -> None:
        super().__init__(kept)
        self.changes: Changes | None = None
        """Gets what happens to finished deliveries."""

    def queue(self, event: DeliveryQueued) -> None:
        if event.delivery_id in self._pending or event.delivery_id in self._remote.get(event.ref, ()):
            return
        finished = self._finished.get(event.ref, ())
        again = next((row for row in finished if row.id == event.delivery_id), None)
        if again is None:
            self._put(_new_row(event))
        else:
            self._take_out(again)
            self._put(_in_a_new_round(again, event.at_ms))

    def attempt(self, event: DeliveryAttempted) -> None:
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

    def give_up(self, event: DeliveryDropped) -> None:
        row = self._pending.get(event.delivery_id)
        if row is not None and row.ref == event.ref and row.made == event.made:
            self._finish(replace(row, next_attempt_ms=None, dropped=event.reason, dropped_ms=event.at_ms))

    def take_over(self, event: DeliveryTaken) -> None:
        row = self._remote.get(event.ref, {}).get(event.delivery_id)
        if row is not None:
            self._take_out(row)
            due_ms = min(row.next_attempt_ms or 0, event.at_ms)  # the clock of its owner may be ahead
            taken_ms = _taken_ms(row, event.at_ms)
            self._put(replace(row, owner="", owned_ms=taken_ms, next_attempt_ms=due_ms))

    def merge(self, row: Delivery) -> None:
        """Take the row in place of the known row of the delivery."""
        known = self.find(row.ref, row.id)
        if known is not None:
            self._take_out(known)
        if row.next_attempt_ms is None:
            self._keep(row)
        else:
            self._put(row)

    def forget(self, event: DeliveryForgotten) -> None:
        row = self._remote.get(event.ref, {}).get(event.delivery_id)
        if row is not None:
            self._take_out(row)

    def erase(self, ref: str, user: str) -> None:
        """Forget the listing's deliveries that name the user."""
        for row in [row for row in self.pending_of(ref).values() if row.user == user]:
            self._drop(row)
        for row in [row for row in self._remote.get(ref, {}).values() if row.user == user]:
            self._take_out(row)
        if ref in self._finished:
            self._rewrite(ref, tuple(row for row in self._finished[ref] if row.user != user))

    def remove_listing(self, ref: str) -> None:
        self.unload(ref, 0)
        if self.changes is not None:
            self.changes.rewritten.add(ref)

    def unload(self, ref: str, kept: int) -> None:
        """Forget all deliveries of a listing but for the newest finished ones."""
        for row in list(self.pending_of(ref).values()):
            self._drop(row)
        finished = self._finished.pop(ref, ())
        if kept:
            self._finished[ref] = finished[-kept:]
        for row in self._remote.pop(ref, {}).values():
            self._uncount(row)
        self._votes.pop(ref, None)

    def load(self, row: Delivery) -> None:
        """Take a row of a snapshot. The rows of one listing come in their order."""
        if row.next_attempt_ms is None:
            self._finished[row.ref] = (*self._finished.get(row.ref, ()), row)
        else:
            self._put(row)

    def _put(self, row: Delivery) -> None:
        if row.owner:
            of_listing = self._remote.setdefault(row.ref, {})
            self._remote_counts[row.owner] += row.id not in of_listing
            of_listing[row.id] = row
        else:
            self._pending[row.id] = row
            self._pending_of.setdefault(row.ref, {})[row.id] = row
        if _is_vote(row):
            self._note_vote(row)

    def _note_vote(self, row: Delivery) -> None:
        of_listing = self._votes.get(row.ref)
        if of_listing is None:
            of_listing = self._votes[row.ref] = {}
        known_id = of_listing.get(row.user)
        if known_id is not None and known_id != row.id:
            known = self._find_pending(row.ref, known_id)
            if known is not None and known.queued_ms >= row.queued_ms:
                return
        of_listing[row.user] = row.id

    def _forget_vote(self, row: Delivery) -> None:
        of_listing = self._votes.get(row.ref)
        if of_listing is not None and of_listing.get(row.user) == row.id:
            del of_listing[row.user]
            if not of_listing:
                del self._votes[row.ref]

    def _take_out(self, row: Delivery) -> None:
        """Take the row out, wherever it is kept."""
        if row.next_attempt_ms is None:
            self._rewrite(row.ref, tuple(other for other in self._finished[row.ref] if other is not row))
        elif row.owner:
            del self._remote[row.ref][row.id]
            self._forget_vote(row)
            self._uncount(row)
            if not self._remote[row.ref]:
                del self._remote[row.ref]
        else:
            self._drop(row)

    def _uncount(self, row: Delivery) -> None:
        self._remote_counts[row.owner] -= 1
        if not self._remote_counts[row.owner]:
            del self._remote_counts[row.owner]

    def _drop(self, row: Delivery) -> None:
        self._pending.pop(row.id, None)
        of_listing = self._pending_of[row.ref]
        of_listing.pop(row.id, None)
        if not of_listing:
            del self._pending_of[row.ref]
        self._forget_vote(row)

    def _finish(self, row: Delivery) -> None:
        self._drop(row)
        self._keep(row)

    def _rewrite(self, ref: str, finished: tuple[Delivery, ...]) -> None:
        self._finished[ref] = finished
        if self.changes is not None:
            self.changes.rewritten.add(ref)

    def _keep(self, row: Delivery) -> None:
        if self.changes is not None:
            self.changes.finished[row.ref] += 1
        self._finished[row.ref] = (*self._finished.get(row.ref, ()), row)[-self._kept :]


def _is_vote(row: Delivery) -> bool:
    return not row.test and row.event == "vote"


def _new_row(event: DeliveryQueued) -> Delivery:
    row = Delivery(event.delivery_id, event.ref, event.user, event.test, event.at_ms, event.at_ms)
    if event.kind == "vote":
        return row
    return replace(row, kind=event.kind, reason=event.reason, stars=event.stars)


def _in_a_new_round(row: Delivery, at_ms: int) -> Delivery:
    """Return a finished delivery that this node is to send again."""
    return replace(
        row,
        next_attempt_ms=at_ms,
        round_ms=at_ms,
        tries=0,
        delivered=False,
        dropped=None,
        dropped_ms=None,
        owner="",
        owned_ms=_taken_ms(row, at_ms) if row.owner else row.owned_ms,
    )


def _taken_ms(row: Delivery, at_ms: int) -> int:
    """Return the time of a takeover: later than the takeover before, even if a clock went back."""
    return max(at_ms, row.owned_ms + 1)
