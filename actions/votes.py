"""Votes for a listing: cast one, check many, count all. Invariant: every vote is taken by `take`.

A surface that guards the button asks `refuse` first, and may flag a vote; see pages/voting/vote_page.py.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.views import Count, Day, Moment, Month, NoMore, Positive, Snowflake, Success, View
from core.clock import date_of, month_name
from core.events import Event, VoteFlagged
from core.push_history import pushes_of
from core.rows import FlagRule
from listings.forms import Voter, Voters
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from votes.numbers import VoterSurvey, votes_to_now
from votes.queries import LastVote, VoteCount, Voted, vote_status
from votes.rules import cast_vote


class CastVote(Success, rename={"last_ms": "lastVote", "next_ms": "nextVoteAt"}):
    """The vote that was cast."""

    vote: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_ms: Moment
    next_ms: Annotated[Moment, Meta(description="The time when the user can vote again.")]


class UserVote(View, rename={"last_ms": "lastVote"}):
    """A user's vote status for a listing."""

    user: Snowflake
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

    user: Snowflake
    name: str
    votes: Positive


class DayPushes(View):
    """The counts that a bot has pushed on a day: the greatest of each, or null for one that it has not."""

    day: Day
    server_count: Count | None
    command_count: Count | None


class ListingNumbers(Success):
    """The votes for a listing by day and month. Votes that were struck out are not among them."""

    total: Annotated[
        Count, Meta(description="The votes of all time, without those of erased users.", examples=[1_204])
    ]
    days: Annotated[
        tuple[DayVotes, ...],
        Meta(
            description="The last 90 days, the oldest first.", examples=[[{"day": "2026-01-31", "votes": 17}]]
        ),
    ]
    months: Annotated[
        tuple[MonthVotes, ...],
        Meta(
            description="The last 24 months, the oldest first.",
            examples=[[{"month": "2026-01", "votes": 402}]],
        ),
    ]
    hours: Annotated[
        tuple[HourVoters, ...],
        Meta(description="The latest vote of each voter, by hour.", examples=[[{"hour": 18, "voters": 64}]]),
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
            "none.",
            examples=[[{"day": "2026-01-31", "server_count": 1_250, "command_count": 42}]],
        ),
    ]


async def cast(call: Call, form: Voter) -> CastVote:
    """Take the vote of a user whom the operator names."""
    return await take(call, form.user)


async def take(call: Call, user: str, rule: FlagRule | None = None) -> CastVote:
    """Take a user's vote, and return it once it is durable.

    `rule` flags the vote for moderators. Raises Refusal and Unavailable.
    """
    events, claims = _vote(call, user), call.tools.claims
    if claims is None:
        return await _commit(call, user, [*events, *_flag(call, user, rule)])
    async with claims.holding(call.ref, user, call.now_ms):
        # Meanwhile the vote or a quarantine may have come from elsewhere, or the listing may have gone.
        return await _commit(call, user, [*_vote(call, user), *_flag(call, user, rule)])


def refuse(call: Call, user: str) -> None:
    """Raise what `take` would raise now, and do nothing if it would take the vote."""
    _vote(call, user)


def _vote(call: Call, user: str) -> Sequence[Event]:
    tools, state, ref, now_ms = call.tools, call.state, call.ref, call.now_ms
    refuse_quarantined(state, user, "vote", now_ms)
    cooldowns = state.cooldowns
    return cast_vote(
        state,
        ref,
        user,
        tools.new_deliveries(),
        now_ms=now_ms,
        cooldown_ms=tools.cooldown_ms,
        kept_until_ms=cooldowns.get(tools.vote_mark(ref, user), 0) if cooldowns else 0,  # of an erased vote
    )


def _flag(call: Call, user: str, rule: FlagRule | None) -> list[VoteFlagged]:
    if rule is None:
        return []
    return [VoteFlagged(call.ref, user, rule, call.tools.new_id(), call.now_ms)]


async def _commit(call: Call, user: str, events: Sequence[Event]) -> CastVote:
    def view() -> CastVote:
        count, _ = call.state.votes.get(call.ref, int(user)) or (0, 0)
        next_ms = call.now_ms + call.tools.cooldown_ms
        return CastVote(vote=count, last_ms=call.now_ms, next_ms=next_ms)

    return await call.commit(events, view)


def check(call: Call, form: Voters) -> UserVotes:
    """Return the votes of many users for the listing."""
    window_ms, votes = call.tools.window_ms, []
    for user in form.users:
        status = vote_status(call.state, call.ref, user, call.now_ms, window_ms)
        votes.append(UserVote(user=user, **asdict(status)))
    return UserVotes(votes=tuple(votes))


async def count_votes(call: Call, _: None) -> ListingNumbers:
    """Return the votes for the listing by day, month and hour."""
    voters = VoterSurvey(call.state, call.ref)
    await call.tools.in_slices(voters.slices())
    listing = listing_of(call.state, call.ref)
    counted = votes_to_now(call.state, call.ref, call.now_ms)
    return ListingNumbers(
        total=counted.total,
        days=tuple(DayVotes(day=date_of(day), votes=votes) for day, votes in counted.days.items()),
        months=tuple(
            MonthVotes(month=month_name(month), votes=votes) for month, votes in counted.months.items()
        ),
        hours=tuple(HourVoters(hour=hour, voters=found) for hour, found in enumerate(voters.hours)),
        top_voters=tuple(
            TopVoterView(user=each.user, name=each.name, votes=each.votes) for each in voters.top
        ),
        pushes=tuple(
            DayPushes(day=date_of(day), server_count=pushed.servers, command_count=pushed.commands)
            for day, pushed in pushes_of(listing.pushed).items()
        ),
    )


_VOTES = "/manage/{kind}/{id}/votes"

CAST_VOTE = Action(
    name="voteFor{Thing}",
    run=cast,
    form=Voter,
    view=CastVote,
    access=Access(),
    method="POST",
    path=_VOTES,
    of="votes",
    tag="Votes",
    summary="Cast a vote for a {thing}",
    about=(
        "A user can vote for it again after $vote_cooldown. With a webhook set, its owner is told. A "
        "user who may not vote is refused with the reason."
    ),
    outcome="The vote is cast.",
    refuses=("no_such_listing", "quarantined", "votes_need_approval", "voted_too_soon", "unavailable"),
    status=201,
    command=Command(
        "votes cast", "Cast a vote of a user for a listing.", {"user": Option(argument="user_id")}
    ),
)
CHECK_VOTES = Action(
    name="check{Thing}Votes",
    run=check,
    form=Voters,
    view=UserVotes,
    access=Access(),
    method="POST",
    path=f"{_VOTES}/check",
    of="votes",
    tag="Votes",
    summary="Look many users' votes for a {thing} up",
    about="Up to 1,000 users at once, answered in the order they are given in.",
    outcome="How each user stands with it.",
    refuses=("no_such_listing",),
    command=Command("votes check"),
)
COUNT_VOTES = Action(
    name="count{Thing}Votes",
    run=count_votes,
    view=ListingNumbers,
    access=Access("see"),
    method="GET",
    path="/manage/{kind}/{id}/numbers",
    of="votes",
    tag="Votes",
    summary="Count a {thing}'s votes by day and month",
    about=(
        "For each of the last 90 days and 24 months (UTC), and of all time. The hours are those of "
        "the latest vote of each voter. Days and months count since the version that keeps them; "
        "so do the counts that a bot has pushed."
    ),
    outcome="The numbers.",
    refuses=("no_such_listing",),
    command=Command("votes count"),
)
VOTE_ACTIONS = (CAST_VOTE, CHECK_VOTES, COUNT_VOTES)
