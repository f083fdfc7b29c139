"""What observes a gateway: counts, loops, concerns, the operator's views, and the metrics. No logic."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from core.version import VERSION
from direct_messages.message_tally import MessageTally
from gateway.api import Api
from gateway.delivery import Delivering, Egress
from gateway.fleet import Fleet
from gateway.front import Front
from gateway.runtime import Runtime
from gateway.store import Store
from handlers.route import PAGE
from handlers.slices import in_slices
from handlers.user_views import UserViews
from metrics.collectors import Bounds, Collectors, Sources
from metrics.scraping import Scraping
from operators.all_webhooks import DebugWebhooks, WebhookSources
from operators.data_folder import DebugDisk, DiskSources, Verification, verification
from operators.limiter_use import DebugLimiter
from operators.operator_pages import ALL_ROUTES, Operators
from operators.overview import DebugOverview, DebugProcess, OverviewSources, ProcessSources
from operators.recent import DebugErrors, DebugJournal
from operators.subjects import DebugFind, DebugListings, DebugUsers
from serving.application import RunningRequests
from serving.timeline import Gauges, Timeline
from serving.traffic import Traffic
from serving.vitals import LoopLag, resident_bytes
from votes.tally import VoteTally
from watchers.concerns import ConcernList, ConcernSources
from watchers.failing_endpoints import FailingEndpoints
from watchers.journal_tail import JournalTail
from watchers.recent_errors import RecentErrors
from watchers.security_log import SecurityBounds
from webhook.attempt_tally import AttemptTally

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


def operators_of(
    runtime: Runtime,
    store: Store,
    fleet: Fleet,
    delivery: Delivering,
    api: Api,
    measured: Instruments,
    connections: Callable[[], dict[str, int]],
) -> Operators:
    """Return the endpoints of the operator and of Prometheus.

    Args:
        connections: returns the connections of clients by their state.
    """
    outbox = delivery.outbox
    process = ProcessSources(
        durable_position=lambda: store.journal.durable_position,
        snapshot_position=lambda: store.snapshotter.position,
        webhooks_in_flight=lambda: outbox.in_flight,
        endpoints_suspended=lambda: len(outbox.suspended),
        proxy_down=lambda: outbox.stopped,
        readiness=api.readiness,
        fleet=fleet.standing,
        connections=connections,
        resident_bytes=measured.memory,
        concerns=_concerns(runtime, store, fleet, delivery, api),
    )
    scraping = _scraping(runtime, store, fleet, delivery, api, process, measured)
    return _operators(runtime, store, delivery, api, process, measured, scraping)


def _concerns(runtime: Runtime, store: Store, fleet: Fleet, delivery: Delivering, api: Api) -> ConcernList:
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
            failing_observers=runtime.observers.failing,
        )
    )


def _operators(
    runtime: Runtime,
    store: Store,
    delivery: Delivering,
    api: Api,
    process: ProcessSources,
    measured: Instruments,
    scraping: Scraping,
) -> Operators:
    async def verify() -> Verification:
        return await verification(store.ledger, store.snapshotter.lock, store.fold)

    ledger, state, outbox, clock = store.ledger, store.ledger.state, delivery.outbox, runtime.clock
    users = UserViews(state, api.people.moderators, api.people.sessions)
    webhooks = WebhookSources(
        in_flight=lambda: outbox.in_flight,
        suspended=lambda: len(outbox.suspended),
        proxy_down=lambda: outbox.stopped,
        standing=lambda ref: outbox.standing(ref, clock.steady_ms()),
    )
    timeline, snapshotter = measured.timeline, store.snapshotter
    overview = OverviewSources(
        head_age_seconds=lambda: timeline.head.age_seconds(clock.monotonic_ns()),
        durable_age_seconds=lambda: timeline.durable.age_seconds(clock.monotonic_ns()),
        snapshot_age_seconds=lambda: _age_seconds(snapshotter.created_ms, clock.now_ms()),
        lag_samples_ms=lambda: measured.lag.samples_ms,
        endpoints=timeline.last_minute,
        points=lambda: timeline.points,
    )
    shown = DebugProcess(ledger, clock, api.public.limits, process, VERSION)
    return Operators(
        scraping=scraping,
        process=shown,
        overview=DebugOverview(shown, overview),
        disk=DebugDisk(DiskSources(snapshotter.take, snapshotter.backup, verify)),
        find=DebugFind(state),
        listings=DebugListings(state, clock, api.public),
        users=DebugUsers(state, clock, runtime.settings.votes.window_ms, users),
        webhooks=DebugWebhooks(state, measured.failing, webhooks),
        limiter=DebugLimiter(state, clock, api.public.limits),
        errors=DebugErrors(measured.errors),
        journal=DebugJournal(measured.tail),
    )


def _age_seconds(at_ms: int, now_ms: int) -> float | None:
    return max(now_ms - at_ms, 0) / 1_000 if at_ms else None


def _scraping(
    runtime: Runtime,
    store: Store,
    fleet: Fleet,
    delivery: Delivering,
    api: Api,
    process: ProcessSources,
    measured: Instruments,
) -> Scraping:
    settings = runtime.settings
    sources = Sources(
        clock=runtime.clock,
        ledger=store.ledger,
        traffic=measured.traffic,
        limits=api.public.limits,
        votes=measured.votes,
        journal=store.journal,
        snapshotter=store.snapshotter,
        outbox=delivery.outbox,
        attempts=measured.attempts,
        messages=measured.messages if delivery.teller is not None else None,
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
        fleet=fleet.metered,
    )
    return Scraping(Collectors(sources))


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
