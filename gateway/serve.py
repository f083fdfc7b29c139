"""The composition root: recover, build, serve, drain. No logic.

Every background coroutine is a task of the one group in `serve`; when one fails, all stop. This module, its
parts (`store`, `front`, `delivery`, `fleet`) and `server.py` are the only ones that know the settings:
everything else is handed what it needs.
"""

import asyncio
import gc
import logging
import secrets
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass

from core.clock import Clock, moment
from core.ledger import Ledger
from core.rows import Policy
from core.state import State
from gateway.delivery import (
    outbox_policy,
    request_builder,
    retry_policy,
    target_guard,
    webhook_client,
    webhook_policy,
)
from gateway.front import http_server, open_front
from gateway.membership import Membership, open_fleet
from gateway.readers import Readers, subscribe
from gateway.store import Store, empty_state, held_folder, open_store
from guild_counts.counts import NoCounts, OperatorCounts, open_http_counts
from handlers.debug import Debug, DebugSources, Verification, refreshed_digest
from handlers.manage import ManageContext, Operator
from handlers.manage_webhooks import AttemptWatch
from handlers.public import GuildCounts, PublicApi, PublicLimits
from handlers.redaction import Redactor
from handlers.refused import RefusedAddresses
from handlers.routes import Route, debug_routes, manage_routes, open_routes, public_routes
from listings.keys import KeyDigester
from openapi.document import openapi_reply
from openapi.page import docs_reply
from outbound.local_addresses import LocalAddresses
from outbound.targets import TargetGuard
from ratelimit.bucket import Buckets
from ratelimit.limiter import FailureGuard
from ratelimit.shared import SharedBuckets
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.vitals import LoopLag, resident_bytes
from settings.model import Settings, StatsLimitSettings, VotersLimitSettings
from snapshot.recovery import recover
from storage.disk import OS_DISK, Disk
from votes.search import Searches
from webhook.dispatcher import Dispatcher
from webhook.outbox import Outbox
from webhook.suspension_log import SuspensionLog
from wire.server import WireServer

VERSION = "0.1.0"
SWITCH_SECONDS = 0.0005  # Python's default, ten times as much, is a stall that callers would notice
log = logging.getLogger("votegate")


Started = Callable[["Gateway"], Awaitable[None]]


@dataclass(frozen=True)
class Gateway:
    """A running gateway, as its starter sees it."""

    base_url: str
    clock: Clock
    ledger: Ledger
    dispatcher: Dispatcher
    digester: KeyDigester
    reload: Callable[[], None]
    """Reads the certificate anew."""


def tune_interpreter() -> None:
    """For a process that serves and does nothing else. Comes when the state has been recovered.

    A thread that seals or folds gives way to the loop at once, and no garbage collection ever again looks at
    what was recovered, because that stays.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    gc.collect()
    gc.freeze()


async def serve(
    settings: Settings,
    clock: Clock,
    stop: asyncio.Event,
    started: Started,
    disk: Disk = OS_DISK,
    redactor: Redactor | None = None,
) -> None:
    """Serves until `stop` is set, then drains. Calls `started` once requests are answered. `redactor` is told
    what no log may hold.

    Raises FolderUnusable and UNREADABLE when it cannot start, and an ExceptionGroup when a background task
    fails.
    """
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(held_folder(settings, disk))
        recovered = recover(folder, empty_state(settings))
        redactor = redactor if redactor is not None else Redactor()
        front = open_front(settings, clock, redactor)
        for socket in front.sockets:
            stack.callback(socket.close)
        store = open_store(settings, folder, recovered, clock)  # nothing that refuses a start comes behind it
        redactor.hide(store.operator_token)
        refused = RefusedAddresses(clock)
        failures = FailureGuard(settings.limits.failures, settings.limits.addresses_kept, refused.began)
        digester = KeyDigester(store.digest_secret.encode())
        operator = Operator(store.operator_token, failures, clock)
        local = stack.enter_context(closing(LocalAddresses()))
        guard = target_guard(settings, local, front.sockets)
        client = await stack.enter_async_context(
            webhook_client(settings, guard, clock, f"Votegate/{VERSION}")
        )
        counts = await _guild_counts(settings, store.ledger.state, clock, stack)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        lag, running = LoopLag(clock), RunningRequests()
        is_fleets = settings.redis.url is not None
        voters, searches = SharedBuckets() if is_fleets else None, Searches(store.ledger.state)
        public = _public_api(settings, clock, store.ledger, counts, digester, failures, voters)
        fleet = await stack.enter_async_context(
            open_fleet(settings, clock, folder, store, searches, tasks, voters)
        )
        retries = retry_policy(settings)
        outbox = Outbox(outbox_policy(settings), retries, store.ledger.state, moment(clock))
        dispatcher = Dispatcher(
            store.ledger,
            outbox,
            request_builder(settings, guard),
            client,
            retries,
            clock,
            lambda: store.journal.durable_position,
            tasks.create_task,
            fleet.node.may_send_webhooks if fleet is not None else lambda: True,
        )
        suspensions = SuspensionLog(store.ledger.state, outbox.suspended)
        watch = AttemptWatch()
        of_fleet = fleet.readers if fleet is not None else None
        subscribe(
            Readers(dispatcher, suspensions, searches, public, of_fleet, watch), store.ledger, store.journal
        )
        routes = _routes(
            settings,
            clock,
            store,
            public,
            counts,
            digester,
            operator,
            guard,
            outbox,
            lag,
            stop,
            searches,
            watch,
            fleet,
            lambda: http.tally(),
        )
        policy = ApplicationPolicy(
            settings.server.max_body_bytes, settings.server.trusted_proxies, running, front.answered
        )
        http = http_server(settings, clock, front, make_application(routes, policy), public)
        http.add_sockets(front.sockets)
        for running_on in (store.journal.run(), _dispatch(dispatcher, fleet, stop)):
            tasks.create_task(running_on)
        more = [front.access.run()] if front.access is not None else []
        more += [fleet.node.run()] if fleet is not None else []
        timers = [
            tasks.create_task(each) for each in (store.snapshotter.run(), lag.run(), refused.run(), *more)
        ]
        log.info("serving on %s, position %d", front.url, store.ledger.head)
        await started(Gateway(front.url, clock, store.ledger, dispatcher, digester, front.reload))
        await stop.wait()
        await _drain(settings, store, http, running, dispatcher, timers, fleet)
    log.info("stopped at position %d", store.ledger.head)


async def _dispatch(dispatcher: Dispatcher, fleet: Membership | None, stop: asyncio.Event) -> None:
    if fleet is not None:  # others may have sent what this node was to send
        await fleet.node.until_ready(stop)
        if stop.is_set():
            return
    await dispatcher.run()


async def _drain(
    settings: Settings,
    store: Store,
    http: WireServer,
    running: RunningRequests,
    dispatcher: Dispatcher,
    timers: list[asyncio.Task[None]],
    fleet: Membership | None,
) -> None:
    """Finishes what runs, within `server.drain_seconds`, then puts everything on disk."""
    log.info("stopping")
    await asyncio.sleep(settings.server.grace_seconds)
    http.stop()
    try:
        async with asyncio.timeout(settings.server.drain_seconds):
            await running.finished()  # first: a webhook test waits for its attempt
            dispatcher.stop()
            await dispatcher.idle()
            await running.finished()  # what came in over open connections meanwhile
            await http.finished()
    except TimeoutError:
        log.warning("stopping with %d requests, some webhooks or connections unfinished", running.count)
    dispatcher.stop()
    dispatcher.abandon()
    await http.close_all_connections()
    for timer in timers:
        timer.cancel()
    await asyncio.wait(timers)
    if fleet is not None:
        await fleet.node.leave()
    await store.snapshotter.step()
    await store.journal.close()


def _public_api(
    settings: Settings,
    clock: Clock,
    ledger: Ledger,
    counts: GuildCounts,
    digester: KeyDigester,
    failures: FailureGuard,
    voters: Buckets | None,
) -> PublicApi:
    limits = settings.limits
    return PublicApi(
        ledger,
        clock,
        digester,
        PublicLimits(
            failures,
            _policy(limits.stats),
            _policy(limits.voters),
            voters=Buckets() if voters is None else voters,
        ),
        counts,
        window_ms=round(settings.votes.window_seconds * 1_000),
        max_difference=settings.stats.max_difference,
        max_body_bytes=settings.server.max_body_bytes,
    )


def _policy(limit: StatsLimitSettings | VotersLimitSettings) -> Policy:
    return Policy(limit.requests, limit.window_seconds)


def _routes(
    settings: Settings,
    clock: Clock,
    store: Store,
    public: PublicApi,
    counts: GuildCounts,
    digester: KeyDigester,
    operator: Operator,
    guard: TargetGuard,
    outbox: Outbox,
    lag: LoopLag,
    stop: asyncio.Event,
    searches: Searches,
    watch: AttemptWatch,
    fleet: Membership | None,
    connections: Callable[[], dict[str, int]],
) -> list[Route]:
    """Every endpoint, with what it works on."""
    manage = ManageContext(
        store.ledger,
        clock,
        digester,
        new_id=lambda: secrets.token_hex(12),
        random=secrets.token_bytes,
        window_ms=round(settings.votes.window_seconds * 1_000),
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        keys_per_listing=settings.keys.per_listing,
        webhooks=webhook_policy(settings, guard, secrets.token_bytes),
        searches=searches,
        problems=public.problems,
        missing_count=counts.missing,
        claims=fleet.claims if fleet is not None else None,
        mark=fleet.digest_of if fleet is not None else lambda _: "",
    )
    sources = _debug_sources(store, outbox, lag, stop, fleet, connections)
    return [
        *public_routes(public),
        *open_routes(sources.readiness, openapi_reply(), docs_reply()),
        *manage_routes(manage, operator, watch, settings.webhooks.timeout_seconds + 1),
        *debug_routes(Debug(store.ledger, clock, public, public.limits, sources, VERSION), operator),
    ]


def _debug_sources(
    store: Store,
    outbox: Outbox,
    lag: LoopLag,
    stop: asyncio.Event,
    fleet: Membership | None,
    connections: Callable[[], dict[str, int]],
) -> DebugSources:
    def readiness() -> str | None:
        if stop.is_set():
            return "stopping"
        return None if store.journal.writable else "the journal does not take writes"

    async def verify() -> Verification:
        loop = asyncio.get_running_loop()
        async with store.snapshotter.lock:  # the disk's newest snapshot stays no newer than the head
            await refreshed_digest(store.ledger.state)
            position, digest = store.ledger.head, store.ledger.state.digest()
            await store.ledger.durable(position)
            folding = store.folding()
            with ThreadPoolExecutor(1, "verify") as thread:
                try:
                    folded = await loop.run_in_executor(thread, folding.run, store.fold_order(position))
                finally:
                    folding.stop()  # or nobody who waits for it any more would come away
        return Verification(position, digest, folded.digest, folded.problem)

    return DebugSources(
        durable_position=lambda: store.journal.durable_position,
        snapshot_position=lambda: store.snapshotter.position,
        webhooks_in_flight=lambda: outbox.in_flight,
        endpoints_suspended=lambda: len(outbox.suspended),
        proxy_down=lambda: outbox.stopped,
        readiness=readiness,
        take_snapshot=store.snapshotter.take,
        backup=store.snapshotter.backup,
        verify=verify,
        replication=fleet.node.view if fleet is not None else lambda: None,
        connections=connections,
        resident_bytes=resident_bytes,
        loop_lag_ms=lambda: {"last": lag.last_ms, "max": lag.max_ms},
    )


async def _guild_counts(settings: Settings, state: State, clock: Clock, stack: AsyncExitStack) -> GuildCounts:
    counts = settings.guild_counts
    if counts.source == "none":
        return NoCounts()
    if counts.source == "operator":
        return OperatorCounts(state)
    authorization = counts.authorization.get_secret_value() if counts.authorization else None
    source = open_http_counts(
        counts.url or "", authorization, counts.timeout_seconds, counts.cache_seconds, clock
    )
    return await stack.enter_async_context(source)
