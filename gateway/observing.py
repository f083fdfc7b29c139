"""The observers in the composition root: their loops, and what the operator learns of. No logic."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from gateway.endpoints import Callers, Counting, Life
from gateway.front import Front
from gateway.sites import Sites
from gateway.store import Store
from handlers.public import PublicApi
from handlers.slices import in_slices
from serving.observers import Observers
from serving.timeline import Timeline


def observing(
    observers: Observers,
    store: Store,
    life: Life,
    timeline: Timeline,
    public: PublicApi,
    callers: Callers,
    front: Front,
    counting: Counting,
    sites: Sites,
) -> list[Coroutine[Any, Any, None]]:
    """Return the loops of all observers but those of the pages."""
    loops: dict[str, Callable[[], Awaitable[None]]] = {
        "slow_disk": store.journal.slow_disk.run,
        "disk_space": store.space.run,
        "loop_delay": life.lag.run,
        "timeline": timeline.run,
        "key_uses": public.uses.run,
        "refused_addresses": callers.refused.run,
        "review_counts": lambda: in_slices(store.ledger.state.listings.count_reviews()),
    }
    if front.access is not None:
        loops["access_log"] = front.access.run
    if counting.platform is not None and sites.platform is not None:
        loops["server_counts"] = partial(counting.platform.run, sites.platform.guild_count)
    return [observers.run(name, loop) for name, loop in loops.items()]
