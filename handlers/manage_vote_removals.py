"""Management of strikes: votes that moderators take out of a listing. Law: the owner is told why.

All votes of a user for the listing go, and the cooldown of the last one runs on. A call strikes out a bounded
number of users, in a few records, so that the loop is never held for long. It may be made again: what is
struck out already is not struck out twice.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated

from msgspec import Meta

from actions.views import Count, Success
from core.actors import user_of
from core.rows import Listing
from core.state import State
from core.vote_port import leaves_of
from forms.reading import read
from handlers.manage import ManageContext
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from listings.forms import MOST_STRUCK, Strike
from listings.rules import listing_of
from votes.rules import KeptCooldowns, VoteRemoval, remove_votes

USERS_AT_ONCE = 100
"""Users in one record: about 2 ms, with a webhook that is told of each."""


class StruckVotes(Success):
    """How much a call has struck out, or would."""

    users: Annotated[Count, Meta(description="How many users' votes.")]
    votes: Annotated[Count, Meta(description="How many votes these were together.")]
    more: Annotated[
        bool,
        Meta(
            description="True if there are more within the time: make the call again. One takes those of "
            f"{MOST_STRUCK:,} users."
        ),
    ]


class RemovalSearch:
    """The users whose last vote came within a time. `users` is complete when `slices` ends."""

    def __init__(self, state: State, ref: str, since_ms: int, until_ms: int) -> None:
        self.users: list[str] = []
        self.more = False
        self._state = state
        self._ref = ref
        self._since_ms = since_ms
        self._until_ms = until_ms

    def slices(self) -> Iterator[None]:
        """Look at one leaf of the table after another."""
        votes = self._state.votes
        for leaf in leaves_of(votes, self._ref):
            # In the order of their times. A leaf is 1,024 votes, or twice as many while it grows.
            for last_ms, user, _ in votes.newest(leaf, len(leaf)):
                if not self._since_ms <= last_ms <= self._until_ms:
                    continue
                if len(self.users) == MOST_STRUCK:
                    self.more = True
                    return
                self.users.append(str(user))
            yield


class ManageVoteRemovals:
    def __init__(self, context: ManageContext, ref: Callable[[Request], str]) -> None:
        self._context = context
        self._state = context.ledger.state
        self._clock = context.clock
        self._ref = ref

    async def strike(self, request: Request) -> Reply:
        """Strike votes out, or count them."""
        ref = self._ref(request)
        row = listing_of(self._state, ref)
        form = read(Strike, request.json_object())
        users, more = await self._chosen(row, form)
        struck = [vote for user in users if (vote := self._state.votes.get(ref, int(user))) is not None]
        answer = StruckVotes(users=len(struck), votes=sum(count for count, _ in struck), more=more)
        if not form.dry_run:
            await self._strike(request, ref, users, form.reason)
        return success(answer)

    async def _chosen(self, row: Listing, form: Strike) -> tuple[Sequence[str], bool]:
        """Return the users, each once, and whether there are more."""
        if form.since is None:
            return [*dict.fromkeys(flagged_users(row) if form.flagged else form.users)], False
        until_ms = form.until if form.until is not None else self._clock.now_ms()
        search = RemovalSearch(self._state, row.ref, form.since, until_ms)
        await in_slices(search.slices())
        return search.users, search.more

    async def _strike(self, request: Request, ref: str, users: Sequence[str], reason: str) -> None:
        """Strike the votes out, some users a record. The first record alone is an act with the reason."""
        context, position = self._context, None
        for start in range(0, len(users), USERS_AT_ONCE):
            events = remove_votes(
                self._state,
                ref,
                VoteRemoval(users[start : start + USERS_AT_ONCE], reason, goes_on=position is not None),
                context.new_deliveries(),
                KeptCooldowns(context.cooldown_ms, context.vote_mark),
                now_ms=self._clock.now_ms(),
                by=request.by,
            )
            if events:
                position = context.ledger.commit(events)
                await asyncio.sleep(0)
        if position is not None:
            await context.ledger.durable(position)


def flagged_users(row: Listing) -> Iterator[str]:
    """Yield the users whose votes for the listing were flagged, but for erased ones."""
    for flag in row.flags:
        user = user_of(flag.by)
        if user is not None:
            yield user
