"""The number of notices that a user has not read, as every page shows it.

The count of the user's listings is kept until one of them changes, so most pages only look it up. Invariant:
a count equals that of `NoticeSearch` for the first MOST_LISTINGS of the user's known listings.
"""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from core.events import FREQUENT, EndpointHealthSet, Event, RatingSet, UserErased, UserMerged
from core.state import State
from listings.notices import notices_of, rating_notices, removed_ratings, settled_reports
from listings.ownership import Ownership

MOST_LISTINGS, MOST_USERS = 200, 10_000
KEPT_MS = 60_000
"""The age of a count that is counted again: an offer lapses without an event."""


class _Count(NamedTuple):
    """The number of unread notices of these listings at a time."""

    unread: int
    read_ms: int
    at_ms: int
    refs: Sequence[str]


class NoticeCounts:
    def __init__(self, state: State, ownership: Ownership, *, has_ratings: bool = True) -> None:
        """`has_ratings` is false for a gateway that offers no reviews by users."""
        self._has_ratings = has_ratings
        self._state = state
        self._listings = state.listings
        self._ownership = ownership
        self._counts: dict[str, _Count] = {}
        """By user id, the oldest first."""
        self._users_of: dict[str, set[str]] = {}
        """By listing: the users who are counted with it."""

    def unread(self, user_id: str, read_ms: int, now_ms: int) -> int:
        """Return the number of notices that the user has not read."""
        settled = sum(each.is_new for each in settled_reports(self._state, user_id))
        if self._has_ratings:
            settled += sum(each.is_new for each in removed_ratings(self._state, user_id))
        return settled + self._unread_of_listings(user_id, read_ms, now_ms)

    def _unread_of_listings(self, user_id: str, read_ms: int, now_ms: int) -> int:
        known = self._counts.get(user_id)
        if known is not None and known.read_ms == read_ms and 0 <= now_ms - known.at_ms < KEPT_MS:
            return known.unread
        self._forget(user_id)
        if len(self._counts) >= MOST_USERS:
            self._forget(next(iter(self._counts)))
        refs = [*islice(self._ownership.noticed_by(user_id), MOST_LISTINGS)]
        rows = [self._listings.peek(ref) for ref in refs if ref in self._listings]
        unread = sum(each.is_new for row in rows for each in notices_of(row, user_id, read_ms, now_ms))
        if self._has_ratings:
            found = (each for row in rows for each in rating_notices(self._state, row, user_id, read_ms))
            unread += sum(each.is_new for each in found)
        self._counts[user_id] = _Count(unread, read_ms, now_ms, refs)
        for ref in refs:
            self._users_of.setdefault(ref, set()).add(user_id)
        return unread

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if not self._counts:
            return
        for event in events:
            if type(event) in FREQUENT and type(event) is not EndpointHealthSet:
                continue
            for ref in _refs_of(event):
                self._changed(ref)

    def _changed(self, ref: str) -> None:
        if ref in self._listings:
            brief = self._listings.brief(ref)
            for user_id in (*brief.owners, *brief.asked):
                self._forget(user_id)
        for user_id in [*self._users_of.get(ref, ())]:
            self._forget(user_id)

    def _forget(self, user_id: str) -> None:
        known = self._counts.pop(user_id, None)
        for ref in known.refs if known is not None else ():
            users = self._users_of[ref]
            users.discard(user_id)
            if not users:
                del self._users_of[ref]


def _refs_of(event: Event) -> Iterable[str]:
    """Return the listings and users that an event is about; of a review, the listing."""
    match event:
        case UserErased():
            return event.refs
        case RatingSet():
            return (event.rating.listing,)
        case UserMerged():
            return [each.listing for each in event.row.ratings]
        case _:
            return (getattr(event, "ref", ""),)
