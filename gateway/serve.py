"""The composition root: recover, build, serve, drain. No logic.

Every background coroutine is a task of the one group in `serve`. When one fails, all stop.

The lines with which a start says what it is name secrets and never show one. With the head of a line of text
they fit 80 columns, unless a path or a name is long.
"""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from actions.votes import CAST_VOTE, CHECK_VOTES
from core.clock import Clock
from core.ledger import Ledger
from core.version import VERSION
from gateway.api import all_endpoints, open_api
from gateway.delivery import Egress, delivering, open_egress
from gateway.fleet import Fleet
from gateway.front import Front, Reloading, http_server, metrics_servers, open_front
from gateway.garbage import freeze_grown, freeze_loaded, freeze_program
from gateway.observing import answers, loops, operator_parts
from gateway.parts import Parts, instruments
from gateway.readers import subscribe
from gateway.sites import sites_of
from gateway.store import Runtime, Store, empty_state, given_secrets, held_folder, open_store
from gateway.worker import Worker, accept_when_ready, read_by_all, worker_of
from handlers.public_files import public_files
from handlers.route import Resource, bound, of_kinds
from handlers.routes import ROUTES
from handlers.slices import in_slices
from kinds.kind import Kind
from listings.keys import KeyDigester
from listings.ownership import Ownership
from operators.gateway_parts import GatewayParts
from operators.operator_pages import OPERATOR_ROUTES
from operators.recent_errors import RecentErrors
from serving.application import ApplicationPolicy, RunningRequests, make_application
from serving.direct_posts import DirectPosts
from serving.kept_pages import KeptPages
from serving.log_output import LogOutput, standard_error
from serving.loop_share import LoopShare
from serving.observers import Observers
from serving.supervisor import Supervisor
from settings.model import RedisSettings, ServerSettings, Settings
from snapshot.recovery import no_garbage, recover
from storage.disk import OS_DISK, Disk
from storage.folder import DIGEST_SECRET, KEYS, OPERATOR_TOKEN
from votes.queries import Searches
from watchers.redaction import Redactor
from webhook.sender import Sender
from wire.http_server import WireServer
from wire.listening import url_of

if TYPE_CHECKING:
    from dev.watching import Watching

PAGES = ("/", "/docs", "/debug")
"""The pages for people, of which the log names those that there are."""
log = logging.getLogger("votegate")


def start_lines(
    settings: Settings,
    position: int,
    urls: Sequence[str],
    paths: Sequence[str],
    metrics_urls: Sequence[str] = (),
) -> list[str]:
    """Return the lines of a gateway that serves `paths` on `urls`, and the metrics alone on others."""
    pages = ", ".join(path for path in PAGES if path in paths)
    given = given_secrets(settings)
    places = {name: f"file {name}" if given[name] is None else "in the settings" for name in given}
    redirect_uri = settings.web.redirect_uri
    return [
        f"Votegate {VERSION} at position {position}",
        f"data folder: {settings.data_dir.absolute()}",
        f"operator token: {places[OPERATOR_TOKEN]}",
        f"sealing keys: {places[KEYS]}",
        f"digest secret: {places[DIGEST_SECRET]}",
        "keep copies of both apart from the data",
        f"fleet: {_fleet(settings.redis)}",
        f"pages: {pages}",
        *([f"redirect URI at the chat platform: {redirect_uri}"] if redirect_uri is not None else []),
        *(f"metrics on {url}/metrics" for url in metrics_urls),
        *(f"serving on {url}" for url in urls),
    ]


def warn_of_insecurity(settings: Settings) -> None:
    """Log a warning for what keeps the pages for people from being secure."""
    if settings.web.public_url is not None and settings.web.insecure_cookies:
        log.warning(
            "web.insecure_cookies is on: anybody on the network path can take over sign-ins of people"
        )


def _fleet(redis: RedisSettings) -> str:
    return "none" if redis.url is None else f"{redis.prefix}, as node {redis.node}"


SWITCH_SECONDS = 0.0005  # Python's default, ten times as much, is a stall that callers would notice


Started = Callable[["Gateway"], Awaitable[None]]


class Logs(NamedTuple):
    """The log's way out, which is told the secrets that no line may hold, and the lines that the operator is
    shown. The caller lets the log go there."""

    output: LogOutput
    errors: RecentErrors


def new_logs() -> Logs:
    """Return the log as text on standard error."""
    redactor = Redactor()
    return Logs(LogOutput("text", redactor, standard_error()), RecentErrors(redactor))


@dataclass(frozen=True)
class Gateway:
    """A running gateway, for the caller of `serve`."""

    base_url: str
    clock: Clock
    ledger: Ledger
    senders: Sequence[Sender[Any]]
    """The sender of webhooks, and those of direct messages and mails where the settings want them."""
    digester: KeyDigester
    reload: Callable[[Settings | None], None]
    """Reads the certificate again and, with valid settings, the operator's tokens and the sealing keys."""


def tune_interpreter() -> None:
    """Tune a process that does nothing but serve, before it recovers its state.

    A thread that seals or folds gives way to the loop at once. No garbage collection visits the state.
    """
    sys.setswitchinterval(SWITCH_SECONDS)
    freeze_program()


async def serve(
    settings: Settings,
    clock: Clock,
    stop: asyncio.Event,
    started: Started,
    disk: Disk = OS_DISK,
    logs: Logs | None = None,
    watching: "Watching | None" = None,
) -> None:
    """Serve until `stop` is set, then drain.

    Args:
        started: called once requests are answered.
        logs: by default, those of `new_logs`.
        watching: tells a developer of every request and delivery. Its clock is that of the machine, and
            `clock` may be ahead of it.

    Raises FolderUnusable and UNREADABLE if it cannot start, and an ExceptionGroup if a background task fails.
    """
    output, errors = logs or new_logs()
    tasks, worker = asyncio.TaskGroup(), worker_of(os.environ, settings, stop)
    settings = worker.settings if worker is not None else settings
    supervisor = Supervisor(os.environ, clock, worker.channel if worker is not None else None)
    observers = Observers(watching.machine if watching is not None else clock)
    runtime = Runtime(settings, clock, stop, observers, tasks.create_task, worker, watching)
    async with AsyncExitStack() as stack:
        # Whatever refuses a start does so here.
        folder = stack.enter_context(held_folder(settings.data_dir, settings.sealing, disk))
        with no_garbage():
            recovered = recover(folder, empty_state(settings.webhooks.deliveries_kept))
            freeze_loaded()
        front = stack.enter_context(open_front(settings, clock, output, worker))
        front = replace(front, watched=watching.answered) if watching is not None else front
        store = open_store(runtime.of_machine, folder, recovered)
        _hide_secrets(output.redactor, settings, store)

        own = [*front.sockets, *front.metrics_sockets]
        egress = await stack.enter_async_context(open_egress(runtime.of_machine, store.ledger.state, own))
        await stack.enter_async_context(tasks)  # they end before what they use is closed
        parts = await _built(runtime, front, store, egress, errors, stack)
        servers, paths, inside = _served(parts)
        _open(parts, servers)

        timers = [runtime.spawn(each) for each in _timers(parts, inside)]
        readiness = partial(_readiness, parts)
        reporting = runtime.observers.run("supervisor", partial(supervisor.run, readiness))
        supervising = runtime.spawn(reporting)
        _log_start(parts, paths)
        operator = parts.api.callers.operator
        reloading = Reloading(front, store, operator, output, supervisor, runtime.spawn)
        digester, senders = parts.api.callers.digester, parts.delivery.senders
        freeze_grown()
        await started(Gateway(front.urls[0], clock, store.ledger, senders, digester, reloading.reload))
        await stop.wait()

        log.info("stopping")
        supervisor.stopping()
        await _drain(parts, servers, timers)
        supervising.cancel()
    log.info("stopped at position %d", store.ledger.head)


def _hide_secrets(redactor: Redactor, settings: Settings, store: Store) -> None:
    platform, secrets, mail = settings.chat_platform, store.secrets, settings.mail.password
    given = [each.get_secret_value() for each in (platform.client_secret, platform.bot_token, mail) if each]
    for secret in (*secrets.operator_tokens, secrets.digest, *store.folder.keys.to_text().split(), *given):
        redactor.hide(secret)


async def _built(
    runtime: Runtime, front: Front, store: Store, egress: Egress, errors: RecentErrors, stack: AsyncExitStack
) -> Parts:
    """Build the other parts, and let them read the log."""
    searches = Searches(store.ledger.state)
    fleet = await stack.enter_async_context(_opened_fleet(runtime, store, searches))
    ownership = Ownership(store.ledger.state, runtime.settings.kinds.offered)
    store.blobs.owned = partial(_owned, ownership)
    delivery = delivering(runtime.of_machine, store, fleet, egress, ownership)
    api = stack.enter_context(open_api(runtime, store, fleet, egress, delivery, searches, ownership))
    sites = sites_of(runtime, store, fleet, api, egress)
    measured = instruments(runtime.of_machine, store, errors)
    kept = KeptPages(runtime.settings.server.kept_bytes, runtime.clock, measured.traffic)
    parts = Parts(runtime, front, store, egress, searches, fleet, delivery, api, sites, measured, kept)
    subscribe(parts)
    return parts


async def _owned(ownership: Ownership, user_id: str) -> Sequence[str]:
    """Return the listings of a user. The first call may have to look at all of them."""
    await in_slices(ownership.survey())
    return ownership.refs_of(user_id)


@asynccontextmanager
async def _opened_fleet(runtime: Runtime, store: Store, searches: Searches) -> AsyncIterator[Fleet]:
    """Join the fleet that the settings name, if they name one."""
    redis = runtime.settings.redis
    if redis.url is None or redis.node is None:
        yield Fleet(kinds=runtime.settings.kinds.offered)
        return
    from gateway.fleet_node import open_node  # with replication and Redis's client, a tenth of a start

    async with open_node(runtime, redis.node, store, searches) as fleet:
        yield fleet


def _served(parts: Parts) -> tuple[Sequence[WireServer], Sequence[str], GatewayParts]:
    """Return the servers, the main one first, the paths that they answer, and the operator's view."""
    runtime, front, fleet, api, measured = parts.runtime, parts.front, parts.fleet, parts.api, parts.measured
    settings, kinds, without = runtime.settings, api.managed.kinds, api.managed.without
    clock, watching = runtime.of_machine.clock, runtime.watching
    inside = operator_parts(parts, lambda: http.tally())
    worker = runtime.worker
    missing = (lambda: worker.missing) if worker is not None else tuple
    brand = parts.sites.drawing.brand if parts.sites.drawing is not None else None
    endpoints = all_endpoints(settings, api, parts.sites.is_signed_in, missing, brand)
    bound_routes = [
        *bound(of_kinds(ROUTES, kinds, without), endpoints, endpoints),
        *bound(of_kinds(OPERATOR_ROUTES, kinds, without), inside, endpoints),
    ]
    files = [public_files(parts.store.blobs)] if parts.sites.people is None else []
    resources = parts.kept.keeping([*bound_routes, *files, *parts.sites.resources(inside)])
    resources = fleet.refusing(resources)
    if fleet.readers is not None and fleet.readers.siblings is not None:
        resources = read_by_all(resources, fleet.readers.siblings, fleet.readers.outgoing)
    if watching is not None:
        resources = watching.watching(resources)
    edge = ApplicationPolicy(
        settings.server.max_body_bytes,
        settings.server.trusted_proxies,
        measured.running,
        LoopShare(clock.monotonic_ns),
        clock,
        measured.traffic,
        front.answered,
        is_https=(settings.web.public_url or "").startswith("https:"),
    )
    posts = DirectPosts(_of_votes(resources, kinds, has_pages=parts.sites.people is not None), edge)
    http = http_server(runtime, front, make_application(resources, edge), api, posts, parts.kept)
    fleet.switch_direct_route(http)
    if watching is not None:
        http.leave_to_application(is_left=True)  # it answers by the watched endpoints alone
    servers = [http, *metrics_servers(front, settings.server, inside.scraping, edge, api.public)]
    return servers, [each.path for each in resources], inside


def _of_votes(resources: Sequence[Resource], kinds: Sequence[Kind], *, has_pages: bool) -> list[Resource]:
    """Return the paths to which votes are posted."""
    paths = [CAST_VOTE.path, CHECK_VOTES.path]
    if has_pages:
        from pages.voting.vote_page import VOTE_PAGE

        paths.append(VOTE_PAGE.path)
    of_kinds = {path.replace("{kind}", str(kind)) for path in paths for kind in kinds}
    return [each for each in resources if each.path in of_kinds]


def _open(parts: Parts, servers: Sequence[WireServer]) -> None:
    """Answer requests and send webhooks. These tasks end with the drain, or with a failure."""
    runtime, front = parts.runtime, parts.front

    def accept() -> None:
        if not runtime.stop.is_set():
            for server, sockets in zip(servers, (front.sockets, front.metrics_sockets), strict=False):
                server.add_sockets(sockets)

    if runtime.worker is None:
        accept()
    else:
        for server in servers:
            server.begin()
        runtime.spawn(_accept_in_time(parts, runtime.worker, accept))
    runtime.spawn(parts.store.journal.run())
    for sender in parts.delivery.senders:
        runtime.spawn(_dispatch(sender, parts.fleet, runtime.stop))


async def _accept_in_time(parts: Parts, worker: Worker, accept: Callable[[], None]) -> None:
    """Accept connections once this worker knows what other nodes have done while it was away."""
    runtime = parts.runtime
    await parts.fleet.until_ready(runtime.stop)

    def is_waiting() -> bool:
        return parts.fleet.is_catching_up or parts.api.readiness() is not None

    await accept_when_ready(worker, is_waiting, runtime.clock, accept)


def _readiness(parts: Parts) -> str | None:
    """Return why this process takes no requests; None if it does."""
    worker, reason = parts.runtime.worker, parts.api.readiness()
    return reason if worker is None else worker.why_not_ready(reason)


def _timers(parts: Parts, inside: GatewayParts) -> list[Coroutine[Any, Any, None]]:
    """Return the loops that a stop cancels."""
    runtime, store, api = parts.runtime, parts.store, parts.api
    return [
        store.snapshotter.run(),
        store.blobs.run(),
        api.feed.run(runtime.stop),
        *([runtime.worker.siblings.run(answers(inside))] if runtime.worker is not None else []),
        *([parts.fleet.node.run()] if parts.fleet.node is not None else []),
        *parts.sites.running(runtime),
        *(runtime.observers.run(name, loop) for name, loop in loops(parts).items()),
    ]


def _log_start(parts: Parts, paths: Sequence[str]) -> None:
    front, settings, worker = parts.front, parts.runtime.settings, parts.runtime.worker
    if worker is not None:
        log.info("one of %d, at position %d", worker.workers, parts.store.ledger.head)
        if worker.number > 1:
            return
    metrics_urls = [url_of(each) for each in front.metrics_sockets]
    for line in start_lines(settings, parts.store.ledger.head, front.urls, paths, metrics_urls):
        log.info("%s", line)
    warn_of_insecurity(settings)


async def _dispatch(sender: Sender[Any], fleet: Fleet, stop: asyncio.Event) -> None:
    """Send webhooks or messages. A node of a fleet first hears which of them other nodes have sent for it."""
    await fleet.until_ready(stop)
    if fleet.node is not None and stop.is_set():
        return
    await sender.run()


async def _drain(parts: Parts, servers: Sequence[WireServer], timers: Sequence[asyncio.Task[None]]) -> None:
    """Finish what runs, end the loops, and bring everything to the disk."""
    await _finish(servers, parts.measured.running, parts.delivery.senders, parts.runtime.settings.server)
    for timer in timers:
        timer.cancel()
    await asyncio.wait(timers)
    await parts.runtime.observers.once("key_uses", parts.api.public.uses.step)
    await parts.fleet.leave()
    await parts.store.snapshotter.step()
    await parts.store.journal.close()


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
