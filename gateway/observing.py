"""The observers of a gateway: concerns, the views of the operator, the metrics, and loops. No logic."""

from collections.abc import Awaitable, Callable
from functools import partial

from gateway.parts import Parts
from handlers.slices import in_slices
from metrics.collectors import Bounds, Collectors, Scraping, Sources
from metrics.of_workers import FAMILIES
from operators.all_workers import OVERVIEW, own_overview
from operators.gateway_parts import GatewayParts
from votes.numbers import USES
from watchers.concerns import ConcernSources, all_concerns
from watchers.security_log import SecurityBounds
from workers.siblings import Answers

Loops = dict[str, Callable[[], Awaitable[None]]]
"""Loops of observers, by name."""


def operator_parts(parts: Parts, connections: Callable[[], dict[str, int]]) -> GatewayParts:
    """Return what the operator and Prometheus look into.

    Args:
        connections: returns the connections of clients by their state.
    """
    api, measured, numbers = parts.api, parts.measured, _numbers(parts, connections)
    worker = parts.runtime.worker
    workers = worker.among if worker is not None else None
    return GatewayParts(
        tools=api.managed,
        numbers=numbers,
        started_ns=parts.runtime.clock.monotonic_ns(),
        fold=parts.store.fold,
        public=api.public,
        resident_bytes=measured.memory,
        timeline=measured.timeline,
        failing=measured.failing,
        tail=measured.tail,
        errors=measured.errors,
        scraping=Scraping(Collectors(numbers), workers),
        workers=workers,
    )


def answers(inside: GatewayParts) -> Answers:
    """Return the answers to the questions of other workers."""
    return {OVERVIEW: partial(own_overview, inside), FAMILIES: inside.scraping.own}


def _concerns(parts: Parts) -> ConcernSources:
    store, fleet, delivery, api = parts.store, parts.fleet, parts.delivery, parts.api
    journal, refused, worker = store.journal, api.callers.refused, parts.runtime.worker
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
        failing_observers=parts.runtime.observers.failing,
        missing_workers=worker.why_missing if worker is not None else tuple,
    )


def _numbers(parts: Parts, connections: Callable[[], dict[str, int]]) -> Sources:
    runtime, store, delivery, measured = parts.runtime, parts.store, parts.delivery, parts.measured
    settings, tools = runtime.settings, parts.api.managed
    return Sources(
        clock=runtime.clock,
        ledger=store.ledger,
        kinds=[*map(str, tools.kinds)],
        uses=[
            (str(kind), use) for kind in tools.kinds for use, part in USES.items() if tools.offers(kind, part)
        ],
        traffic=measured.traffic,
        pages=parts.kept,
        limits=parts.api.public.limits,
        votes=measured.votes,
        journal=store.journal,
        snapshotter=store.snapshotter,
        blobs=store.blobs,
        decoder=parts.api.decoder,
        outbox=delivery.outbox,
        attempts=measured.attempts,
        messages=measured.messages if delivery.direct_messages else None,
        mails=measured.messages if delivery.mails else None,
        suspensions=delivery.suspensions,
        lag=measured.lag,
        bounds=Bounds(
            settings.journal.pending_bytes,
            settings.snapshot.interval_seconds,
            settings.webhooks.pending_in_all,
        ),
        space=store.space,
        observers=runtime.observers,
        readiness=parts.api.readiness,
        connections=connections,
        concerns=partial(all_concerns, _concerns(parts)),
        fleet=parts.fleet.metered,
    )


async def _count_reviews(parts: Parts) -> None:
    await parts.sites.surveyed()  # the survey counts them, too
    await in_slices(parts.store.ledger.state.listings.count_reviews())


def loops(parts: Parts) -> Loops:
    """Return the loops of observers. `Sites.running` has those of pages."""
    store, api, measured = parts.store, parts.api, parts.measured
    found: Loops = {
        "slow_disk": store.journal.slow_disk.run,
        "disk_space": store.space.run,
        "loop_delay": measured.lag.run,
        "timeline": measured.timeline.run,
        "security_log": SecurityBounds(parts.runtime.clock).run,
        "review_counts": partial(_count_reviews, parts),
        "key_uses": api.public.uses.run,
        "refused_addresses": api.callers.refused.run,
    }
    if parts.fleet.node is not None:
        found["lost_values"] = api.lost_values.run
    if parts.front.access is not None:
        found["access_log"] = parts.front.access.run
    platform, counts = parts.egress.platform, parts.egress.asked_counts
    if counts is not None and platform is not None:
        found["server_counts"] = partial(counts.run, platform.guild_count)
    if parts.egress.invites is not None:
        from pages.rounds import InviteRechecks  # with the pages for people, which are there then

        rechecks = InviteRechecks(store.ledger, parts.runtime.clock, parts.egress.invites, parts.fleet.asks)
        found["due_invites"] = partial(rechecks.run, parts.runtime.stop)
        found["invite_answers"] = rechecks.answer
    return found
