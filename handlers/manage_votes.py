"""Management of votes: cast one, check many, forget a user."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec.structs import asdict

from core.events import Event
from core.refusals import Invalid
from core.snowflake import is_snowflake
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.views import CastVote, UserVote, UserVotes
from listings.forms import User, Users, read
from listings.rules import listing_of
from votes.queries import vote_status
from votes.rules import cast_vote, erase_user


class ManageVotes:
    def __init__(self, context: ManageContext, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref

    async def cast(self, request: Request) -> Reply:
        context, ref = self._context, self._ref(request)
        listing_of(self._state, ref)
        form = read(User, request.json_object())
        now_ms = self._clock.now_ms()
        events = self._vote(ref, form.user, now_ms)
        if context.claims is None:
            return await self._commit(ref, form.user, events, now_ms)
        async with context.claims.holding(ref, form.user, now_ms):
            # Meanwhile the vote may have come from elsewhere, or the listing may have gone.
            return await self._commit(ref, form.user, self._vote(ref, form.user, now_ms), now_ms)

    def _vote(self, ref: str, user: str, now_ms: int) -> Sequence[Event]:
        context = self._context
        return cast_vote(
            self._state,
            ref,
            user,
            now_ms=now_ms,
            cooldown_ms=context.cooldown_ms,
            delivery_id=context.new_id(),
            pending_most=context.webhooks.pending_most(self._state),
        )

    async def _commit(self, ref: str, user: str, events: Sequence[Event], now_ms: int) -> Reply:
        def cast() -> Reply:
            count, _ = self._state.votes.get(ref, int(user)) or (0, 0)
            next_ms = now_ms + self._context.cooldown_ms
            return success(CastVote(vote=count, last_ms=now_ms, next_ms=next_ms), 201)

        return await self._context.commit(events, cast)

    def check(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        form = read(Users, request.json_object())
        now_ms, window_ms = self._clock.now_ms(), self._context.window_ms
        votes = []
        for user in form.users:
            status = vote_status(self._state, ref, user, now_ms, window_ms)
            votes.append(UserVote(user=user, **asdict(status)))
        return success(UserVotes(votes=tuple(votes)))


class ManageUsers:
    def __init__(self, context: ManageContext) -> None:
        self._context = context

    async def erase(self, request: Request) -> Reply:
        """Forget a user. Succeeds for a user who never voted, too: the answer gives nothing away."""
        user = request.params[0]
        if not is_snowflake(user):
            raise Invalid({"id": "must be a snowflake: 17 to 20 digits"})
        with self._context.searches.of(user) as search:
            for _ in search.slices():
                await asyncio.sleep(0)
            events = erase_user(
                user,
                search.refs,
                self._context.mark(user),
                now_ms=self._context.clock.now_ms(),
                by=request.by,
            )
            return await self._context.commit(events)
