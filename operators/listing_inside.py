"""All about one listing, for the operator."""

from typing import Annotated

from msgspec import Meta

from actions.keys import KeyView, key_view
from actions.views import Count, Moment, Positive, Snowflake, Success, View
from core.clock import Clock
from core.rows import BOTS, SERVERS, Listing
from core.state import State
from handlers.history_views import Acts, OwnerMessageOrNone, act_views, owner_message_view
from handlers.listing_views import (
    BotView,
    ServerView,
    StatsProblemViews,
    bot_view,
    server_view,
    stats_problem_views,
)
from handlers.public import PublicApi
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.slices import in_slices
from handlers.webhook_views import DeliveryView, WebhookView, delivery_view, webhook_view
from listings.rules import listing_of
from votes.queries import RecentVotes

RECENT, RECENT_VOTES = 20, 20


class NextRequest(View):
    """The limit that the next request would meet."""

    limit: Count
    remaining: Count
    reset_seconds: Count
    window_seconds: Count


class NextRequests(View):
    """The limits that the next request to each endpoint would meet."""

    stats: NextRequest
    voters: NextRequest


class RecentVoteView(View):
    """The last vote of a user."""

    user: Snowflake
    votes: Annotated[Positive, Meta(description="How often the user has voted, over all time.")]
    last_at: Moment


_RecentVotes = Annotated[
    tuple[RecentVoteView, ...], Meta(description=f"The last {RECENT_VOTES}, the newest first.")
]
_RecentDeliveries = Annotated[
    tuple[DeliveryView, ...], Meta(description=f"The last {RECENT}, the newest first, with their attempts.")
]
_Voters = Annotated[Count, Meta(description="How many users have voted for it.")]


class BotInside(Success):
    """All about a bot, with its newest votes."""

    listing: BotView
    keys: tuple[KeyView, ...]
    webhook: WebhookView | None
    stats_problems: StatsProblemViews
    limits: NextRequests
    voters: _Voters
    recent_votes: _RecentVotes
    deliveries: _RecentDeliveries
    deliveries_pending: Count
    history: Acts
    message: OwnerMessageOrNone


class ServerInside(Success):
    """All about a server, with its newest votes."""

    listing: ServerView
    webhook: WebhookView | None
    voters: _Voters
    recent_votes: _RecentVotes
    deliveries: _RecentDeliveries
    deliveries_pending: Count
    history: Acts
    message: OwnerMessageOrNone


class DebugListings:
    def __init__(self, state: State, clock: Clock, public: PublicApi) -> None:
        self._state = state
        self._clock = clock
        self._public = public

    async def bot_inside(self, request: Request) -> Reply:
        return success(await self.bot_view(request.params[0]))

    async def server_inside(self, request: Request) -> Reply:
        return success(await self.server_view(request.params[0]))

    async def bot_view(self, bot_id: str) -> BotInside:
        """Return all about a bot. Raises Refusal."""
        ref = BOTS + bot_id
        votes = await self._recent_votes(ref)
        listing, now_ms = listing_of(self._state, ref), self._clock.now_ms()
        return BotInside(
            listing=bot_view(listing),
            keys=tuple(key_view(key, now_ms) for key in listing.keys),
            webhook=self._webhook(listing, now_ms),
            stats_problems=stats_problem_views(self._public.problems.of(ref)),
            limits=self._limits(listing),
            voters=self._state.votes.voters(ref),
            recent_votes=votes,
            deliveries=self._deliveries(listing),
            deliveries_pending=self._state.deliveries.waiting(ref),
            history=act_views(listing),
            message=owner_message_view(listing),
        )

    async def server_view(self, server_id: str) -> ServerInside:
        """Return all about a server. Raises Refusal."""
        ref = SERVERS + server_id
        votes = await self._recent_votes(ref)
        listing = listing_of(self._state, ref)
        return ServerInside(
            listing=server_view(listing),
            webhook=self._webhook(listing, self._clock.now_ms()),
            voters=self._state.votes.voters(ref),
            recent_votes=votes,
            deliveries=self._deliveries(listing),
            deliveries_pending=self._state.deliveries.waiting(ref),
            history=act_views(listing),
            message=owner_message_view(listing),
        )

    async def _recent_votes(self, ref: str) -> tuple[RecentVoteView, ...]:
        listing_of(self._state, ref)
        recent = RecentVotes(self._state, ref, RECENT_VOTES)
        await in_slices(recent.slices())
        return tuple(
            RecentVoteView(user=vote.user, votes=vote.votes, last_at=vote.last_ms) for vote in recent.found
        )

    def _webhook(self, listing: Listing, now_ms: int) -> WebhookView | None:
        if listing.webhook is None:
            return None
        return webhook_view(listing.webhook, self._state.deliveries.waiting(listing.ref), now_ms)

    def _deliveries(self, listing: Listing) -> tuple[DeliveryView, ...]:
        rows = self._state.deliveries.newest_first(listing.ref)
        return tuple(delivery_view(row, listing.webhook) for row in rows[:RECENT])

    def _limits(self, bot: Listing) -> NextRequests:
        return NextRequests(
            **{
                name: NextRequest(
                    limit=decision.limit,
                    remaining=decision.remaining,
                    reset_seconds=decision.reset_seconds,
                    window_seconds=decision.window_seconds,
                )
                for name, decision in self._public.limits_of(bot).items()
            }
        )
