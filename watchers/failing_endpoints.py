"""The endpoints whose last events failed. Invariant: they are known without a walk through all listings.

A packed listing has never such an endpoint (`core/listing_table.py`), so a look at the unpacked ones is
enough at a start. After that the log tells what changes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from core.events import FREQUENT, EndpointHealthSet, Event, ListingMerged, ListingRemoved, SlotsSet
from core.rows import Listing
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
        for row in state.listings.unpacked():
            self._note(row.ref, row)

    def __len__(self) -> int:
        return len(self._found)

    def found(self) -> list[tuple[Standing, str]]:
        """Return each such endpoint with its listing's ref."""
        return [(standing, ref) for ref, standing in self._found.items()]

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) not in _DAILY and isinstance(event, _CHANGING):
                self._note(event.ref, self._state.listings.get(event.ref))

    def _note(self, ref: str, row: Listing | None) -> None:
        webhook = row.webhook if row is not None else None
        if webhook is not None and (webhook.failed or webhook.suspension is not None):
            self._found[ref] = Standing(webhook.suspension is None, -webhook.failed)
        else:
            self._found.pop(ref, None)
