#!/usr/bin/env python3
"""The command line and the composition root: settings, recover, build, serve, drain. No logic.

Every background coroutine is a task of the one group in `serve`; when one fails, all stop and the process
ends with 1. A stop on SIGTERM or SIGINT ends with 0 after everything is on disk.
"""

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from pydantic import SecretStr
from tornado.netutil import bind_sockets

from cli.admin import admin
from cli.demo import demo_lines, make_demo
from core.clock import Clock, SystemClock
from core.ledger import Ledger
from core.rows import Policy
from core.state import State
from guild_counts.sources import NoCounts, OperatorCounts, open_http_counts
from handlers.application import EdgePolicy, Running, make_application
from handlers.debug import Debug, DebugSources
from handlers.edge import EdgeServer
from handlers.manage import ManageContext, Operator
from handlers.manage_webhooks import AttemptWatch
from handlers.openapi import openapi_document
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
from snapshot.recovery import UnreadableRecord, recover
from snapshot.snapshotter import Snapshotter, remove_unfinished
from votes.table import VoteTable
from webhook.dispatcher import Dispatcher
from webhook.outbox import DeliveryPolicy, Outbox
from webhook.sender import open_sender

VERSION = "0.1.0"
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
    operator_token: str = field(repr=False)


async def serve(settings: Settings, clock: Clock, stop: asyncio.Event, started: Started) -> None:
    """Serves until `stop` is set, then drains. Calls `started` once requests are answered.

    Raises FolderUnusable, JournalCorrupt, UnreadableRecord and OSError when it cannot start, and an
    ExceptionGroup when a background task fails.
    """
    folder = settings.data_dir
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        stack.enter_context(locked(folder))
        remove_unfinished(folder)
        recovered = recover(folder, lambda: _empty_state(settings))
        state = recovered.state
        journal = Journal(folder, recovered.tail, _journal_policy(settings), clock)
        ledger = Ledger(state, journal, recovered.tail.head)
        snapshotter = Snapshotter(
            folder, ledger, journal, clock, settings.snapshot.interval_seconds, recovered.snapshot_position
        )
        sender = await stack.enter_async_context(
            open_sender(settings.webhooks.timeout_seconds, f"Votegate/{VERSION}")
        )
        counts = await _guild_counts(settings, state, clock, stack)
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        outbox = Outbox(_delivery_policy(settings))
        dispatcher = Dispatcher(
            ledger, outbox, sender, clock, lambda: journal.durable_position, tasks.create_task
        )
        journal.on_durable(dispatcher.wake)

        def readiness() -> str | None:
            if stop.is_set():
                return "stopping"
            return None if journal.writable else "the journal does not take writes"

        async def fold_digest(until: int) -> str:
            async with snapshotter.lock:
                folded = await asyncio.to_thread(recover, folder, lambda: _empty_state(settings), until)
            return folded.state.digest()

        digester = KeyDigester(_secret(settings.keys.digest_secret, folder, "key-digest.secret").encode())
        operator = Operator(_secret(settings.operator.token, folder, "operator.token"))
        limits, lag, watch = _public_limits(settings), LoopLag(clock), AttemptWatch()
        ledger.subscribe(watch.on_record)
        public = _public_api(settings, ledger, clock, digester, limits, counts)
        sources = DebugSources(
            durable_position=lambda: journal.durable_position,
            snapshot_position=lambda: snapshotter.position,
            webhooks_in_flight=lambda: outbox.in_flight,
            readiness=readiness,
            take_snapshot=snapshotter.take,
            fold_digest=fold_digest,
        )
        routes = [
            *public_routes(public),
            *open_routes(readiness, openapi_document()),
            *manage_routes(
                _manage_context(settings, ledger, clock, digester),
                operator,
                watch,
                settings.webhooks.timeout_seconds + 1,
            ),
            *debug_routes(Debug(ledger, clock, public, limits, lag, sources, VERSION), operator),
        ]
        running = Running()
        http = _http_server(settings, routes, running)
        sockets = bind_sockets(settings.server.port, settings.server.address)
        http.add_sockets(sockets)
        tasks.create_task(journal.run())
        tasks.create_task(dispatcher.run())
        timers = [tasks.create_task(snapshotter.run()), tasks.create_task(lag.run())]
        base_url = _base_url(sockets[0].getsockname())
        log.info("serving on %s, position %d", base_url, ledger.head)
        await started(Gateway(base_url, clock, ledger, dispatcher, digester, operator.token))
        await stop.wait()
        log.info("stopping")
        http.stop()
        try:
            async with asyncio.timeout(settings.server.drain_seconds):
                await running.finished()
                await dispatcher.drain()
        except TimeoutError:
            log.warning(
                "stopping with %d requests and %d webhooks unfinished", running.count, outbox.in_flight
            )
        await http.close_all_connections()
        for timer in timers:
            timer.cancel()
        await asyncio.wait(timers)
        await snapshotter.step()
        await journal.close()
    log.info("stopped at position %d", ledger.head)


def _empty_state(settings: Settings) -> State:
    return State(VoteTable(), settings.webhooks.deliveries_kept)


def _secret(given: SecretStr | None, folder: Path, name: str) -> str:
    if given is not None:
        return given.get_secret_value()
    return kept_secret(folder, name, lambda: secrets.token_urlsafe(32))


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


def _public_limits(settings: Settings) -> PublicLimits:
    limits = settings.limits
    return PublicLimits(
        guard=FailureGuard(limits.failures, limits.addresses_kept),
        stats_policy=Policy(limits.stats.requests, limits.stats.window_seconds),
        voters_policy=Policy(limits.voters.requests, limits.voters.window_seconds),
    )


def _public_api(
    settings: Settings,
    ledger: Ledger,
    clock: Clock,
    digester: KeyDigester,
    limits: PublicLimits,
    counts: GuildCounts,
) -> PublicApi:
    return PublicApi(
        ledger,
        clock,
        digester,
        limits,
        counts,
        window_ms=round(settings.votes.window_seconds * 1_000),
        max_difference=settings.stats.max_difference,
        max_body_bytes=settings.server.max_body_bytes,
    )


def _manage_context(settings: Settings, ledger: Ledger, clock: Clock, digester: KeyDigester) -> ManageContext:
    return ManageContext(
        ledger,
        clock,
        digester,
        new_id=lambda: secrets.token_hex(12),
        random=secrets.token_bytes,
        window_ms=round(settings.votes.window_seconds * 1_000),
        cooldown_ms=round(settings.votes.cooldown_seconds * 1_000),
        keys_per_listing=settings.keys.per_listing,
    )


def _http_server(settings: Settings, routes: Sequence[Route], running: Running) -> EdgeServer:
    server = settings.server
    policy = EdgePolicy(server.max_body_bytes, server.trusted_proxies, server.access_log, running)
    return EdgeServer(
        make_application(routes, policy),
        max_header_size=server.max_header_bytes,
        max_buffer_size=1 << 20,
        idle_connection_timeout=server.idle_seconds,
        body_timeout=server.body_seconds,
    )


def _base_url(bound: tuple[Any, ...]) -> str:
    """Where a client on this machine reaches the bound socket."""
    host, port = bound[0], bound[1]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (compared, not bound)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
    logging.getLogger("tornado.general").setLevel(logging.WARNING)
    try:
        asyncio.run(_serve_until_signal(settings, demo=demo))
    except (FolderUnusable, JournalCorrupt, UnreadableRecord, SnapshotCorrupt, OSError) as error:
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
