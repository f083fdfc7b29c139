"""The votes of a listing, day by day: more at weekends and in the evening, and many voters come daily."""

from collections.abc import Iterator
from math import sqrt
from random import Random
from typing import NamedTuple

from core.clock import MS_PER_DAY, day_of
from demo.people import voter
from demo.plan import Planned

DAYS = 90
GROWING_DAYS = 7
OF_WEEK = (1.0, 0.92, 0.94, 0.97, 1.08, 1.3, 1.22)
"""The share of each day of the week, from Thursday: 1 January 1970 was one."""
LOYAL, COMES = 0.45, 0.9
"""The share of the votes of daily voters, and the chance that one of them votes on a day."""
HOUR_MS, MINUTE_MS = 3_600_000, 60_000
EVENING_HOUR, SPREAD_HOURS = 18, 5


class Voting(NamedTuple):
    """A vote that a user tries to cast. The rule may refuse it."""

    at_ms: int
    ref: str
    user: str


def votes_of(listing: Planned, now_ms: int) -> Iterator[Voting]:
    """Yield the votes since the approval, at most those of the last days, in no order."""
    dice, last_day = listing.dice("votes"), day_of(now_ms)
    loyal = [voter(dice) for _ in range(round(listing.votes_a_day * LOYAL))]
    last_ms = dict.fromkeys(loyal, 0)
    since_ms = listing.decided_ms
    for day in range(last_day - DAYS + 1, last_day + 1):
        expected = listing.votes_a_day * OF_WEEK[day % 7] * _growth(listing, last_day - day)
        for user in loyal:
            at_ms = max(_at(day, dice), last_ms[user] + MS_PER_DAY + dice.randrange(20) * MINUTE_MS)
            if day_of(at_ms) == day and dice.random() < COMES and since_ms < at_ms < now_ms:
                last_ms[user] = at_ms
                yield Voting(at_ms, listing.ref, user)
        others = max(expected - len(loyal), expected * (1 - LOYAL))
        for _ in range(max(0, round(dice.gauss(others, sqrt(others) / 2)))):
            at_ms = _at(day, dice)
            if since_ms < at_ms < now_ms:
                yield Voting(at_ms, listing.ref, voter(dice))


def _growth(listing: Planned, days_ago: int) -> float:
    """Return the factor of growth on a day. The last week grows to the planned factor."""
    if days_ago >= GROWING_DAYS:
        return 1.0
    return 1 + (listing.growth - 1) * (GROWING_DAYS - days_ago + 2) / (GROWING_DAYS + 2)


def _at(day: int, dice: Random) -> int:
    """Return a moment of the day, more often in the evening than at night."""
    hour = round(dice.gauss(EVENING_HOUR, SPREAD_HOURS)) % 24
    return day * MS_PER_DAY + hour * HOUR_MS + dice.randrange(HOUR_MS)
