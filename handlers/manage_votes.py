"""Management of votes: cast one, check many, forget a user."""

import asyncio
from collections.abc import Callable, Sequence

from msgspec import to_builtins

from core.events import DeliveryQueued, Event, VoteCast
from core.refusals import Invalid
from core.snowflake import is_snowflake
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from listings.forms import User, Users, read
from listings.rules import listing_of
from votes.queries import listings_that_know, vote_status
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
        events = cast_vote(
            self._state,
            ref,
            form.user,
            now_ms=now_ms,
            cooldown_ms=context.cooldown_ms,
            delivery_id=context.new_id(),
            pending_most=context.webhooks.pending_most(self._state),
        )
        return await context.commit(
            events,
            lambda: success(
                201, vote=events[0].count, lastVote=now_ms, nextVoteAt=now_ms + context.cooldown_ms
            ),
        )

    def check(self, request: Request) -> Reply:
        ref = self._ref(request)
        listing_of(self._state, ref)
        form = read(Users, request.json_object())
        now_ms, window_ms = self._clock.now_ms(), self._context.window_ms
        votes = []
        for user in form.users:
            status = vote_status(self._state, ref, user, now_ms, window_ms)
            votes.append({"user": user, **to_builtins(status)})
        return success(votes=votes, next=None)


class ManageUsers:
    def __init__(self, context: ManageContext) -> None:
        self._context = context
        self._erasing: list[tuple[str, set[str]]] = []
        """Users being erased, and the listings that know them."""
        context.ledger.subscribe(self._on_record)

    def _on_record(self, _: int, events: Sequence[Event]) -> None:
        """A listing may get to know the user after its turn in the search."""
        for user, refs in self._erasing:
            refs.update(
                event.ref
                for event in events
                if isinstance(event, VoteCast | DeliveryQueued) and event.user == user
            )

    async def erase(self, request: Request) -> Reply:
        """Succeeds whether or not the user ever voted: afterwards nothing is known either way."""
        user = request.params[0]
        if not is_snowflake(user):
            raise Invalid({"id": "must be a snowflake: 17 to 20 digits"})
        erasing = user, refs = user, set[str]()
        self._erasing.append(erasing)
        try:
            for found in listings_that_know(self._context.ledger.state, user):
                refs.update(found)
                await asyncio.sleep(0)
            return await self._context.commit(erase_user(user, refs))
        finally:
            # By identity: another erasure of the same user may have found the same.
            self._erasing = [other for other in self._erasing if other is not erasing]
