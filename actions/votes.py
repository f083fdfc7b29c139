"""Votes for a listing: cast one, check many, count all, remove those of users.

Invariant: every vote is taken by `take`, and the owner reads the reason of every removal.

A surface that guards the button asks `refuse` first, and may flag a vote; see pages/voting/vote_page.py.

A removal takes all votes of a bounded number of users out of a listing, in a few records, so that the loop is
never held for long. The cooldown of each user's last vote runs on. A removal may be made again, because votes
that are gone are not removed twice.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta
from msgspec.structs import asdict

from actions.action import Access, Action, Call, Command, Option
from actions.views import Count, Day, Moment, Month, NoMore, Positive, Snowflake, Success, View, described
from core.actors import user_of
from core.clock import date_of, month_name
from core.events import Event, VoteFlagged
from core.push_history import pushes_of
from core.rows import FlagRule, Listing
from core.vote_table import leaves_of
from listings.forms import MOST_USERS_REMOVED, Strike, Voter, Voters
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from votes.numbers import VoterSurvey, votes_to_now
from votes.queries import LastVote, VoteCount, Voted, vote_status
from votes.rules import KeptCooldowns, VoteRemoval, cast_vote, remove_votes


class CastVote(Success, rename={"last_ms": "lastVote", "next_ms": "nextVoteAt"}):
    """The vote that was cast."""

    vote: Annotated[Positive, described("The number of the user's votes, over all time.")]
    last_ms: Moment
    next_ms: Annotated[Moment, described("The time when the user can vote again.")]


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
    """The voters whose latest vote was in this hour of a day (UTC)."""

    hour: Annotated[int, Meta(ge=0, le=23)]
    voters: Count


class TopVoterView(View):
    """A voter who lets owners see their name."""

    user: Snowflake
    name: str
    votes: Positive


class DayPushes(View):
    """The counts that a bot has pushed on a day: the greatest of each, or null if it pushed none."""

    day: Day
    server_count: Count | None
    command_count: Count | None


class ListingNumbers(Success):
    """The votes for a listing by day and month. Removed votes are not among them."""

    total: Annotated[Count, described("The votes of all time, without those of erased users.", 1_204)]
    days: Annotated[
        tuple[DayVotes, ...],
        described("The last 90 days, the oldest first.", [{"day": "2026-01-31", "votes": 17}]),
    ]
    months: Annotated[
        tuple[MonthVotes, ...],
        described("The last 24 months, the oldest first.", [{"month": "2026-01", "votes": 402}]),
    ]
    hours: Annotated[
        tuple[HourVoters, ...],
        described("The number of voters by the hour of their latest vote.", [{"hour": 18, "voters": 64}]),
    ]
    top_voters: Annotated[
        tuple[TopVoterView, ...],
        described(
            "Up to 10 users with the most votes, from those who let owners see their names. Users are "
            "hidden unless they have chosen this on their own page. Empty for likes.",
            [{"user": "444444444444444444", "name": "Ada", "votes": 31}],
        ),
    ]
    pushes: Annotated[
        tuple[DayPushes, ...],
        described(
            "The last 90 days on which the bot pushed counts, the oldest first. Empty for a server.",
            [{"day": "2026-01-31", "server_count": 1_250, "command_count": 42}],
        ),
    ]


USERS_AT_ONCE = 100
"""Users in one record: about 2 ms, with a webhook that gets an event for each."""


class StruckVotes(Success):
    """The number of votes that a call has removed, or would remove in a dry run."""

    users: Annotated[Count, described("The number of users.")]
    votes: Annotated[Count, described("The number of votes of these users.")]
    more: Annotated[
        bool,
        described(
            "True if more users match: make the call again. One call takes the votes of "
            f"{MOST_USERS_REMOVED:,} users."
        ),
    ]


async def cast(call: Call, form: Voter) -> CastVote:
    """Take the vote of a user whom the operator names."""
    return await take(call, form.user)


async def take(
    call: Call, user: str, rule: FlagRule | None = None, allowed: Sequence[Event] | None = None
) -> CastVote:
    """Take a user's vote, and return it once it is durable.

    Args:
        rule: flags the vote for moderators.
        allowed: what `refuse` has just returned, if nothing was awaited since.

    Raises Refusal and Unavailable.
    """
    events, claims = allowed if allowed is not None else _vote(call, user), call.tools.claims
    if claims is None:
        return await _commit(call, user, [*events, *_flag(call, user, rule)])
    async with claims(call.ref, user, call.now_ms):
        # While it waited for the claim, another node may have taken the vote or removed the listing.
        return await _commit(call, user, [*_vote(call, user), *_flag(call, user, rule)])


def refuse(call: Call, user: str) -> Sequence[Event]:
    """Raise what `take` would raise now. Return the events of the vote if it would take it."""
    return _vote(call, user)


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
        kept_until_ms=cooldowns.get(tools.vote_pseudonym(ref, user), 0)
        if cooldowns
        else 0,  # of an erased vote
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
            TopVoterView(user=each.user, name=each.name, votes=each.votes)
            for each in (voters.top if call.listing_kind.has("votes") else ())  # all likes are alike
        ),
        pushes=tuple(
            DayPushes(day=date_of(day), server_count=pushed.servers, command_count=pushed.commands)
            for day, pushed in pushes_of(listing.pushed).items()
        ),
    )


async def remove(call: Call, form: Strike) -> StruckVotes:
    """Remove votes, or count them for a dry run."""
    users, more = await _chosen(call, form)
    call = call.rechecked()
    found = [vote for user in users if (vote := call.state.votes.get(call.ref, int(user))) is not None]
    answer = StruckVotes(users=len(found), votes=sum(count for count, _ in found), more=more)
    if not form.dry_run:
        await _commit_removal(call, users, form.reason)
    return answer


async def _chosen(call: Call, form: Strike) -> tuple[Sequence[str], bool]:
    """Return the users that a form chooses, each once, and true if there are more."""
    if form.since is None:
        row = listing_of(call.state, call.ref)
        return [*dict.fromkeys(flagged_users(row) if form.flagged else form.users)], False
    users: list[str] = []
    until_ms = form.until if form.until is not None else call.now_ms
    await call.tools.in_slices(_voters_within(call, form.since, until_ms, users))
    return users[:MOST_USERS_REMOVED], len(users) > MOST_USERS_REMOVED


def _voters_within(call: Call, since_ms: int, until_ms: int, found: list[str]) -> Iterator[None]:
    """Find the users whose last vote came within a time, one leaf of the table after another.

    Ends with one user more than a call takes, if there are more.
    """
    votes = call.state.votes
    for leaf in leaves_of(votes, call.ref):
        # In the order of their times. A leaf is 1,024 votes, or twice as many while it grows.
        found += [
            str(user) for last_ms, user, _ in votes.newest(leaf, len(leaf)) if since_ms <= last_ms <= until_ms
        ]
        if len(found) > MOST_USERS_REMOVED:
            return
        yield


def flagged_users(row: Listing) -> Iterator[str]:
    """Yield the users whose votes for the listing were flagged, but for erased ones."""
    for flag in row.flags:
        user = user_of(flag.by)
        if user is not None:
            yield user


async def _commit_removal(call: Call, users: Sequence[str], reason: str) -> None:
    """Remove the votes, some users a record. The first record alone is in the audit log, with the reason."""
    tools, position = call.tools, None

    def records() -> Iterator[None]:
        nonlocal position
        for start in range(0, len(users), USERS_AT_ONCE):
            events = remove_votes(
                call.state,
                call.ref,
                VoteRemoval(users[start : start + USERS_AT_ONCE], reason, goes_on=position is not None),
                tools.new_deliveries(),
                KeptCooldowns(tools.cooldown_ms, tools.vote_pseudonym),
                now_ms=tools.clock.now_ms(),
                by=call.by,
            )
            if events:
                position = tools.ledger.commit(events)
                yield

    await tools.in_slices(records())
    if position is not None:
        await tools.ledger.durable(position)


CAST_VOTE = Action(
    name="voteFor{Thing}",
    run=cast,
    route="POST /manage/{kind}/{id}/votes",
    of="votes",
    summary="Cast a vote for a {thing}",
    about=(
        "The user can vote for it again after $vote_cooldown. If the {thing} has a webhook, it "
        "gets the vote. A user under a quarantine for `vote` is refused, with the reason."
    ),
    outcome="The vote.",
    refuses=("quarantined", "votes_need_approval", "voted_too_soon"),
    status=201,
    command=Command(
        "votes cast", "Cast a vote of a user for a listing.", {"user": Option(argument="user_id")}
    ),
)
CHECK_VOTES = Action(
    name="check{Thing}Votes",
    run=check,
    route="POST /manage/{kind}/{id}/votes/check",
    of="votes",
    summary="Check many users' votes for a {thing}",
    about="Send up to 1,000 users. The answer has them in the same order.",
    outcome="The vote status of each user.",
    command=Command(
        "votes check",
        "Check the votes of many users for a listing.",
        {"users": Option(reads="users", needed=True)},
    ),
)
COUNT_VOTES = Action(
    name="count{Thing}Votes",
    run=count_votes,
    access=Access("see"),
    route="GET /manage/{kind}/{id}/numbers",
    of="tally",
    summary="Count a {thing}'s {tally} by day and month",
    about=(
        "The answer has the {tally} of each of the last 90 days and 24 months (UTC), and of all "
        "time. The hours are those of the latest one of each user. What came before the version "
        "that introduced these numbers is not in the days and months."
    ),
    outcome="The numbers of {tally}.",
    command=Command("votes count"),
)
REMOVE_VOTES = Action(
    name="strike{Thing}Votes",
    run=remove,
    access=Access("decide"),
    route="POST /manage/{kind}/{id}/votes/strike",
    of="tally",
    summary="Remove {tally} of a {thing}",
    about=f"""\
Removes all {{tally}} of the chosen users for the {{thing}}, and lowers its counts. The owner gets the reason
in a notice. A listing with a webhook gets the event `vote.struck`. The users' cooldowns stay.

Choose users, the flagged votes, or the users whose last vote or like is within a time. One call takes
{MOST_USERS_REMOVED:,} users. The {{tally}} are removed on all nodes of a fleet. The numbers by day and month
lose only the last one of each user, because the days of earlier votes are not known.""",
    outcome="The number of removed {tally}.",
    command=Command(
        "votes strike",
        "Remove all votes of users for a listing.\n\nName the users, or --flagged, or a time. One "
        "call takes a thousand users: if the answer says that there are more, make the call again.",
        {
            "users": Option(reads="users"),
            "flagged": Option(
                "--flagged", reads="flag", help="Choose the users of all votes that a rule has flagged."
            ),
            "since": Option(
                "--since",
                reads="past",
                help="Choose the users who voted last then or later: a time, or 24h ago.",
            ),
            "until": Option(
                "--until",
                reads="past",
                help="With --since: choose only users who voted last at this time or before.",
            ),
            "reason": Option(
                "--reason", needed=True, help="The reason, which the owner of the listing reads."
            ),
            "dry_run": Option("--dry-run", reads="flag", help="Count the votes without removing them."),
        },
        loses="This removes {votes} votes of {users} users.",
    ),
)
VOTE_ACTIONS = (CAST_VOTE, CHECK_VOTES, COUNT_VOTES, REMOVE_VOTES)
