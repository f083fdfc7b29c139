"""All webhooks, for the operator: the queue, and the endpoints that fail, with the reasons."""

import asyncio
from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from actions.deliveries import ErrorClass
from actions.views import Count, KindName, ListingId, ListingName, Success, View, example
from actions.webhooks import SuspensionView, suspension_view
from core.rows import Listing, Webhook
from core.state import State
from handlers.slices import first_of
from kinds.registry import kind_of
from operators.gateway_parts import GatewayParts

SHOWN = 100
SLICE = 256
"""Endpoints that are looked at in one piece."""


class EndpointInside(View):
    """An endpoint and its queue."""

    kind: Annotated[KindName, Meta(description="The kind of listing.")]
    id: ListingId
    name: ListingName
    host: Annotated[
        str,
        Meta(description="The host of the webhook URL. The rest of the URL may be a secret."),
        example("example.com"),
    ]
    pending: Annotated[Count, Meta(description="Deliveries that wait for an attempt.")]
    in_flight: Annotated[Count, Meta(description="Attempts under way.")]
    slow: Annotated[
        bool, Meta(description="True if the last attempt was slow: the endpoint gets one attempt at a time.")
    ]
    wait_ms: Annotated[
        Count,
        Meta(
            description=(
                "The time for which nothing is sent to it, because the endpoint or a failure asked for a "
                "wait."
            )
        ),
    ]
    failed_in_a_row: Annotated[
        Count, Meta(description="Events that have failed for good since the last success.")
    ]
    last_error: Annotated[
        ErrorClass | None, Meta(description="The class of the last failure; null if none is kept.")
    ]
    suspension: Annotated[
        SuspensionView | None,
        Meta(description="The pause of the endpoint, with its reason and the time of the next probe."),
    ]


class WebhooksInside(Success):
    """All webhooks of this gateway."""

    pending: Annotated[Count, Meta(description="Deliveries that wait for an attempt.")]
    in_flight: Annotated[Count, Meta(description="Attempts under way.")]
    proxy_down: Annotated[bool, Meta(description="True while the proxy fails and no webhook is sent.")]
    waiting_endpoints: Annotated[Count, Meta(description="Endpoints with a pending delivery.")]
    suspended_endpoints: Count
    failing_endpoints: Annotated[
        Count, Meta(description="Endpoints whose last event failed for good, including suspended ones.")
    ]
    failing: Annotated[
        tuple[EndpointInside, ...],
        Meta(description=f"The first {SHOWN} of these: suspended ones, then those with the most failures."),
    ]
    loaded: Annotated[
        tuple[EndpointInside, ...],
        Meta(description=f"The {SHOWN} endpoints with the most pending deliveries."),
    ]
    messages_pending: Annotated[Count, Meta(description="Direct messages to owners that wait to be sent.")]


async def all_webhooks(parts: GatewayParts) -> WebhooksInside:
    deliveries, failing = parts.state.deliveries, parts.failing
    pending = list(deliveries.refs_pending)
    loaded = await first_of(
        pending, lambda ref: ref, lambda ref: -deliveries.waiting(ref), most=SHOWN, at_once=SLICE
    )
    worst = await first_of(failing.found(), lambda each: each, lambda each: each, most=SHOWN, at_once=SLICE)
    failing_views = _endpoints(parts, (ref for _, ref in worst))
    await asyncio.sleep(0)  # a hundred endpoints take 1 to 2 ms
    loaded_views = _endpoints(parts, loaded)
    await asyncio.sleep(0)
    return WebhooksInside(
        pending=len(deliveries.pending),
        in_flight=parts.numbers.outbox.in_flight,
        proxy_down=parts.numbers.outbox.stopped,
        waiting_endpoints=len(deliveries.refs_pending),
        suspended_endpoints=len(parts.numbers.outbox.suspended),
        failing_endpoints=len(failing),
        failing=failing_views,
        loaded=loaded_views,
        messages_pending=len(parts.state.listings.untold),
    )


def _endpoints(parts: GatewayParts, refs: Iterable[str]) -> tuple[EndpointInside, ...]:
    listings = (parts.state.listings.get(ref) for ref in refs)  # one may have gone between two slices
    return tuple(
        _endpoint(parts, listing, listing.webhook)
        for listing in listings
        if listing is not None and listing.webhook is not None
    )


def _endpoint(parts: GatewayParts, listing: Listing, webhook: Webhook) -> EndpointInside:
    standing = parts.numbers.outbox.standing(listing.ref, parts.tools.clock.steady_ms())
    return EndpointInside(
        kind=kind_of(listing.ref).plural,
        id=listing.id,
        name=listing.profile.name,
        host=webhook.host,
        pending=parts.state.deliveries.waiting(listing.ref),
        in_flight=standing.in_flight,
        slow=standing.slow,
        wait_ms=standing.wait_ms,
        failed_in_a_row=webhook.failed,
        last_error=_last_error(parts.state, listing.ref, webhook),
        suspension=suspension_view(webhook),
    )


def _last_error(state: State, ref: str, webhook: Webhook) -> str | None:
    if webhook.suspension is not None:
        return webhook.suspension.reason
    attempts = [attempt for row in state.deliveries.of(ref) for attempt in row.attempts[-1:]]
    failed = [attempt for attempt in attempts if attempt.error is not None]
    return max(failed, key=lambda attempt: attempt.at_ms).error if failed else None
