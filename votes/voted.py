"""The listings that a user has voted for. Invariant: none is missing.

Votes are kept by listing, so the first question of a user goes through all listings, in slices. Its outcome
is kept for a while, and the log adds the listings that the user votes for from then on. A ref that is kept
may have no vote any more, so its readers look up each vote again.
"""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from core.events import Event, UserErased, VoteCast, VotesMerged
from core.listing_table import ref_slices
from core.state import State
from search.paging import ListPage, page_of
from votes.queries import SLICE_LISTINGS

MOST_USERS, MOST_REFS = 256, 100_000
"""Users whose listings are kept, and the refs of all of them together."""
SLICE_VOTES = 500
"""Votes that are put in order at once."""


class VotedSearch:
    """A search for the listings of one user. `refs` is complete when `slices` ends."""

    def __init__(self, state: State, user: str) -> None:
        self.user = user
        self.refs: set[str] = set()
        self._state = state

    def slices(self) -> Iterator[None]:
        votes, user = self._state.votes, int(self.user)
        # In this order: a ref without a listing may become one meanwhile.
        for known in (self._state.listings.unlisted, self._state.listings.refs):
            for refs in ref_slices(known, most=SLICE_LISTINGS):
                self.refs.update(votes.voted(refs, user))
                yield

    def add_from(self, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if (isinstance(event, VoteCast) and event.user == self.user) or (
                isinstance(event, VotesMerged)
                and self._state.votes.get(event.ref, int(self.user)) is not None
            ):
                self.refs.add(event.ref)


class VotedListings:
    """A reader of the log that remembers what the last users to ask have voted for."""

    def __init__(self, state: State, most_users: int = MOST_USERS, most_refs: int = MOST_REFS) -> None:
        self._state = state
        self._most_users = most_users
        self._most_refs = most_refs
        self._kept: OrderedDict[str, set[str]] = OrderedDict()
        self._refs = 0
        self._running: list[VotedSearch] = []

    def known(self, user: str) -> set[str] | None:
        """Return the refs of the listings that the user may have voted for; None if nobody has searched."""
        if user in self._kept:
            self._kept.move_to_end(user)
        return self._kept.get(user)

    @contextmanager
    def search(self, user: str) -> Iterator[VotedSearch]:
        """Yield a search that reads the log until the context ends. What it has found is kept."""
        search = VotedSearch(self._state, user)
        self._running.append(search)
        try:
            yield search
        finally:
            self._running.remove(search)
        self._keep(user, search.refs)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if not self._kept and not self._running:
            return
        for search in self._running:
            search.add_from(events)
        for event in events:
            if type(event) is VoteCast:
                refs = self._kept.get(event.user)
                if refs is not None and event.ref not in refs:
                    refs.add(event.ref)
                    self._refs += 1
                    self._trim()
            elif isinstance(event, VotesMerged):
                self._kept.clear()  # it may be one leaf of very many, and names no user
                self._refs = 0
            elif isinstance(event, UserErased):
                self._forget(event.user)

    def _keep(self, user: str, refs: set[str]) -> None:
        self._forget(user)
        self._kept[user] = refs
        self._refs += len(refs)
        self._trim()

    def _trim(self) -> None:
        while self._kept and (len(self._kept) > self._most_users or self._refs > self._most_refs):
            self._forget(next(iter(self._kept)))

    def _forget(self, user: str) -> None:
        self._refs -= len(self._kept.pop(user, ()))


class VotedFor(NamedTuple):
    """A user's votes for a listing. Without a vote, `last_ms` is 0."""

    last_ms: int
    ref: str
    votes: int


class VotedPage:
    """One page of a user's votes. It is complete when `slices` ends.

    First come the listings that the user can vote for now, the newest vote first. Then come those that the
    user can vote for later, the next one first.

    Args:
        refs: the listings to look at.
        also: those of them that are shown without a vote, too.
        ready_ms: the time of the last vote up to which the next one is possible.
        after: the time and the ref of the last one on the page before.
        limit: the listings of a page.
    """

    def __init__(
        self,
        state: State,
        user: str,
        refs: set[str],
        also: frozenset[str],
        after: tuple[int, str] | None,
        *,
        ready_ms: int,
        limit: int,
    ) -> None:
        self.page = ListPage[VotedFor]((), None)
        self._votes = state.votes
        self._user = int(user)
        self._refs = iter([*refs, *(also - refs)])
        self._also = also
        self._ready_ms = ready_ms
        self._after = self._order(VotedFor(*after, 0)) if after is not None else None
        self._limit = limit

    def slices(self) -> Iterator[None]:
        found: list[VotedFor] = []
        while refs := [*islice(self._refs, SLICE_VOTES)]:
            found = nsmallest(self._limit + 1, [*found, *self._behind(refs)], key=self._order)
            yield
        self.page = page_of(found, self._limit, lambda row: f"{row.last_ms}.{row.ref}")

    def _behind(self, refs: Sequence[str]) -> Iterator[VotedFor]:
        for ref in refs:
            vote = self._votes.get(ref, self._user)
            if vote is None and ref not in self._also:
                continue
            count, last_ms = vote if vote is not None else (0, 0)
            row = VotedFor(last_ms, ref, count)
            if self._after is None or self._order(row) > self._after:
                yield row

    def _order(self, row: VotedFor) -> tuple[bool, int, str]:
        is_later = row.last_ms > self._ready_ms
        return is_later, row.last_ms if is_later else -row.last_ms, row.ref
