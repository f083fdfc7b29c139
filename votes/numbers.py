"""The numbers of a listing's votes, for its owners. Law: they name nobody.

Days, months and the total are those of `core/vote_counts.py`. The hours are of the latest vote of each voter:
the vote table has no other times. They are counted in slices, because a listing may have a million voters.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from core.clock import day_of, month_of
from core.state import State
from core.vote_port import leaves_of

DAYS = 90
MONTHS = 24
HOURS = 24
_MS_PER_HOUR = 3_600_000


class VotesToNow(NamedTuple):
    """Votes by day and by month, the oldest first, without gaps, up to today; and of all time."""

    total: int
    days: Mapping[int, int]
    months: Mapping[int, int]


def counted_votes(state: State, ref: str, now_ms: int) -> VotesToNow:
    counts, today, month = state.vote_counts, day_of(now_ms), month_of(now_ms)
    days, months = counts.days(ref), counts.months(ref)
    return VotesToNow(
        counts.total(ref),
        {day: days.get(day, 0) for day in range(today - DAYS + 1, today + 1)},
        {each: months.get(each, 0) for each in range(month - MONTHS + 1, month + 1)},
    )


class VoteHours:
    """The latest votes of all voters by hour of day (UTC), counted in slices."""

    def __init__(self, state: State, ref: str) -> None:
        self._votes = state.votes
        self._ref = ref
        self._found: Counter[int] = Counter()

    @property
    def voters(self) -> tuple[int, ...]:
        """The number of voters for each hour. It is complete when `slices` has ended."""
        return tuple(self._found[hour] for hour in range(HOURS))

    def slices(self) -> Iterator[None]:
        for leaf in leaves_of(self._votes, self._ref):
            self._found.update(at_ms // _MS_PER_HOUR % HOURS for at_ms in self._votes.times(leaf))
            yield
