"""The observers in the composition root: their loops, and the list of concerns. No logic."""

from collections.abc import Awaitable, Callable
from functools import partial

from core.clock import Clock
from gateway.delivery import Delivering
from gateway.endpoints import Callers, Counting, Life, readiness
from gateway.front import Front
from gateway.membership import Membership
from gateway.sites import Sites
from gateway.store import Store
from handlers.public import PublicApi
from handlers.slices import in_slices
from serving.observers import Observers
from serving.timeline import Timeline
from watchers.concerns import ConcernList, ConcernSources
from watchers.refused_addresses import RefusedAddresses
from watchers.security_log import SecurityBounds

Loops = dict[str, Callable[[], Awaitable[None]]]
"""Loops of observers, by name."""


def process_loops(clock: Clock, store: Store, life: Life, timeline: Timeline) -> Loops:
    """Return the observers of the process and its disk."""
    return {
        "slow_disk": store.journal.slow_disk.run,
        "disk_space": store.space.run,
        "loop_delay": life.lag.run,
        "timeline": timeline.run,
        "security_log": SecurityBounds(clock).run,
        "review_counts": lambda: in_slices(store.ledger.state.listings.count_reviews()),
    }


def request_loops(
    public: PublicApi, callers: Callers, front: Front, counting: Counting, sites: Sites
) -> Loops:
    """Return the observers of requests. `Sites.running` has those of pages."""
    loops: Loops = {"key_uses": public.uses.run, "refused_addresses": callers.refused.run}
    if front.access is not None:
        loops["access_log"] = front.access.run
    if counting.platform is not None and sites.platform is not None:
        loops["server_counts"] = partial(counting.platform.run, sites.platform.guild_count)
    return loops


def concern_list(
    store: Store,
    delivering: Delivering,
    life: Life,
    fleet: Membership | None,
    refused: RefusedAddresses,
    observers: Observers,
) -> ConcernList:
    """Return the list that the operator is shown."""
    journal, ready = store.journal, readiness(store, life, fleet)
    return ConcernList(
        ConcernSources(
            not_ready=lambda: ready() if journal.writable else None,
            journal_refuses=lambda: journal.why_not_writable,
            disk_is_behind=lambda: journal.is_behind,
            disk_is_slow=lambda: journal.slow_disk.is_slow,
            free_bytes=lambda: store.space.free_bytes,
            needed_bytes=store.space.needed_bytes,
            snapshot_failure=lambda: store.snapshotter.failure,
            fleet=fleet.node.standing if fleet is not None else lambda: None,
            fleet_warnings=fleet.node.concerns if fleet is not None else list,
            proxy_down=lambda: delivering.outbox.stopped,
            endpoints_suspended=lambda: len(delivering.suspensions),
            addresses_refused=lambda: len(refused),
            some_refused=refused.some,
            failing_observers=observers.failing,
        )
    )
