"""The metrics part of the composition root: who counts, and where the numbers are served. No logic."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from socket import socket
from typing import Any

from core.clock import Clock
from gateway.delivery import Delivering
from gateway.endpoints import Life
from gateway.front import connection_limits
from gateway.membership import Membership
from gateway.store import Store
from handlers.debug_process import ProcessSources
from handlers.public import PublicApi
from handlers.route import Resource
from handlers.scrape import Scrape
from metrics.collectors import Bounds, Collectors, Sources
from metrics.scraping import Scraping
from serving.application import ApplicationPolicy, make_application
from serving.direct import Refusals
from serving.observers import Observers
from settings.model import MetricsSettings, ServerSettings, Settings
from votes.tally import VoteTally
from webhook.attempt_tally import AttemptTally, MessageTally
from wire.http_server import WireServer
from wire.listening import listen

CONNECTIONS = 32
"""Connections to the address of the metrics: some Prometheus servers, and a person or two."""
PATH, OPERATION = "/metrics", "readMetrics"


@dataclass(frozen=True)
class Tallies:
    """The readers of the log that count. `messages` is None where owners are sent none."""

    votes: VoteTally
    attempts: AttemptTally
    messages: MessageTally | None


@contextmanager
def open_metrics_address(own: MetricsSettings) -> Iterator[list[socket]]:
    """Listen at the metrics' own address, if there is one. Raises OSError for a taken address."""
    sockets = listen(own.address, own.port) if own.address is not None else []
    with ExitStack() as stack:
        for listening in sockets:
            stack.callback(listening.close)
        if sockets:
            import metrics.exposition  # noqa: F401 (whoever gives the metrics an address will ask soon)
        yield sockets


def scraping(
    settings: Settings,
    store: Store,
    clock: Clock,
    public: PublicApi,
    delivering: Delivering,
    tallies: Tallies,
    life: Life,
    fleet: Membership | None,
    process: ProcessSources,
    observers: Observers,
) -> Scrape:
    """Return the endpoint of a scrape."""
    bounds = Bounds(
        settings.journal.pending_bytes,
        settings.snapshot.interval_seconds,
        settings.webhooks.pending_in_all,
    )

    def of_fleet() -> Mapping[str, Any] | None:
        if fleet is None:
            return None
        node = fleet.node
        return {
            **node.standing(),
            "may_send_webhooks": node.may_send_webhooks(),
            "concerns": node.concerns(),
        }

    sources = Sources(
        clock=clock,
        ledger=store.ledger,
        traffic=life.traffic,
        limits=public.limits,
        votes=tallies.votes,
        journal=store.journal,
        snapshotter=store.snapshotter,
        outbox=delivering.outbox,
        attempts=tallies.attempts,
        messages=tallies.messages,
        suspensions=delivering.suspensions,
        lag=life.lag,
        bounds=bounds,
        space=store.space,
        observers=observers,
        readiness=process.readiness,
        connections=process.connections,
        concerns=process.concerns,
        fleet=of_fleet,
    )
    return Scrape(Scraping(Collectors(sources)).exposed)


def metrics_servers(
    sockets: Sequence[socket],
    server: ServerSettings,
    scrape: Scrape,
    edge: ApplicationPolicy,
    public: PublicApi,
) -> list[WireServer]:
    """Return the server of the metrics' own address, if there is one: plain HTTP, one path, and no token."""
    if not sockets:
        return []
    resource = Resource(PATH, {"GET": scrape.metrics}, names={"GET": OPERATION})
    refusals = Refusals(public, edge.traffic, edge.answered)
    limits = replace(connection_limits(server, CONNECTIONS), connections_per_address=CONNECTIONS)
    return [WireServer(make_application([resource], edge), limits, refusals)]
