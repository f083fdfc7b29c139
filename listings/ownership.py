"""Which listings are whose, and which wait for a decision. Law: known without a walk through all listings.

A start leaves rows packed, so the first look walks through all of them once, in slices; after that the log
tells what changes. Both are complete once the survey has ended.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from core.events import Event, ListingMerged, ListingRemoved, ListingReviewed, ListingSaved
from core.state import State
from listings.finding import ref_slices
from listings.review import waiting_since

_CHANGING = (ListingSaved, ListingReviewed, ListingRemoved, ListingMerged)


class Ownership:
    def __init__(self, state: State) -> None:
        self._listings = state.listings
        self._refs_of: dict[str, tuple[str, ...]] = {}
        self._owners_of: dict[str, tuple[str, ...]] = {}
        self._queue: list[tuple[int, str]] = []
        self._since: dict[str, int] = {}
        self.is_complete = False

    def refs_of(self, user_id: str) -> Sequence[str]:
        """Return the refs of the listings that a user owns, alone or with others, in order."""
        return self._refs_of.get(user_id, ())

    @property
    def queue(self) -> Sequence[tuple[int, str]]:
        """The listings in review: since when (Unix ms), and ref; the one that waits for longest first."""
        return self._queue

    def place(self, ref: str) -> int | None:
        """Return the place of a listing in the queue, from 1; None for one that is not in it."""
        since_ms = self._since.get(ref)
        return None if since_ms is None else bisect_left(self._queue, (since_ms, ref)) + 1

    def survey(self) -> Iterator[None]:
        """Look at all listings, in slices, unless that was done before."""
        if self.is_complete:
            return
        for refs in ref_slices(self._listings.refs):
            for ref in refs:
                self._look(ref)
            yield
        self.is_complete = True

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if isinstance(event, _CHANGING):
                self._look(event.ref)

    def _look(self, ref: str) -> None:
        brief = self._listings.brief(ref) if ref in self._listings else None
        self._own(ref, brief.owners if brief is not None else ())
        is_waiting = brief is not None and brief.review == "in_review"
        self._wait(ref, waiting_since(self._listings.peek(ref)) if is_waiting else None)

    def _own(self, ref: str, owners: tuple[str, ...]) -> None:
        before = self._owners_of.pop(ref, ())
        if owners:
            self._owners_of[ref] = owners
        for owner in {*before, *owners}:
            refs = {*self._refs_of.pop(owner, ())} - {ref}
            if owner in owners:
                refs.add(ref)
            if refs:
                self._refs_of[owner] = tuple(sorted(refs))

    def _wait(self, ref: str, since_ms: int | None) -> None:
        before = self._since.pop(ref, None)
        if before is not None:
            del self._queue[bisect_left(self._queue, (before, ref))]
        if since_ms is not None:
            self._since[ref] = since_ms
            insort(self._queue, (since_ms, ref))
