"""The composition root: recover, build, serve, drain. No logic.

Every background coroutine is a task of the one group in `serve`. When one fails, all stop.
"""

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from secrets import token_bytes
from typing import Any

from core.clock import Clock
from core.ledger import Ledger
from gateway.cut_off import leave_to_application_while_cut_off, refused_while_cut_off
from gateway.delivery import USER_AGENT, delivering, open_egress, webhook_policy
from gateway.endpoints import (
    Life,
    Managed,
    Watched,
    all_endpoints,
    debug_endpoints,
    endpoint_policy,
    gauges,
    known_callers,
    open_guild_counts,
    people_rules,
    process_sources,
    public_api,
    vote_feed,
)
from gateway.front import http_server, open_front
from gateway.membership import Membership, fleet_terms
from gateway.metering import Tallies, metrics_servers, open_metrics_address, scraping
from gateway.observing import concern_list, process_loops, request_loops
from gateway.readers import Readers, subscribe
from gateway.reloading import Reloading
from gateway.sites import open_sites
from gateway.start_lines import start_lines, warn_of_insecurity
from gateway.store import empty_state, held_folder, open_secrets, open_store
from handlers.failing_endpoints import FailingEndpoints
from handlers.journal_tail import JournalTail
from handlers.manage_webhooks import AttemptWatch
from handlers.recent_errors import RecentErrors
from handlers.redaction import Redactor
from handlers.route import PAGE, bound
from handlers.routes import ROUTES
from handlers.vote_feed import TAGS as VOTE_TAGS
from journal.reading_on import JournalPages
from listings.keys import KeyDigester
from listings.ownership import Ownership
from ratelimit.bucket import Buckets
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.log_output import LogOutput, standard_error
from serving.loop_share import LoopShare
from serving.observers import Observers
from serving.supervisor import Supervisor
from serving.timeline import Timeline
from serving.traffic import Traffic
from serving.vitals import LoopLag, resident_bytes
from settings.model import ServerSettings, Settings
from snapshot.recovery import recover
from storage.disk import OS_DISK, Disk
from votes.search import Searches
from votes.tally import VoteTally
from webhook.attempt_tally import AttemptTally, MessageTally
from webhook.sender import Sender
from wire.http_server import WireServer
from wire.listening import url_of

SWITCH_SECONDS = 0.0005  # Python's default, ten times as much, is a stall that callers would notice
log = logging.getLogger("votegate")


Started = Callable[["Gateway"], Awaitable[None]]


@dataclass(frozen=True)
class Gateway:
    """A running gateway, for the caller of `serve`."""

    base_url: str
    clock: Clock
    ledger: Ledger
    senders: Sequence[Sender[Any]]
    """The sender of webhooks, and those of direct messages where there is a bot token."""
    digester: KeyDigester
    reload: Callable[[Settings | None], None]
    """Reads the certificate again and, with valid settings, the operator's tokens and the sealing keys."""


def tune_interpreter() -> None:
    """Tune a process that does nothing but serve, once the state is recovered.

    A thread that seals or folds gives way to the loop at once. No garbage collection looks at the recovered
    state again, because it stays.
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
    output: LogOutput | None = None,
    errors: RecentErrors | None = None,
) -> None:
    """Serve until `stop` is set, then drain.

    Args:
        started: called once requests are answered.
        output: the log's way out; it is told the secrets that no line may hold. By default, text on
            standard error.
        errors: the lines that the operator is shown. The caller lets the log go there.

    Raises FolderUnusable and UNREADABLE if it cannot start, and an ExceptionGroup if a background task fails.
    """
    output = output or LogOutput("text", Redactor(), standard_error())
    errors = errors or RecentErrors(output.redactor)
    supervisor = Supervisor(os.environ, clock)
    async with AsyncExitStack() as stack:
        # Recover. Whatever refuses a start does so here.
        folder = stack.enter_context(held_folder(settings.data_dir, settings.sealing, disk))
        recovered = recover(folder, empty_state(settings.webhooks.deliveries_kept))
        front = stack.enter_context(open_front(settings.server, settings.chat_platform, clock, output))
        metrics_sockets = stack.enter_context(open_metrics_address(settings.metrics))
        secrets = open_secrets(settings.keys, settings.operator, folder, recovered)
        store = open_store(
            settings.journal,
            settings.snapshot,
            folder,
            recovered,
            clock,
            deliveries_kept=settings.webhooks.deliveries_kept,
            joins_fleet=settings.redis.url is not None,
        )
        platform = settings.chat_platform
        given = [each.get_secret_value() for each in (platform.client_secret, platform.bot_token) if each]
        for secret in (*secrets.operator_tokens, secrets.digest, *folder.keys.to_text().split(), *given):
            output.redactor.hide(secret)

        # Build, from the ways out to the ways in. Tasks end before what they use is closed.
        observers = Observers(clock)
        state = store.ledger.state
        callers = known_callers(settings.limits, secrets, clock, observers)
        egress = await stack.enter_async_context(
            open_egress(settings.webhooks, [*front.sockets, *metrics_sockets], clock, USER_AGENT)
        )
        counts = open_guild_counts(settings.counts_source, settings.guild_counts, state, clock)
        counting = await stack.enter_async_context(counts)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        searches, watch = Searches(state), AttemptWatch()
        failing, tail = FailingEndpoints(state), JournalTail(clock)
        votes, attempts, messages = VoteTally(), AttemptTally(), MessageTally()
        redis, fleet = settings.redis, None
        if redis.url is not None and redis.node is not None:
            from gateway.fleet_node import open_node  # see membership.py

            terms, spawn = fleet_terms(settings), tasks.create_task
            fleet = await stack.enter_async_context(
                open_node(redis, redis.node, terms, store, secrets, clock, searches, spawn)
            )
        may_send = fleet.node.may_send_webhooks if fleet is not None else lambda: True
        delivery = delivering(settings.webhooks, egress, store, clock, tasks.create_task, may_send)
        policy = endpoint_policy(settings)
        voters = fleet.voters if fleet is not None else Buckets()
        public = public_api(policy, store, clock, callers, counting.source, voters)
        people = people_rules(settings.web, state)

        ownership = Ownership(state)
        sites = await stack.enter_async_context(
            open_sites(settings, store.ledger, clock, callers, people, ownership, fleet)
        )
        pages = stack.enter_context(JournalPages(folder, store.journal, VOTE_TAGS))
        feed = vote_feed(store, pages, settings.votes.feed_streams)
        messaging = None
        if sites.platform is not None and platform.bot_token is not None:
            from gateway.messaging import Sending, direct_messages

            may_remind = fleet.node.may_send_reminders if fleet is not None else lambda: True
            sending = Sending(store, clock, tasks.create_task, may_send, may_remind)
            messaging = direct_messages(
                sites.platform, settings.web, settings.webhooks, policy.cooldown_ms, sending
            )

        # Connect.
        readers = Readers(
            delivery.notifier,
            delivery.suspensions,
            messaging.notifiers if messaging is not None else (),
            searches,
            public,
            fleet.readers if fleet is not None else None,
            failing,
            ownership,
            tail,
            votes,
            attempts,
            messages,
            sites.readers,
            watch,
            feed,
            counting.platform,
        )
        subscribe(readers, store.ledger, store.journal, observers)
        traffic = Traffic([*(route.name for route in ROUTES), PAGE])
        life = Life(stop, RunningRequests(), traffic, LoopLag(clock))
        memory = observers.calling("memory", resident_bytes)
        concerns = concern_list(store, delivery, life, fleet, callers.refused, observers)
        process = process_sources(store, delivery, life, fleet, lambda: http.tally(), memory, concerns)
        timeline = Timeline(clock, traffic, life.lag, gauges(store, votes, memory))
        watched = Watched(failing, tail, errors, timeline)
        debug = debug_endpoints(policy, store, clock, public, people, delivery, process, life, watched)
        scrape = scraping(
            settings,
            store,
            clock,
            public,
            delivery,
            Tallies(votes, attempts, messages if messaging is not None else None),
            life,
            fleet,
            process,
            observers,
        )
        webhooks = webhook_policy(settings.webhooks, egress.requests, token_bytes)
        tells = messaging is not None
        managed = Managed(
            people, webhooks, searches, ownership, counting.source, fleet, watch, feed, tells_owners=tells
        )
        ready, is_signed_in = process.readiness, sites.is_signed_in
        endpoints = all_endpoints(
            policy, store, clock, callers, public, managed, debug, scrape, ready, is_signed_in
        )
        resources = refused_while_cut_off(fleet, [*bound(ROUTES, endpoints), *sites.resources(endpoints)])
        edge = ApplicationPolicy(
            policy.max_body_bytes,
            settings.server.trusted_proxies,
            life.running,
            LoopShare(clock.monotonic_ns),
            clock,
            traffic,
            front.answered,
            is_https=(settings.web.public_url or "").startswith("https:"),
        )
        application = make_application(resources, edge)
        in_flight = settings.webhooks.in_flight
        http = http_server(
            settings.server, clock, front, application, public, traffic, callers.refused, in_flight
        )

        leave_to_application_while_cut_off(fleet, http)
        servers = [http, *metrics_servers(metrics_sockets, settings.server, scrape, edge, public)]

        # Serve.
        for server, sockets in zip(servers, (front.sockets, metrics_sockets), strict=False):
            server.add_sockets(sockets)
        senders = [delivery.sender, *(messaging.senders if messaging is not None else ())]
        for working in (store.journal.run(), *(_dispatch(sender, fleet, stop) for sender in senders)):
            tasks.create_task(working)
        more = [fleet.node.run()] if fleet is not None else []
        more += sites.running(stop, observers)
        observing = process_loops(clock, store, life, timeline)
        observing |= request_loops(public, callers, front, counting, sites)
        more += [observers.run(name, loop) for name, loop in observing.items()]
        timers = [tasks.create_task(each) for each in (store.snapshotter.run(), feed.run(stop), *more)]
        reporting = observers.run("supervisor", partial(supervisor.run, process.readiness))
        supervising = tasks.create_task(reporting)
        paths, metrics_urls = [each.path for each in resources], [url_of(each) for each in metrics_sockets]
        for line in start_lines(settings, store.ledger.head, front.urls, paths, metrics_urls):
            log.info("%s", line)
        warn_of_insecurity(settings)
        await started(
            Gateway(
                front.urls[0],
                clock,
                store.ledger,
                senders,
                callers.digester,
                Reloading(front, store, callers.operator, output, supervisor, tasks.create_task).reload,
            )
        )
        await stop.wait()

        # Drain.
        log.info("stopping")
        supervisor.stopping()
        await _finish(servers, life.running, senders, settings.server)
        for timer in timers:
            timer.cancel()
        await asyncio.wait(timers)
        await observers.once("key_uses", public.uses.step)
        if fleet is not None:
            await fleet.node.leave()
        await store.snapshotter.step()
        await store.journal.close()
        supervising.cancel()
    log.info("stopped at position %d", store.ledger.head)


async def _dispatch(sender: Sender[Any], fleet: Membership | None, stop: asyncio.Event) -> None:
    """Send webhooks or messages. A node of a fleet first hears which of them other nodes have sent for it."""
    if fleet is not None:
        await fleet.node.until_ready(stop)
        if stop.is_set():
            return
    await sender.run()


async def _finish(
    servers: Sequence[WireServer],
    running: RunningRequests,
    senders: Sequence[Sender[Any]],
    seconds: ServerSettings,
) -> None:
    """Tell clients of the stop for `grace_seconds`. Then accept nothing more, wait up to `drain_seconds` for
    all that runs, and cut off the rest."""
    for server in servers:
        server.end_soon()
    await asyncio.sleep(seconds.grace_seconds)
    for server in servers:
        server.stop()
    try:
        async with asyncio.timeout(seconds.drain_seconds):
            await running.finished()  # first: a webhook test waits for its attempt
            for sender in senders:
                sender.stop()
            for sender in senders:
                await sender.idle()
            await running.finished()  # what came in over open connections meanwhile
            for server in servers:
                await server.finished()
    except TimeoutError:
        log.warning("stopping with %d requests, some webhooks or connections unfinished", running.count)
    for sender in senders:
        sender.stop()
        sender.abandon()
    for server in servers:
        await server.close_all_connections()
