"""The endpoints whose last events failed. Invariant: they are known without a walk through all listings.

A packed listing has never a suspended endpoint, but it may have one whose last events failed. So the first
look walks through all listings once, in slices; after that the log tells what changes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from core.events import FREQUENT, EndpointHealthSet, Event, ListingMerged, ListingRemoved, SlotsSet
from core.listing_table import survey
from core.state import State

_CHANGING = (EndpointHealthSet, SlotsSet, ListingRemoved, ListingMerged)
_DAILY = FREQUENT - {EndpointHealthSet}


class Standing(NamedTuple):
    """The state of an endpoint. The worst sorts first: suspended ones, then by failures in a row."""

    is_tried: bool
    minus_failed: int


class FailingEndpoints:
    def __init__(self, state: State) -> None:
        self._state = state
        self._found: dict[str, Standing] = {}
        self._surveyed = False

    def __len__(self) -> int:
        return len(self._found)

    def found(self) -> list[tuple[Standing, str]]:
        """Return each such endpoint with its listing's ref. They are complete once a survey has ended."""
        return [(standing, ref) for ref, standing in self._found.items()]

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if not self._surveyed:
            yield from survey(self._state.listings.refs, self._look)
            self._surveyed = True

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in _DAILY and isinstance(event, _CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        listings = self._state.listings
        webhook = listings.peek(ref).webhook if ref in listings else None
        if webhook is not None and (webhook.failed or webhook.suspension is not None):
            self._found[ref] = Standing(webhook.suspension is None, -webhook.failed)
        else:
            self._found.pop(ref, None)
