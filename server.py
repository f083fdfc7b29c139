#!/usr/bin/env python3
"""The command line and the composition root: settings, recover, build, serve, drain. No logic.

Every background coroutine is a task of the one group in `serve`; when one fails, all stop and the process
ends with 1. A stop on SIGTERM or SIGINT ends with 0 after everything is on disk.
"""

import asyncio
import logging
import os
import resource
import secrets
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import click
from pydantic import SecretStr
from tornado.netutil import bind_sockets

from cli.admin import admin
from cli.demo import demo_lines, make_demo
from core.clock import Clock, SystemClock
from core.ledger import Ledger
from core.state import State
from guild_counts.sources import NoCounts, OperatorCounts, open_http_counts
from handlers.application import EdgePolicy, Running, make_application
from handlers.debug import Debug, DebugSources, Verification
from handlers.edge import EdgeServer, url_of
from handlers.manage import ManageContext, Operator
from handlers.manage_webhooks import AttemptWatch
from handlers.public import GuildCounts, PublicApi, PublicLimits
from handlers.routes import Route, debug_routes, manage_routes, open_routes, public_routes
from handlers.vitals import LoopLag
from journal.folder import FolderUnusable, kept_secret, locked
from journal.journal import Journal, JournalPolicy
from journal.segments import JournalCorrupt
from listings.keys import KEY_BYTES, KeyDigester, key_value
from ratelimit.limiter import FailureGuard
from settings import Settings, SettingsError, load_settings
from snapshot.files import SnapshotCorrupt
from snapshot.recovery import Recovered, UnreadableRecord, recover
from snapshot.snapshotter import Snapshotter, remove_unfinished
from votes.table import VoteTable
from webhook.dispatcher import Dispatcher
from webhook.outbox import DeliveryPolicy, Outbox
from webhook.sender import open_sender

VERSION = "0.1.0"
MIN_SECRET = 16  # characters
SPARE_DESCRIPTORS = 64  # for the disk, the look-ups and what Python opens itself
UNREADABLE = (JournalCorrupt, UnreadableRecord, SnapshotCorrupt, OSError)
log = logging.getLogger("votegate")


Started = Callable[["Gateway"], Awaitable[None]]


@dataclass(frozen=True)
class Store:
    """The state, and what keeps it on disk."""

    ledger: Ledger
    journal: Journal
    snapshotter: Snapshotter
    fold: Callable[[int | None], Recovered]
    """Folds the disk afresh, up to a position."""


@dataclass(frozen=True)
class Gateway:
    """A running gateway, as its starter sees it."""

    base_url: str
    clock: Clock
    ledger: Ledger
    dispatcher: Dispatcher
    digester: KeyDigester


async def serve(settings: Settings, clock: Clock, stop: asyncio.Event, started: Started) -> None:
    """Serves until `stop` is set, then drains. Calls `started` once requests are answered.

    Raises FolderUnusable and UNREADABLE when it cannot start, and an ExceptionGroup when a background task
    fails.
    """
    folder = settings.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        stack.enter_context(locked(folder))
        store = _open_store(settings, clock)
        digest_secret = _secret(
            settings.keys.digest_secret, folder, "key-digest.secret", needed=store.ledger.state.key_count > 0
        )
        digester = KeyDigester(digest_secret.encode())
        operator = Operator(_secret(settings.operator.token, folder, "operator.token"))
        sockets = _listen(settings.server.address, settings.server.port)
        sender = await stack.enter_async_context(
            open_sender(settings.webhooks.timeout_seconds, f"Votegate/{VERSION}")
        )
        counts = await _guild_counts(settings, store.ledger.state, clock, stack)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        outbox = Outbox(_delivery_policy(settings))
        dispatcher = Dispatcher(
            store.ledger, outbox, sender, clock, lambda: store.journal.durable_position, tasks.create_task
        )
        store.journal.on_durable(dispatcher.wake)
        lag, running = LoopLag(clock), Running()
        routes = _routes(settings, clock, store, counts, digester, operator, outbox, lag, stop)
        http = _http_server(settings, routes, running)
        http.add_sockets(sockets)
        tasks.create_task(store.journal.run())
        tasks.create_task(dispatcher.run())
        timers = [tasks.create_task(store.snapshotter.run()), tasks.create_task(lag.run())]
        log.info("serving on %s, position %d", url_of(sockets[0]), store.ledger.head)
        await started(Gateway(url_of(sockets[0]), clock, store.ledger, dispatcher, digester))
        await stop.wait()
        await _drain(settings, store, http, running, dispatcher, timers)
    log.info("stopped at position %d", store.ledger.head)


async def _drain(
    settings: Settings,
    store: Store,
    http: EdgeServer,
    running: Running,
    dispatcher: Dispatcher,
    timers: list[asyncio.Task[None]],
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
    except TimeoutError:
        log.warning("stopping with %d requests or some webhooks unfinished", running.count)
    dispatcher.stop()
    dispatcher.abandon()
    await http.close_all_connections()
    for timer in timers:
        timer.cancel()
    await asyncio.wait(timers)
    await store.snapshotter.step()
    await store.journal.close()


def _open_store(settings: Settings, clock: Clock) -> Store:
    folder = settings.data_dir

    def fold(until: int | None = None) -> Recovered:
        return recover(folder, lambda: State(VoteTable(), settings.webhooks.deliveries_kept), until)

    remove_unfinished(folder)
    recovered = fold()
    journal = Journal(folder, recovered.tail, _journal_policy(settings), clock)
    ledger = Ledger(recovered.state, journal, recovered.tail.head)
    snapshotter = Snapshotter(
        folder, ledger, journal, clock, settings.snapshot.interval_seconds, recovered.snapshot_position
    )
    return Store(ledger, journal, snapshotter, fold)


def _routes(
    settings: Settings,
    clock: Clock,
    store: Store,
    counts: GuildCounts,
    digester: KeyDigester,
    operator: Operator,
    outbox: Outbox,
    lag: LoopLag,
    stop: asyncio.Event,
) -> list[Route]:
    """Every endpoint, with what it works on."""
    guard = FailureGuard(settings.limits.failures, settings.limits.addresses_kept)
    limits = PublicLimits(guard, settings.limits.stats, settings.limits.voters)
    window_ms = round(settings.votes.window_seconds * 1_000)
    public = PublicApi(
        store.ledger,
        clock,
        digester,
        limits,
        counts,
        window_ms=window_ms,
        max_difference=settings.stats.max_difference,
        max_body_bytes=settings.server.max_body_bytes,
    )
    manage = ManageContext(
        store.ledger,
        clock,
        digester,
        new_id=lambda: secrets.token_hex(12),
        random=secrets.token_bytes,
        window_ms=window_ms,
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        keys_per_listing=settings.keys.per_listing,
    )
    sources = _debug_sources(store, outbox, stop)
    watch = AttemptWatch()
    store.ledger.subscribe(watch.on_record)
    return [
        *public_routes(public),
        *open_routes(sources.readiness),
        *manage_routes(manage, operator, watch, settings.webhooks.timeout_seconds + 1),
        *debug_routes(Debug(store.ledger, clock, public, limits, lag, sources, VERSION), operator),
    ]


def _debug_sources(store: Store, outbox: Outbox, stop: asyncio.Event) -> DebugSources:
    def readiness() -> str | None:
        if stop.is_set():
            return "stopping"
        return None if store.journal.writable else "the journal does not take writes"

    async def verify() -> Verification:
        async with (
            store.snapshotter.lock
        ):  # from here on the disk's newest snapshot is no newer than the head
            position, digest = store.ledger.head, store.ledger.state.digest()
            await store.ledger.durable(position)
            try:
                folded = await asyncio.to_thread(lambda: store.fold(position).state.digest())
            except UNREADABLE as error:
                return Verification(position, digest, None, str(error))
        return Verification(position, digest, folded, None)

    return DebugSources(
        durable_position=lambda: store.journal.durable_position,
        snapshot_position=lambda: store.snapshotter.position,
        webhooks_in_flight=lambda: outbox.in_flight,
        readiness=readiness,
        take_snapshot=store.snapshotter.take,
        verify=verify,
    )


def _secret(given: SecretStr | None, folder: Path, name: str, *, needed: bool = False) -> str:
    """The secret from the settings or the folder. One that is `needed` is not made anew."""
    if given is not None:
        return given.get_secret_value()
    if needed and not (folder / name).exists():
        raise FolderUnusable(f"{folder / name} is missing, and no API key works without it; restore it")
    secret = kept_secret(folder, name, lambda: secrets.token_urlsafe(32))
    if not MIN_SECRET <= len(secret) <= blake2b.MAX_KEY_SIZE:
        raise FolderUnusable(f"{folder / name} is damaged: its length is {len(secret)}; restore it")
    return secret


def _journal_policy(settings: Settings) -> JournalPolicy:
    journal = settings.journal
    return JournalPolicy(
        journal.fsync, journal.fsync_interval_seconds, journal.segment_bytes, journal.pending_bytes
    )


def _delivery_policy(settings: Settings) -> DeliveryPolicy:
    webhooks = settings.webhooks
    return DeliveryPolicy(
        webhooks.retries,
        round(webhooks.retry_delay_seconds * 1_000),
        webhooks.in_flight,
        webhooks.in_flight_per_endpoint,
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


def _listen(address: str, port: int) -> list[socket.socket]:
    try:
        return bind_sockets(port, address)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "this is no address"
        raise OSError(getattr(error, "errno", 0), f"cannot listen on {address} port {port}: {why}") from None


def _connections(settings: Settings) -> int:
    """As many as the settings allow and the process has file descriptors for; its soft limit is raised."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    affordable = max(hard - settings.webhooks.in_flight - SPARE_DESCRIPTORS, 1)
    if affordable < settings.server.connections:
        log.warning("server.connections is %d: there are %d file descriptors", affordable, hard)
    return min(settings.server.connections, affordable)


def _http_server(settings: Settings, routes: Sequence[Route], running: Running) -> EdgeServer:
    server = settings.server
    policy = EdgePolicy(server.max_body_bytes, server.trusted_proxies, server.access_log, running)
    http = EdgeServer(
        make_application(routes, policy),
        max_header_size=server.max_header_bytes,
        max_buffer_size=1 << 20,
        idle_connection_timeout=server.idle_seconds,
        body_timeout=server.body_seconds,
    )
    http.limit_connections(_connections(settings))
    return http


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Votegate, the API gateway of a bot-listing platform."""


def settings_options(command: Callable[..., None]) -> Callable[..., None]:
    """The sources of settings, as options: a file, and flags for the common settings."""
    for option in (
        click.option("--data-dir", type=click.Path(path_type=Path), help="data_dir"),
        click.option("--port", type=int, help="server.port"),
        click.option("--address", help="server.address"),
        click.option("--config", type=click.Path(path_type=Path), help="YAML file; see config.yaml"),
    ):
        command = option(command)
    return command


def _settings(config: Path | None, address: str | None, port: int | None, data_dir: Path | None) -> Settings:
    flags = {"server.address": address, "server.port": port, "data_dir": data_dir}
    try:
        return load_settings(config, os.environ, flags)
    except SettingsError as error:
        click.echo(f"The settings are not valid:\n{error}", err=True)
        raise SystemExit(2) from None


@cli.command("serve")
@settings_options
@click.option("--demo", is_flag=True, help="On an empty data folder, make a listing to try things on.")
def serve_command(
    config: Path | None, address: str | None, port: int | None, data_dir: Path | None, demo: bool
) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs and save everything."""
    settings = _settings(config, address, port, data_dir)
    logging.basicConfig(
        level=settings.log.level, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # Its INFO lines quote malformed requests, and a malformed request may hold a key.
    logging.getLogger("tornado.general").setLevel(max(logging.WARNING, logging.getLogger().level))
    try:
        asyncio.run(_serve_until_signal(settings, demo=demo))
    except (FolderUnusable, *UNREADABLE) as error:
        click.echo(f"votegate cannot serve: {error}", err=True)
        raise SystemExit(1) from None
    except ExceptionGroup as group:
        log.critical("stopped by a failure", exc_info=group)
        raise SystemExit(1) from None


async def _serve_until_signal(settings: Settings, *, demo: bool) -> None:
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)

    async def started(gateway: Gateway) -> None:
        if demo and gateway.ledger.head == 0:
            key = key_value(secrets.token_bytes(KEY_BYTES))
            position = make_demo(
                gateway.ledger,
                gateway.digester,
                key=key,
                key_id=secrets.token_hex(12),
                now_ms=gateway.clock.now_ms(),
            )
            await gateway.ledger.durable(position)
            click.echo(demo_lines(gateway.base_url, key))

    await serve(settings, SystemClock(), stop, started)


@cli.command("check-config")
@settings_options
def check_config(config: Path | None, address: str | None, port: int | None, data_dir: Path | None) -> None:
    """Tell whether the settings are valid, naming every mistake."""
    _settings(config, address, port, data_dir)
    click.echo("The settings are valid.")


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(VERSION)


cli.add_command(admin)

if __name__ == "__main__":
    cli()
