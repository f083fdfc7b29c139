"""The addresses of a gateway, and the servers that read requests there. No logic."""

import logging
import resource
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from tornado.web import Application

from core.clock import Clock
from gateway.addresses import open_sockets
from gateway.api import Api
from gateway.store import Runtime, Store, operator_tokens, sealing_keys
from gateway.worker import Worker
from handlers.operator import Operator
from handlers.public import KIND, PublicApi
from handlers.route import Resource
from metrics.collectors import Scraping
from ratelimit.address import share_key
from serving.access_log import AccessLog
from serving.application import ApplicationPolicy, make_application
from serving.direct import Answered, DirectVoteCheck, Refusals
from serving.direct_pages import DirectPages
from serving.direct_posts import DirectPosts
from serving.kept_pages import KeptPages
from serving.log_output import LogOutput
from serving.supervisor import Supervisor
from settings.model import OperatorSettings, SealingSettings, ServerSettings, Settings
from snapshot.inspection import needed_keys
from storage.folder import FolderUnusable
from wire.http_server import BesideRoutes, WireServer
from wire.listening import Certificates, url_of
from wire.parser import ConnectionLimits

METRICS_CONNECTIONS = 32
"""Connections to the address of the metrics: some Prometheus servers, and a person or two."""
METRICS_PATH, METRICS_OPERATION = "/metrics", "readMetrics"
SPARE_DESCRIPTORS = 64  # for the disk, the look-ups and what Python opens itself
log = logging.getLogger("votegate")


@dataclass(frozen=True)
class Front:
    """The addresses of a gateway: its own, and that of the metrics if there is one. All sockets listen."""

    sockets: list[socket.socket]
    metrics_sockets: list[socket.socket]
    certificates: Certificates | None
    access: AccessLog | None
    watched: Answered | None = None
    """Takes each answer in the place of the access log."""

    @property
    def urls(self) -> list[str]:
        """The address of each socket; the first one is the one to show."""
        return [url_of(each, "http" if self.certificates is None else "https") for each in self.sockets]

    def reload(self) -> None:
        """Read the certificate again. An unusable one is logged, and the old one stays."""
        if self.certificates is None:
            return
        try:
            self.certificates.reload()
        except OSError as error:
            log.error("the certificate stays as it was: %s", error)
        else:
            log.info("the certificate was read again")

    @property
    def answered(self) -> Answered | None:
        return self.access.answered if self.access is not None else self.watched


@contextmanager
def open_front(settings: Settings, clock: Clock, output: LogOutput, worker: Worker | None) -> Iterator[Front]:
    """Listen, or take the sockets of a worker's supervisor. Raises OSError for a taken address or an unusable
    certificate, and names it."""
    server, tls = settings.server, settings.server.tls
    certificates = Certificates(tls.certificate, tls.key) if tls.certificate and tls.key else None
    access = AccessLog(clock, output, sample=server.access_log_sample) if server.access_log else None
    with ExitStack() as stack:
        sockets = worker.sockets if worker is not None else stack.enter_context(open_sockets(settings))
        if sockets.metrics:
            import metrics.exposition  # noqa: F401 (Prometheus will ask soon)
        yield Front(sockets.clients, sockets.metrics, certificates, access)


def http_server(
    runtime: Runtime, front: Front, application: Application, api: Api, posts: DirectPosts, kept: KeptPages
) -> WireServer:
    """Return the server. Its connections leave file descriptors for webhooks."""
    traffic = posts.policy.traffic
    server, webhooks = runtime.settings.server, runtime.settings.webhooks
    limits = connection_limits(server, _connections(server.connections, webhooks.in_flight))
    direct = DirectVoteCheck(api.public, runtime.clock, server.trusted_proxies, traffic, front.answered)
    api.callers.refused.direct_id = direct.latest_id
    certificates = front.certificates
    tls = (lambda: certificates.context) if certificates is not None else None
    refusals = Refusals(api.public, traffic, front.answered)
    is_offered = KIND in api.managed.kinds
    pages = DirectPages(
        *(kept, runtime.clock, server.trusted_proxies, front.answered, server.max_headers),
        is_https=posts.policy.is_https,
    )
    http = WireServer(
        *(application, limits, refusals, direct if is_offered else None, tls),
        counted_as=lambda peer: share_key(peer, server.trusted_proxies),
        beside=BesideRoutes(posts, pages),
    )
    http.turns = runtime.worker.balance if runtime.worker is not None else None
    return http


def metrics_servers(
    front: Front, server: ServerSettings, scrape: Scraping, edge: ApplicationPolicy, public: PublicApi
) -> list[WireServer]:
    """Return the server of the metrics' own address, if there is one: plain HTTP, one path, and no token."""
    if not front.metrics_sockets:
        return []
    resource = Resource(METRICS_PATH, {"GET": scrape.metrics}, names={"GET": METRICS_OPERATION})
    refusals = Refusals(public, edge.traffic, edge.answered)
    limits = connection_limits(server, METRICS_CONNECTIONS)
    limits = replace(limits, connections_per_address=METRICS_CONNECTIONS)
    return [WireServer(make_application([resource], edge), limits, refusals)]


def connection_limits(server: ServerSettings, connections: int) -> ConnectionLimits:
    return ConnectionLimits(
        connections=connections,
        header_bytes=server.max_header_bytes,
        headers=server.max_headers,
        header_seconds=server.header_seconds,
        body_seconds=server.body_seconds,
        idle_seconds=server.idle_seconds,
        write_seconds=server.write_seconds,
        connections_per_address=server.connections_per_address,
    )


def _connections(allowed: int, webhooks_in_flight: int) -> int:
    """Raise the soft limit of file descriptors; return how many connections are allowed and affordable."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    affordable = max(hard - webhooks_in_flight - SPARE_DESCRIPTORS, 1)
    if affordable < allowed:
        log.warning("server.connections is %d: there are %d file descriptors", affordable, hard)
    return min(allowed, affordable)


@dataclass(frozen=True)
class Reloading:
    """Files that SIGHUP reads again: the certificate, the operator's tokens, and the sealing keys. A file
    that cannot be used is logged, and the old one stays."""

    front: Front
    store: Store
    operator: Operator
    output: LogOutput
    supervisor: Supervisor
    spawn: Callable[[Coroutine[None, None, None]], object]

    def reload(self, settings: Settings | None) -> None:
        """Read everything again; without valid settings, the certificate alone."""
        with self.supervisor.reloading():
            self.front.reload()
            if settings is not None:
                self._reload_tokens(settings.operator)
                self._reload_keys(settings.sealing)

    def _reload_tokens(self, operator: OperatorSettings) -> None:
        try:
            tokens = operator_tokens(operator, self.store.folder)
        except (FolderUnusable, OSError) as error:
            log.error("the operator token stays as it was: %s", error)
            return
        for token in tokens:
            self.output.redactor.hide(token)
        self.operator.change_tokens(tokens)
        log.info("operator tokens that are accepted: %d", len(tokens))

    def _reload_keys(self, sealing: SealingSettings) -> None:
        folder = self.store.folder
        try:
            ring = sealing_keys(sealing, folder.path, needed=True)
            if self.store.snapshotter.lock.locked() and not set(folder.keys.key_ids) <= set(ring.key_ids):
                raise FolderUnusable(
                    "a snapshot may need a key that is missing; try again when it is written"
                )
            for key_id in (needed_keys(folder.path) | {folder.keys.newest}) - set(ring.key_ids):
                raise FolderUnusable(f"key {key_id.hex()} is missing, and files need it; put it back")
        except (FolderUnusable, OSError) as error:
            log.error("the sealing keys stay as they were: %s", error)
            return
        for key in ring.to_text().split():
            self.output.redactor.hide(key)
        is_rotated = ring.newest != folder.keys.newest
        folder.keys.become(ring)
        log.info("sealing keys: %d; new files use %s", len(ring.key_ids), ring.newest.hex())
        if is_rotated:
            self.store.journal.rotate()
            self.spawn(self.store.snapshotter.step())
