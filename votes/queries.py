"""Vote statuses, and the listings that know a user. A vote status is one look-up and one subtraction."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import nlargest
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from core import events as ev
from core.actors import user_actor
from core.audit_log import actors_of
from core.listing_table import ref_slices
from core.state import State
from core.user_changes import has_acted
from core.user_rows import user_ref
from core.vote_table import leaves_of

SLICE_LISTINGS = 256

# `$vote_window` stands for a number of the deployment, which the OpenAPI document fills in.
Voted = Annotated[bool, Meta(description="True if the user voted in the last $vote_window.", examples=[True])]
VoteCount = Annotated[int, Meta(ge=0, description="The number of the user's votes, over all time.")]
LastVote = Annotated[
    Annotated[int, Meta(ge=0)] | None,
    Meta(
        description=(
            "The time of the user's latest vote, in Unix milliseconds; null if the user has never voted."
        ),
        examples=[1_750_000_000_000],
    ),
]


class VoteStatus(Struct, frozen=True, forbid_unknown_fields=True, gc=False, rename={"last_ms": "lastVote"}):
    """A user's vote status, with the JSON names of the contract."""

    voted: Voted
    vote: VoteCount
    last_ms: LastVote


NEVER = VoteStatus(voted=False, vote=0, last_ms=None)


class RecentVote(NamedTuple):
    """The last vote of a user, and how often the user has voted."""

    user: str
    votes: int
    last_ms: int


def vote_status(state: State, ref: str, user: str, now_ms: int, window_ms: int) -> VoteStatus:
    """Return the vote status of a user. A vote counts while fewer than `window_ms` have passed."""
    vote = state.votes.get(ref, int(user))
    if vote is None:
        return NEVER
    count, last_ms = vote
    return VoteStatus(now_ms - last_ms < window_ms, count, last_ms)


class RecentVotes:
    """The newest votes for a listing, found in slices: votes stand in the order of their users."""

    def __init__(self, state: State, ref: str, most: int) -> None:
        self.found: list[RecentVote] = []
        self._votes = state.votes
        self._ref = ref
        self._most = most

    def slices(self) -> Iterator[None]:
        """Look at the votes slice by slice. `found` is complete when the iterator ends, the newest first."""
        newest: list[tuple[int, int, int]] = []
        for leaf in leaves_of(self._votes, self._ref):
            newest = nlargest(self._most, [*newest, *self._votes.newest(leaf, self._most)])
            yield
        self.found = [RecentVote(str(user), count, last_ms) for last_ms, user, count in newest]


def refs_that_know(state: State, user: str) -> Iterator[list[str]]:
    """Yield the refs of everything that names the user, slice by slice: listings with votes, actions or
    deliveries of the user, rows of other users whom the user has acted on, and the user's own row.

    Listings may come and go between two slices. A listing that names the user only after its turn is missed.
    """
    # In this order: a ref without a listing may become one meanwhile.
    for known in (state.listings.unlisted, state.listings.refs):
        for refs in ref_slices(known, most=SLICE_LISTINGS):
            found = state.votes.voted(refs, int(user))
            found += state.listings.naming(refs, user_actor(user))
            found += state.deliveries.with_user(refs, user)
            yield sorted({*found})
    own, actor, users = user_ref(user), user_actor(user), state.users
    others = {*users.with_quarantines, own} if own in users else users.with_quarantines
    for refs in ref_slices(sorted(others), most=SLICE_LISTINGS):
        yield [ref for ref in refs if ref in users and (ref == own or has_acted(users[ref], actor))]


class Search:
    """A search for the listings and rows that name a user. Invariant: at its end it has found all of them.

    A search goes through everything in slices, between which others may run. It notes from the log records
    that name the user meanwhile.
    """

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

    def on_record(self, events: Sequence[ev.Event]) -> None:
        for event in events:
            match event:
                case ev.VoteCast() | ev.VoteFlagged() | ev.DeliveryQueued() if event.user == self.user:
                    self.refs.add(event.ref)
                case ev.DeliveryMerged() if event.row.user == self.user:
                    self.refs.add(event.ref)
                case ev.UserMerged() if event.ref == self._actor or has_acted(event.row, self._actor):
                    self.refs.add(event.ref)
                case _ if isinstance(event, _Naming) and self._actor in _named(event):
                    self.refs.add(event.ref)
                case ev.ListingMerged() if self._actor in actors_of(event.row):
                    self.refs.add(event.ref)
                case ev.VotesMerged() if self._state.votes.get(event.ref, int(self.user)) is not None:
                    self.refs.add(event.ref)


_Naming = ev.ListingSaved | ev.ManagedRowEvent | ev.OwnerMessageQueued | ev.UserEvent


def _named(event: _Naming) -> tuple[str, ...]:
    """Return the actors whom the row that the event changes names from now on."""
    match event:
        case ev.OwnerMessageQueued():
            return (event.to,)
        case ev.ListingTakenOver():
            return (event.by, user_actor(event.owner_id), user_actor(event.lost_by))
        case ev.QuarantineSet():
            return (event.ref, event.quarantine.by)
        case ev.CoOwnerSaved():
            return (event.by, event.co_owner.user)
        case ev.ListingReported():
            return (event.by, event.rating)
        case ev.OwnerSet() if event.hand_over is not None:
            return (event.by, event.hand_over.successor)
        case _ if isinstance(event, ev.UserEvent):
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

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record for every search."""
        for search in self._running:
            search.on_record(events)
