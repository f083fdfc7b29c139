"""The endpoints whose last events failed. Law: known without a walk through all listings.

A packed listing has never a suspended endpoint, but it may have one whose last events failed. So the first
look walks through all listings once, in slices; after that the log tells what changes.
"""

from collections.abc import Collection, Iterator, Sequence

from core.events import EndpointHealthSet, Event, ListingMerged, ListingRemoved, WebhookRemoved, WebhookSaved
from core.state import State
from listings.finding import ref_slices

_CHANGING = (EndpointHealthSet, WebhookSaved, WebhookRemoved, ListingRemoved, ListingMerged)


class FailingEndpoints:
    def __init__(self, state: State) -> None:
        self._state = state
        self._refs: set[str] = set()
        self._surveyed = False

    @property
    def refs(self) -> Collection[str]:
        """The refs of listings with such an endpoint. They are complete once a survey has ended."""
        return self._refs

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if self._surveyed:
            return
        for refs in ref_slices(self._state.listings.refs):
            for ref in refs:
                self._look(ref)
            yield
        self._surveyed = True

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if isinstance(event, _CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        listings = self._state.listings
        webhook = listings.peek(ref).webhook if ref in listings else None
        if webhook is not None and (webhook.failed or webhook.suspension is not None):
            self._refs.add(ref)
        else:
            self._refs.discard(ref)
