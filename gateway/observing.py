"""The observers of a gateway: concerns, the views of the operator, the metrics, and loops. No logic."""

from collections.abc import Awaitable, Callable
from functools import partial

from actions.users import user_view
from gateway.parts import Parts
from handlers.slices import in_slices
from metrics.collectors import Bounds, Collectors, Scraping, Sources
from operators.gateway_parts import GatewayParts, ProcessSources
from watchers.concerns import ConcernList, ConcernSources
from watchers.security_log import SecurityBounds

Loops = dict[str, Callable[[], Awaitable[None]]]
"""Loops of observers, by name."""


def operator_parts(parts: Parts, connections: Callable[[], dict[str, int]]) -> GatewayParts:
    """Return what the operator and Prometheus look into.

    Args:
        connections: returns the connections of clients by their state.
    """
    runtime, store, api, measured = parts.runtime, parts.store, parts.api, parts.measured
    process = ProcessSources(
        api.readiness, parts.fleet.standing, connections, measured.memory, _concerns(parts)
    )
    return GatewayParts(
        clock=runtime.clock,
        started_ns=runtime.clock.monotonic_ns(),
        ledger=store.ledger,
        journal=store.journal,
        snapshotter=store.snapshotter,
        fold=store.fold,
        outbox=parts.delivery.outbox,
        public=api.public,
        user=partial(user_view, api.managed),
        ownership=api.managed.ownership,
        window_ms=runtime.settings.votes.window_ms,
        process=process,
        lag=measured.lag,
        timeline=measured.timeline,
        failing=measured.failing,
        tail=measured.tail,
        errors=measured.errors,
        scraping=_scraping(parts, process),
    )


def _concerns(parts: Parts) -> ConcernList:
    store, fleet, delivery, api = parts.store, parts.fleet, parts.delivery, parts.api
    journal, refused = store.journal, api.callers.refused
    return ConcernList(
        ConcernSources(
            not_ready=lambda: api.readiness() if journal.writable else None,
            journal_refuses=lambda: journal.why_not_writable,
            disk_is_behind=lambda: journal.is_behind,
            disk_is_slow=lambda: journal.slow_disk.is_slow,
            free_bytes=lambda: store.space.free_bytes,
            needed_bytes=store.space.needed_bytes,
            snapshot_failure=lambda: store.snapshotter.failure,
            fleet=fleet.standing,
            fleet_warnings=fleet.concerns,
            proxy_down=lambda: delivery.outbox.stopped,
            endpoints_suspended=lambda: len(delivery.suspensions),
            addresses_refused=lambda: len(refused),
            some_refused=refused.some,
            failing_observers=parts.runtime.observers.failing,
        )
    )


def _scraping(parts: Parts, process: ProcessSources) -> Scraping:
    runtime, store, delivery, measured = parts.runtime, parts.store, parts.delivery, parts.measured
    settings = runtime.settings
    sources = Sources(
        clock=runtime.clock,
        ledger=store.ledger,
        traffic=measured.traffic,
        limits=parts.api.public.limits,
        votes=measured.votes,
        journal=store.journal,
        snapshotter=store.snapshotter,
        outbox=delivery.outbox,
        attempts=measured.attempts,
        messages=measured.messages if delivery.direct_messages else None,
        suspensions=delivery.suspensions,
        lag=measured.lag,
        bounds=Bounds(
            settings.journal.pending_bytes,
            settings.snapshot.interval_seconds,
            settings.webhooks.pending_in_all,
        ),
        space=store.space,
        observers=runtime.observers,
        readiness=process.readiness,
        connections=process.connections,
        concerns=process.concerns,
        fleet=parts.fleet.metered,
    )
    return Scraping(Collectors(sources))


def loops(parts: Parts) -> Loops:
    """Return the loops of observers. `Sites.running` has those of pages."""
    store, api, measured = parts.store, parts.api, parts.measured
    found: Loops = {
        "slow_disk": store.journal.slow_disk.run,
        "disk_space": store.space.run,
        "loop_delay": measured.lag.run,
        "timeline": measured.timeline.run,
        "security_log": SecurityBounds(parts.runtime.clock).run,
        "review_counts": lambda: in_slices(store.ledger.state.listings.count_reviews()),
        "key_uses": api.public.uses.run,
        "refused_addresses": api.callers.refused.run,
    }
    if parts.front.access is not None:
        found["access_log"] = parts.front.access.run
    platform, counts = parts.egress.platform, parts.egress.asked_counts
    if counts is not None and platform is not None:
        found["server_counts"] = partial(counts.run, platform.guild_count)
    return found
