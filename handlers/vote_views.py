"""Votes and their numbers as the management API shows them."""

from typing import Annotated

from msgspec import Meta

from actions.views import Count, Day, Moment, Month, NoMore, Positive, Success, UserId, View, example
from votes.queries import LastVote, VoteCount, Voted


class CastVote(Success, rename={"last_ms": "lastVote", "next_ms": "nextVoteAt"}):
    """The vote that was cast."""

    vote: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_ms: Moment
    next_ms: Annotated[
        Moment, Meta(description="The time when the user can vote again."), example(1_750_086_400_000)
    ]


class UserVote(View, rename={"last_ms": "lastVote"}):
    """A user's vote status for a listing."""

    user: UserId
    voted: Voted
    vote: VoteCount
    last_ms: LastVote


class UserVotes(Success):
    """Vote statuses in the order in which the users were given."""

    votes: tuple[UserVote, ...]
    next: NoMore = None


class DayVotes(View):
    """The votes of a day."""

    day: Day
    votes: Count


class MonthVotes(View):
    """The votes of a month."""

    month: Month
    votes: Count


class HourVoters(View):
    """Those whose latest vote was in this hour of a day (UTC)."""

    hour: Annotated[int, Meta(ge=0, le=23)]
    voters: Count


class TopVoterView(View):
    """A voter who lets owners see this."""

    user: UserId
    name: Annotated[str, example("Ada")]
    votes: Positive


class DayPushes(View):
    """The counts that a bot has pushed on a day: the greatest of each, or null for one that it has not."""

    day: Day
    server_count: Count | None
    command_count: Count | None


class ListingNumbers(Success):
    """The votes for a listing by day and month. Votes that were struck out are not among them."""

    total: Annotated[
        Count, Meta(description="The votes of all time, without those of erased users."), example(1_204)
    ]
    days: Annotated[
        tuple[DayVotes, ...],
        Meta(description="The last 90 days, the oldest first."),
        example([{"day": "2026-01-31", "votes": 17}]),
    ]
    months: Annotated[
        tuple[MonthVotes, ...],
        Meta(description="The last 24 months, the oldest first."),
        example([{"month": "2026-01", "votes": 402}]),
    ]
    hours: Annotated[
        tuple[HourVoters, ...],
        Meta(description="The latest vote of each voter, by hour."),
        example([{"hour": 18, "voters": 64}]),
    ]
    top_voters: Annotated[
        tuple[TopVoterView, ...],
        Meta(
            description="Up to 10 who have voted most, of those who let owners see their names. Nobody does "
            "unless they chose so on their own page.",
            examples=[[{"user": "444444444444444444", "name": "Ada", "votes": 31}]],
        ),
    ]
    pushes: Annotated[
        tuple[DayPushes, ...],
        Meta(
            description="The last 90 days on which the bot has pushed counts, the oldest first. A server has "
            "none."
        ),
        example([{"day": "2026-01-31", "server_count": 1_250, "command_count": 42}]),
    ]
