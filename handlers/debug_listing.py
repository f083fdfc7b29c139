"""All about one listing, for the operator."""

from typing import Annotated

from msgspec import Meta

from core.clock import Clock
from core.state import State
from handlers.manage import bot_ref
from handlers.public import PublicApi
from handlers.reply import Reply, success
from handlers.request import Request
from handlers.views import (
    BotView,
    Count,
    DeliveryView,
    KeyView,
    StatsProblemViews,
    Success,
    View,
    WebhookView,
    bot_view,
    delivery_view,
    key_view,
    stats_problem_views,
    webhook_view,
)
from listings.rules import listing_of

RECENT_DELIVERIES = 10


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


class DebugBot(Success):
    """All about a bot."""

    listing: BotView
    keys: tuple[KeyView, ...]
    webhook: WebhookView | None
    stats_problems: StatsProblemViews
    voters: Annotated[Count, Meta(description="How many users have voted for the bot.")]
    limits: NextRequests
    deliveries: Annotated[tuple[DeliveryView, ...], Meta(description="The newest.")]
    deliveries_pending: Count


class DebugListings:
    def __init__(self, state: State, clock: Clock, public: PublicApi) -> None:
        self._state = state
        self._clock = clock
        self._public = public

    def bot(self, request: Request) -> Reply:
        ref, state = bot_ref(request), self._state
        listing = listing_of(state, ref)
        deliveries, pending, now_ms = (
            state.deliveries.newest_first(ref),
            state.deliveries.waiting(ref),
            self._clock.now_ms(),
        )
        next_requests = {
            name: NextRequest(
                limit=decision.limit,
                remaining=decision.remaining,
                reset_seconds=decision.reset_seconds,
                window_seconds=decision.window_seconds,
            )
            for name, decision in self._public.limits_of(listing).items()
        }
        shown = DebugBot(
            listing=bot_view(listing),
            keys=tuple(key_view(key, now_ms) for key in listing.keys),
            webhook=webhook_view(listing.webhook, pending, now_ms) if listing.webhook is not None else None,
            stats_problems=stats_problem_views(self._public.problems.of(ref)),
            voters=state.votes.voters(ref),
            limits=NextRequests(**next_requests),
            deliveries=tuple(delivery_view(row, listing.webhook) for row in deliveries[:RECENT_DELIVERIES]),
            deliveries_pending=pending,
        )
        return success(shown)
