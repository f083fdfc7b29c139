"""A search for the listings and rows that name a user. Invariant: it finds all that do when it ends.

A search goes through everything in slices, between which others may run. It notes from the log what names the
user behind its back.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from core.actors import user_actor
from core.erasing import actors_of
from core.events import (
    CoOwnerSaved,
    DeliveryMerged,
    DeliveryQueued,
    Event,
    ListingMerged,
    ListingSaved,
    ListingTakenOver,
    OwnerMessageQueued,
    OwnerSet,
    QuarantineSet,
    UserEvent,
    UserMerged,
    VoteCast,
    VoteFlagged,
    VotesMerged,
)
from core.listing_changes import ManagedRowEvent, OwnersEvent
from core.state import State
from core.user_changes import has_acted
from votes.queries import refs_that_know


class Search:
    def __init__(self, state: State, user: str) -> None:
        self.user = user
        self.refs: set[str] = set()
        self._state = state
        self._actor = user_actor(user)

    def slices(self) -> Iterator[None]:
        """Search slice by slice. `refs` is complete when the iterator ends."""
        for found in refs_that_know(self._state, self.user):
            self.refs.update(found)
            yield

    def on_record(self, events: Sequence[Event]) -> None:
        for event in events:
            match event:
                case VoteCast() | VoteFlagged() | DeliveryQueued() if event.user == self.user:
                    self.refs.add(event.ref)
                case DeliveryMerged() if event.row.user == self.user:
                    self.refs.add(event.ref)
                case UserMerged() if event.ref == self._actor or has_acted(event.row, self._actor):
                    self.refs.add(event.ref)
                case _ if isinstance(event, _Naming) and self._actor in _named(event):
                    self.refs.add(event.ref)
                case ListingMerged() if self._actor in actors_of(event.row):
                    self.refs.add(event.ref)
                case VotesMerged() if self._state.votes.get(event.ref, int(self.user)) is not None:
                    self.refs.add(event.ref)


_Naming = ListingSaved | OwnersEvent | ManagedRowEvent | OwnerMessageQueued | UserEvent


def _named(event: _Naming) -> tuple[str, ...]:
    """Return the actors whom the row that the event changes names from now on."""
    match event:
        case OwnerMessageQueued():
            return (event.to,)
        case ListingTakenOver():
            return (event.by, user_actor(event.owner_id), user_actor(event.lost_by))
        case QuarantineSet():
            return (event.ref, event.quarantine.by)
        case CoOwnerSaved():
            return (event.by, event.co_owner.user)
        case OwnerSet() if event.hand_over is not None:
            return (event.by, event.hand_over.successor)
        case _ if isinstance(event, UserEvent):
            return (event.ref,)
        case _:
            return (event.by,)


class Searches:
    """The searches that run; each record of the log is read for all of them."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._running: list[Search] = []

    @contextmanager
    def of(self, user: str) -> Iterator[Search]:
        """Yield a search that reads the log until the context ends."""
        search = Search(self._state, user)
        self._running.append(search)
        try:
            yield search
        finally:
            self._running.remove(search)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record for every search."""
        for search in self._running:
            search.on_record(events)
