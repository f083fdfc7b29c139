"""What observes a gateway: counts, loops, concerns, the operator's views, and the metrics. No logic."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from gateway.api import Api
from gateway.delivery import Delivering, Egress
from gateway.fleet import Fleet
from gateway.front import Front
from gateway.store import Runtime, Store
from handlers.route import PAGE
from handlers.slices import in_slices
from metrics.collectors import Bounds, Collectors, Scraping, Sources
from operators.gateway_parts import GatewayParts
from operators.journal_tail import JournalTail
from operators.operator_pages import ALL_ROUTES
from operators.recent_errors import RecentErrors
from serving.application import RunningRequests
from serving.timeline import Gauges, LoopLag, Timeline, resident_bytes
from serving.traffic import Traffic
from votes.numbers import VoteTally
from watchers.concerns import ConcernSources, all_concerns
from watchers.failing_endpoints import FailingEndpoints
from watchers.security_log import SecurityBounds
from webhook.attempt_tally import AttemptTally, MessageTally

Loops = dict[str, Callable[[], Awaitable[None]]]
"""Loops of observers, by name."""


@dataclass(frozen=True)
class Instruments:
    """Counts and buffers of one process."""

    running: RunningRequests
    traffic: Traffic
    lag: LoopLag
    votes: VoteTally
    attempts: AttemptTally
    messages: MessageTally
    failing: FailingEndpoints
    tail: JournalTail
    errors: RecentErrors
    timeline: Timeline
    memory: Callable[[], int | None]
    """Returns the resident memory; None while the kernel does not tell."""


def instruments(runtime: Runtime, store: Store, errors: RecentErrors) -> Instruments:
    clock, ledger, votes = runtime.clock, store.ledger, VoteTally()
    traffic, lag = Traffic([*(route.name for route in ALL_ROUTES), PAGE]), LoopLag(clock)
    memory = runtime.observers.calling("memory", resident_bytes)
    gauges = Gauges(
        votes=lambda: votes.here + votes.elsewhere,
        head=lambda: ledger.head,
        durable=lambda: store.journal.durable_position,
        resident_bytes=memory,
    )
    return Instruments(
        RunningRequests(),
        traffic,
        lag,
        votes,
        AttemptTally(),
        MessageTally(),
        FailingEndpoints(ledger.state),
        JournalTail(clock),
        errors,
        Timeline(clock, traffic, lag, gauges),
        memory,
    )


def operator_parts(
    runtime: Runtime,
    store: Store,
    fleet: Fleet,
    delivery: Delivering,
    api: Api,
    measured: Instruments,
    connections: Callable[[], dict[str, int]],
) -> GatewayParts:
    """Return what the operator and Prometheus look into.

    Args:
        connections: returns the connections of clients by their state.
    """
    numbers = _numbers(runtime, store, fleet, delivery, api, measured, connections)
    return GatewayParts(
        tools=api.managed,
        numbers=numbers,
        started_ns=runtime.clock.monotonic_ns(),
        fold=store.fold,
        public=api.public,
        resident_bytes=measured.memory,
        timeline=measured.timeline,
        failing=measured.failing,
        tail=measured.tail,
        errors=measured.errors,
        scraping=Scraping(Collectors(numbers)),
    )


def _concerns(runtime: Runtime, store: Store, fleet: Fleet, delivery: Delivering, api: Api) -> ConcernSources:
    journal, refused = store.journal, api.callers.refused
    return ConcernSources(
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
        failing_observers=runtime.observers.failing,
    )


def _numbers(
    runtime: Runtime,
    store: Store,
    fleet: Fleet,
    delivery: Delivering,
    api: Api,
    measured: Instruments,
    connections: Callable[[], dict[str, int]],
) -> Sources:
    settings = runtime.settings
    return Sources(
        clock=runtime.clock,
        ledger=store.ledger,
        traffic=measured.traffic,
        limits=api.public.limits,
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
        readiness=api.readiness,
        connections=connections,
        concerns=partial(all_concerns, _concerns(runtime, store, fleet, delivery, api)),
        fleet=fleet.metered,
    )


def loops(
    runtime: Runtime, store: Store, egress: Egress, api: Api, front: Front, measured: Instruments
) -> Loops:
    """Return the loops of observers. `Sites.running` has those of pages."""
    found: Loops = {
        "slow_disk": store.journal.slow_disk.run,
        "disk_space": store.space.run,
        "loop_delay": measured.lag.run,
        "timeline": measured.timeline.run,
        "security_log": SecurityBounds(runtime.clock).run,
        "review_counts": lambda: in_slices(store.ledger.state.listings.count_reviews()),
        "key_uses": api.public.uses.run,
        "refused_addresses": api.callers.refused.run,
    }
    if front.access is not None:
        found["access_log"] = front.access.run
    if egress.guild_counts.platform is not None and egress.platform is not None:
        found["server_counts"] = partial(egress.guild_counts.platform.run, egress.platform.guild_count)
    return found
