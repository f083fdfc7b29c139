"""The numbers of a listing's votes, for its owners. Invariant: they name nobody who has not asked for it.

Days, months and the total are those of `core/vote_counts.py`. The hours are of the latest vote of each voter:
the vote table has no other times. Voters are surveyed in slices, because a listing may have a million.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import nsmallest
from typing import NamedTuple

from core.clock import day_of, month_of
from core.events import DownloadCounted, Event, RatingSet, VoteCast
from core.state import State
from core.user_rows import user_ref
from core.vote_table import leaves_of
from kinds.kind import PartName
from kinds.registry import kind_of

USES: Mapping[str, PartName] = {
    "votes": "votes",
    "likes": "likes",
    "downloads": "downloads",
    "reviews": "ratings",
}
"""The counted acts of users on listings, and the part of the kinds that have each."""


class UseTally:
    """Votes and likes by where they were given: here, or at another node of the fleet. `uses` counts what
    users did here, by kind and use.

    Votes that come in a copy, as whole leaves, are not counted: nobody cast them just now.
    """

    def __init__(self) -> None:
        self.here = 0
        self.elsewhere = 0
        self.uses = Counter[tuple[str, str]]()

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if type(event) is VoteCast:
                if event.node:
                    self.elsewhere += 1
                else:
                    self.here += 1
                    self._count(event.ref, kind_of(event.ref).tally or "votes")
            elif type(event) is DownloadCounted:
                self._count(event.ref, "downloads")
            elif type(event) is RatingSet and event.rating.stars and not event.rating.edited_ms:
                self._count(event.rating.listing, "reviews")

    def _count(self, ref: str, use: str) -> None:
        self.uses[kind_of(ref).plural, use] += 1


DAYS = 90
MONTHS = 24
HOURS = 24
TOP = 10
_MS_PER_HOUR = 3_600_000


class VotesToNow(NamedTuple):
    """Votes by day and by month, the oldest first, without gaps, up to today; and of all time."""

    total: int
    days: Mapping[int, int]
    months: Mapping[int, int]


class TopVoter(NamedTuple):
    """A voter who lets owners see this."""

    user: str
    name: str
    votes: int


def votes_to_now(state: State, ref: str, now_ms: int) -> VotesToNow:
    counts, today, month = state.vote_counts, day_of(now_ms), month_of(now_ms)
    days, months = counts.days(ref), counts.months(ref)
    return VotesToNow(
        counts.total(ref),
        {day: days.get(day, 0) for day in range(today - DAYS + 1, today + 1)},
        {each: months.get(each, 0) for each in range(month - MONTHS + 1, month + 1)},
    )


class VoterSurvey:
    """A look at all voters of a listing, in slices. What it has found is complete when `slices` has ended."""

    def __init__(self, state: State, ref: str) -> None:
        self._state = state
        self._ref = ref
        self._hours: Counter[int] = Counter()
        self._top: list[tuple[int, int]] = []  # the votes below 0, and the user: so the first are on top

    @property
    def hours(self) -> tuple[int, ...]:
        """The number of voters by the hour of the day (UTC) of their latest votes."""
        return tuple(self._hours[hour] for hour in range(HOURS))

    @property
    def top(self) -> tuple[TopVoter, ...]:
        """The voters with the most votes, of all who let owners see their names."""
        found = []
        for votes, user in self._top:
            row = self._state.users.get(user_ref(str(user)))
            if row is not None and row.profile is not None and row.lets_name:
                found.append(TopVoter(row.id, row.profile.shown_name, -votes))
        return tuple(found)

    def slices(self) -> Iterator[None]:
        votes, named = self._state.votes, self._state.users.named
        for leaf in leaves_of(votes, self._ref):
            self._hours.update(at_ms // _MS_PER_HOUR % HOURS for at_ms in votes.times(leaf))
            if named:
                self._rank(named & set(votes.users(leaf)))
            yield

    def _rank(self, users: AbstractSet[int]) -> None:
        known = ((user, self._state.votes.get(self._ref, user)) for user in users)
        found = [(-vote[0], user) for user, vote in known if vote is not None]
        self._top = nsmallest(TOP, [*self._top, *found]) if found else self._top
