"""Management of votes: cast one, check many, count all."""

from collections.abc import Callable, Sequence

from msgspec.structs import asdict

from core.clock import date_of, month_name
from core.events import Event, VoteFlagged
from core.push_history import pushes_of
from core.rows import FlagRule
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from handlers.vote_views import (
    CastVote,
    DayPushes,
    DayVotes,
    HourVoters,
    ListingNumbers,
    MonthVotes,
    TopVoterView,
    UserVote,
    UserVotes,
)
from listings.forms import Voter, Voters, read
from listings.rules import listing_of
from people.quarantine import refuse_quarantined
from votes.numbers import VoterSurvey, votes_to_now
from votes.queries import vote_status
from votes.rules import cast_vote


class ManageVotes:
    def __init__(self, context: ManageContext, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref

    async def cast(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        return await self.take(ref, read(Voter, request.json_object()).user)

    async def take(self, ref: str, user: str, rule: FlagRule | None = None) -> Reply:
        """Take a user's vote, and answer with a CastVote once it is durable. Every vote comes this way.

        `rule` flags the vote for moderators. Raises Refusal and Unavailable.
        """
        context, now_ms = self._context, self._clock.now_ms()
        events = self._vote(ref, user, now_ms)
        if context.claims is None:
            return await self._commit(ref, user, [*events, *self._flag(ref, user, rule, now_ms)], now_ms)
        async with context.claims.holding(ref, user, now_ms):
            # Meanwhile the vote or a quarantine may have come from elsewhere, or the listing may have gone.
            events = self._vote(ref, user, now_ms)
            return await self._commit(ref, user, [*events, *self._flag(ref, user, rule, now_ms)], now_ms)

    def refuse(self, ref: str, user: str) -> None:
        """Raise what `take` would raise now, and do nothing if it would take the vote."""
        self._vote(ref, user, self._clock.now_ms())

    def _flag(self, ref: str, user: str, rule: FlagRule | None, now_ms: int) -> list[VoteFlagged]:
        return [VoteFlagged(ref, user, rule, self._context.new_id(), now_ms)] if rule is not None else []

    def _vote(self, ref: str, user: str, now_ms: int) -> Sequence[Event]:
        context = self._context
        refuse_quarantined(self._state, user, "vote", now_ms)
        return cast_vote(
            self._state,
            ref,
            user,
            now_ms=now_ms,
            cooldown_ms=context.cooldown_ms,
            delivery_id=context.new_id(),
            pending_most=context.webhooks.pending_most(self._state),
            kept_until_ms=self._kept_until_ms(ref, user),
        )

    def _kept_until_ms(self, ref: str, user: str) -> int:
        """Return the end of the cooldown of a vote that was erased; 0 if there is none."""
        cooldowns = self._state.cooldowns
        return cooldowns.get(self._context.vote_mark(ref, user), 0) if cooldowns else 0

    async def _commit(self, ref: str, user: str, events: Sequence[Event], now_ms: int) -> Reply:
        def cast() -> Reply:
            count, _ = self._state.votes.get(ref, int(user)) or (0, 0)
            next_ms = now_ms + self._context.cooldown_ms
            return success(CastVote(vote=count, last_ms=now_ms, next_ms=next_ms), 201)

        return await self._context.commit(events, cast)

    async def numbers(self, request: Request) -> Reply:
        ref, now_ms = self._ref(request), self._clock.now_ms()
        listing_of(self._state, ref)
        voters = VoterSurvey(self._state, ref)
        await in_slices(voters.slices())
        listing, counted = listing_of(self._state, ref), votes_to_now(self._state, ref, now_ms)
        return success(
            ListingNumbers(
                total=counted.total,
                days=tuple(DayVotes(day=date_of(day), votes=votes) for day, votes in counted.days.items()),
                months=tuple(
                    MonthVotes(month=month_name(month), votes=votes)
                    for month, votes in counted.months.items()
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
        )

    def check(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        form = read(Voters, request.json_object())
        now_ms, window_ms = self._clock.now_ms(), self._context.window_ms
        votes = []
        for user in form.users:
            status = vote_status(self._state, ref, user, now_ms, window_ms)
            votes.append(UserVote(user=user, **asdict(status)))
        return success(UserVotes(votes=tuple(votes)))
