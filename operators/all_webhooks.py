"""All webhooks, for the operator: the queue, and the endpoints that fail, with the reasons."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from typing import Annotated, Any, Generic, Protocol, TypeVar

from msgspec import Meta

from actions.views import Count, ListingName, Snowflake, Success, View, example
from core.rows import Webhook
from core.state import State
from handlers.slices import in_slices
from handlers.webhook_views import ErrorClass, SuspensionView, suspension_view
from operators.subjects import KindName
from watchers.failing_endpoints import FailingEndpoints

SHOWN = 100
SLICE = 256
"""Endpoints that are looked at in one piece."""

T = TypeVar("T")


class EndpointInside(View):
    """An endpoint and its queue."""

    kind: KindName
    id: Snowflake
    name: ListingName
    host: Annotated[
        str,
        Meta(description="Where its webhooks go. The rest of the URL may be a secret."),
        example("example.com"),
    ]
    pending: Annotated[Count, Meta(description="Deliveries that wait, or are tried again.")]
    in_flight: Annotated[Count, Meta(description="Attempts under way.")]
    slow: Annotated[bool, Meta(description="True if its last attempt took long: it gets one at a time.")]
    wait_ms: Annotated[
        Count, Meta(description="How long nothing leaves for it, because it or a failure asked for a wait.")
    ]
    failed_in_a_row: Annotated[
        Count, Meta(description="Events that failed for good since the last that was delivered.")
    ]
    last_error: Annotated[
        ErrorClass | None, Meta(description="The class of its last failure; null if none is kept.")
    ]
    suspension: Annotated[
        SuspensionView | None, Meta(description="Why nothing is sent to it, and when the next probe goes.")
    ]


class WebhooksInside(Success):
    """All webhooks of this gateway."""

    pending: Annotated[Count, Meta(description="Deliveries that wait, or are tried again.")]
    in_flight: Annotated[Count, Meta(description="Attempts under way.")]
    proxy_down: Annotated[bool, Meta(description="True while the proxy fails, so that none leaves.")]
    waiting_endpoints: Annotated[Count, Meta(description="Endpoints with a pending delivery.")]
    suspended_endpoints: Count
    failing_endpoints: Annotated[
        Count, Meta(description="Endpoints whose last event failed for good, suspended ones among them.")
    ]
    failing: Annotated[
        tuple[EndpointInside, ...],
        Meta(description=f"The first {SHOWN} of these: suspended ones first, then by failures in a row."),
    ]
    loaded: Annotated[
        tuple[EndpointInside, ...], Meta(description=f"The {SHOWN} with the most pending deliveries.")
    ]
    messages_pending: Annotated[Count, Meta(description="Direct messages to owners that wait.")]


class SenderStanding(Protocol):
    """The sender's state for one endpoint."""

    @property
    def in_flight(self) -> int: ...
    @property
    def slow(self) -> bool: ...
    @property
    def wait_ms(self) -> int: ...


@dataclass(frozen=True)
class WebhookSources:
    """Calls that ask the sender of webhooks."""

    in_flight: Callable[[], int]
    suspended: Callable[[], int]
    proxy_down: Callable[[], bool]
    """True while the webhooks' proxy fails: no webhook leaves then."""
    standing: Callable[[str], SenderStanding]
    """Returns the sender's state for the endpoint of a listing."""


class DebugWebhooks:
    def __init__(self, state: State, failing: FailingEndpoints, sources: WebhookSources) -> None:
        self._state = state
        self._failing = failing
        self._sources = sources

    async def view(self) -> WebhooksInside:
        await in_slices(self._failing.survey())
        waiting = self._state.deliveries.waiting
        loaded = _First(self._state.deliveries.refs_pending, lambda ref: -waiting(ref))
        failing = _First(self._failing.found(), lambda found: found)
        await in_slices(loaded.slices())
        await in_slices(failing.slices())
        failing_views = self._endpoints(ref for _, ref in failing.found)
        await asyncio.sleep(0)  # a hundred endpoints take 1 to 2 ms
        loaded_views = self._endpoints(loaded.found)
        await asyncio.sleep(0)
        return WebhooksInside(
            pending=len(self._state.deliveries.pending),
            in_flight=self._sources.in_flight(),
            proxy_down=self._sources.proxy_down(),
            waiting_endpoints=len(self._state.deliveries.refs_pending),
            suspended_endpoints=self._sources.suspended(),
            failing_endpoints=len(self._failing),
            failing=failing_views,
            loaded=loaded_views,
            messages_pending=len(self._state.listings.untold),
        )

    def _endpoints(self, refs: Iterable[str]) -> tuple[EndpointInside, ...]:
        found: list[EndpointInside] = []
        for ref in refs:
            listing = self._state.listings.get(ref)  # it may have gone between two slices
            if listing is not None and listing.webhook is not None:
                found.append(self._endpoint(ref, listing.profile.name, listing.webhook))
        return tuple(found)

    def _endpoint(self, ref: str, name: str, webhook: Webhook) -> EndpointInside:
        kind, _, listing_id = ref.partition("/")
        standing = self._sources.standing(ref)
        return EndpointInside(
            kind="bots" if kind == "bots" else "servers",
            id=listing_id,
            name=name,
            host=webhook.host,
            pending=self._state.deliveries.waiting(ref),
            in_flight=standing.in_flight,
            slow=standing.slow,
            wait_ms=standing.wait_ms,
            failed_in_a_row=webhook.failed,
            last_error=self._last_error(ref, webhook),
            suspension=suspension_view(webhook),
        )

    def _last_error(self, ref: str, webhook: Webhook) -> str | None:
        if webhook.suspension is not None:
            return webhook.suspension.reason
        attempts = [attempt for row in self._state.deliveries.of(ref) for attempt in row.attempts[-1:]]
        failed = [attempt for attempt in attempts if attempt.error is not None]
        return max(failed, key=lambda attempt: attempt.at_ms).error if failed else None


class _First(Generic[T]):
    """The first of many by a key, found in slices."""

    def __init__(self, these: Iterable[T], key: Callable[[T], Any]) -> None:
        self._these = list(these)
        self._key = key
        self.found: list[T] = []

    def slices(self) -> Iterator[None]:
        for start in range(0, len(self._these), SLICE):
            self.found = nsmallest(SHOWN, [*self.found, *self._these[start : start + SLICE]], key=self._key)
            yield
