"""All numbers of a gateway, as families, and one scrape of them. Invariant: a number is read where it is
kept.

The event loop copies the numbers, and a thread makes their text, one scrape at a time. The text of a few
thousand samples takes some ten milliseconds, and the first scrape imports the library. The format is one that
the request accepts, else plain text: every Prometheus since 2.5 asks for OpenMetrics, and a person with a
browser gets text.
"""

import asyncio
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from blobs.blob_store import Blobs
from core import version
from core.clock import Clock
from core.ledger import Ledger
from decoder.decoder import Decoder
from handlers.public import PublicLimits
from handlers.reply import Reply
from handlers.request import Request
from journal.journal import Journal
from metrics.families import Family, LabelValues, counter, gauge, histogram, info, states
from metrics.of_workers import FAMILIES, WORKER, decoded, encoded, of_all
from serving.direct import VOTE_CHECK
from serving.kept_pages import KeptPages
from serving.observers import Observers
from serving.timeline import LoopLag
from serving.traffic import REFUSED, Look, Series, Traffic
from snapshot.snapshotter import Snapshotter
from storage.disk import DiskSpace
from votes.numbers import UseTally
from watchers.concerns import TOPICS, Concern
from webhook.attempt_tally import AttemptTally, MessageTally
from webhook.outbox import Outbox
from webhook.suspension_log import SuspensionLog
from workers.siblings import AmongWorkers

STATS_UPDATE = "updateStats"
"""The operation's id of the stats update."""
NODES = 64
"""The nodes of a fleet that have series of their own; the slowest of all others stands for them."""
OTHER_NODES = "(others)"  # no node can have this name
LOOPS = ("registry", "publishing", "following", "usage")
Part = Callable[[], Iterator[Family]]


@dataclass(frozen=True)
class Bounds:
    """The settings that numbers are judged by."""

    journal_pending_bytes: int
    snapshot_interval_seconds: float
    webhooks_pending: int


@dataclass(frozen=True)
class Sources:
    """The parts of a gateway that keep numbers.

    Args:
        kinds: the names of the kinds of listings that it offers.
        uses: what users may do with listings, by the names of the kinds.
        messages: counts direct messages; None where none are sent.
        mails: counts mails; None where none are sent.
        readiness: returns the reason why the gateway is not ready; None if it is.
        connections: returns the connections of clients: `open`, `refused` and `closed_for_others`.
        fleet: returns the node as `Fleet.metered` describes it; None outside of a fleet.
    """

    clock: Clock
    ledger: Ledger
    kinds: Collection[str]
    uses: Collection[tuple[str, str]]
    traffic: Traffic
    pages: KeptPages
    limits: PublicLimits
    votes: UseTally
    journal: Journal
    snapshotter: Snapshotter
    blobs: Blobs
    decoder: Decoder
    outbox: Outbox
    attempts: AttemptTally
    messages: MessageTally | None
    mails: MessageTally | None
    suspensions: SuspensionLog
    lag: LoopLag
    bounds: Bounds
    space: DiskSpace
    observers: Observers
    readiness: Callable[[], str | None]
    connections: Callable[[], Mapping[str, int]]
    fleet: Callable[[], Mapping[str, Any] | None]
    concerns: Callable[[], tuple[Concern, ...]]


class Collectors:
    """All numbers of a gateway, as families. Invariant: a number is read where it is kept.

    Rates, ages that grow, shares and maxima over time are left to Prometheus: they follow from these.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._copied = sources.observers.calling("metrics", _copied)
        self._started_ms = sources.clock.now_ms()
        build = version.build()
        self._build = {
            "version": version.VERSION,
            "api_version": version.API_VERSION,
            "commit": build.commit if build is not None else "",
            "python": ".".join(map(str, sys.version_info[:3])),
        }

    def __call__(self) -> list[Family]:
        """Copy all numbers, as of this moment. A part that fails is left out."""
        look = self._sources.traffic.look(self._sources.clock.monotonic_ns())
        parts: tuple[Part, ...] = (
            self._of_process,
            lambda: _of_requests(look),
            self._of_pages,
            lambda: self._of_limits(look),
            self._of_votes,
            self._of_journal,
            self._of_disk,
            self._of_snapshots,
            self._of_files,
            self._of_webhooks,
            self._of_messages,
            self._of_mails,
            lambda: _of_fleet(self._sources.fleet()),
            self._of_observers,
            self._of_concerns,
        )
        return [family for part in parts for family in self._copied(part) or ()]

    def _of_process(self) -> Iterator[Family]:
        sources = self._sources
        yield info(
            "build",
            "1 for the running program, with its version and commit; the commit is empty if this is no "
            "build.",
            self._build,
        )
        yield gauge(
            "ready", "1 while the gateway takes requests, as /readyz tells.", sources.readiness() is None
        )
        yield histogram(
            "event_loop_delay_seconds",
            "Delay of the event loop, measured four times a second.",
            sources.lag.delays.look(),
        )
        yield gauge(
            "event_loop_delay_max_seconds",
            "The longest delay of the event loop in the last minute.",
            sources.lag.max_ms / 1_000,
        )
        connections = sources.connections()
        yield gauge("connections", "Connections of clients that are open.", connections["open"])
        yield counter(
            "connections_ended",
            "Client connections that were refused when they came, or closed while idle to make room "
            "for others.",
            {(why,): connections[why] for why in ("refused", "closed_for_others")},
            ("reason",),
        )

    def _of_pages(self) -> Iterator[Family]:
        pages = self._sources.pages
        yield gauge(
            "kept_pages", "Answers for visitors without a session that are kept in memory.", len(pages)
        )
        yield gauge("kept_pages_bytes", "Size of the kept answers.", pages.size)
        yield gauge(
            "kept_pages_limit_bytes",
            "Limit of the size of the kept answers; above it, some are dropped.",
            pages.room,
        )
        yield counter(
            "kept_pages_requests",
            "Requests for answers that may be kept: `kept` if the answer came from memory, `made` if it was "
            "made for the request.",
            {(outcome,): number for outcome, number in pages.requests.items()},
            ("outcome",),
        )
        yield counter(
            "kept_pages_dropped",
            "Kept answers that were dropped: after an `event` about their content, or to make `room`.",
            {(reason,): number for reason, number in pages.dropped.items()},
            ("reason",),
        )

    def _of_limits(self, look: Look) -> Iterator[Family]:
        limits = self._sources.limits
        yield counter(
            "limiter_decisions",
            "Decisions of the rate limits. For limits of bots (stats, voters): a request that took a "
            "token and kept it, or was refused. For the limit of addresses (failures): a failure that "
            "was counted, or a refusal.",
            {
                ("stats", "allowed"): look.by_series[Series(STATS_UPDATE, "2xx")].count,
                ("stats", "refused"): limits.stats.refused,
                ("voters", "allowed"): look.by_series[Series(VOTE_CHECK, "2xx")].count,
                ("voters", "refused"): limits.voters.refused,
                ("failures", "counted"): limits.guard.failures,
                ("failures", "refused"): limits.guard.refused,
            },
            ("limit", "outcome"),
        )
        yield gauge(
            "limiter_keys",
            "Bots and addresses that the limits count.",
            {
                ("stats",): len(limits.stats),
                ("voters",): len(limits.voters),
                ("failures",): len(limits.guard),
            },
            ("limit",),
        )

    def _of_votes(self) -> Iterator[Family]:
        state, votes = self._sources.ledger.state, self._sources.votes
        yield counter(
            "votes_cast",
            "Votes and likes that were given at this gateway, or at another node and merged here one by one.",
            {("here",): votes.here, ("elsewhere",): votes.elsewhere},
            ("place",),
        )
        yield counter(
            "listing_uses",
            "Votes, likes, downloads and reviews of users at this gateway, by the kind of the listing. A "
            "visitor's downloads of a listing count once a day.",
            {use: votes.uses[use] for use in self._sources.uses},
            ("kind", "use"),
        )
        yield gauge("votes", "Users' votes that are known, one for each user and listing.", len(state.votes))
        listings = {  # at a start they are still being counted
            place: number
            for place, number in (state.listings.by_review or {}).items()
            if place[0] in self._sources.kinds
        }
        changes: dict[LabelValues, float] = {
            (kind,): number for (kind, standing), number in listings.items() if standing == "changed"
        }
        samples: dict[LabelValues, float] = {
            (kind, review): number + (changes[(kind,)] if review == "approved" else 0)
            for (kind, review), number in listings.items()
            if review != "changed"
        }
        yield gauge("listings", "Listings by kind and review.", samples, ("kind", "review"))
        yield gauge(
            "changes_waiting",
            "Approved listings with a change that waits for a moderator, by kind.",
            changes,
            ("kind",),
        )
        yield gauge("api_keys", "API keys of all listings.", state.listings.key_count)

    def _of_journal(self) -> Iterator[Family]:
        journal, bounds = self._sources.journal, self._sources.bounds
        yield counter(
            "journal_records",
            "Records that were appended to the journal.",
            journal.head - journal.first_position + 1,
        )
        yield counter("journal_batches", "Frames with records that were written.", journal.batches)
        yield histogram(
            "journal_fsync_seconds", "Time that the disk took to make frames durable.", journal.syncs.look()
        )
        yield gauge("journal_pending_bytes", "Records that wait for the disk.", journal.pending_bytes)
        yield gauge(
            "journal_pending_limit_bytes",
            "Records that may wait for the disk; above this number, writes are answered 503.",
            bounds.journal_pending_bytes,
        )
        yield gauge("journal_writable", "1 while the journal takes writes.", journal.writable)
        yield gauge("journal_head_position", "The newest record.", self._sources.ledger.head)
        yield gauge("journal_durable_position", "The newest record on disk.", journal.durable_position)

    def _of_disk(self) -> Iterator[Family]:
        space = self._sources.space
        samples: dict[LabelValues, float] = {} if space.free_bytes is None else {(): space.free_bytes}
        yield gauge("disk_free_bytes", "Free space on the disk of the data folder.", samples)
        yield gauge(
            "disk_needed_bytes",
            "Approximate space that the next snapshot and the journal need. With less free space, the "
            "disk is nearly full.",
            space.needed_bytes(),
        )

    def _of_concerns(self) -> Iterator[Family]:
        found = [concern.topic for concern in self._sources.concerns()]
        yield gauge(
            "concerns",
            "Present concerns by topic. /debug and `admin doctor` show their texts.",
            {(topic,): found.count(topic) for topic in TOPICS},
            ("topic",),
        )

    def _of_observers(self) -> Iterator[Family]:
        yield counter(
            "observer_failures",
            "Failures of observers, which only measure, count, log or show. The gateway goes on "
            "without them.",
            {(name,): number for name, number in self._sources.observers.failures.items()},
            ("observer",),
        )

    def _of_snapshots(self) -> Iterator[Family]:
        snapshotter, last = self._sources.snapshotter, self._sources.snapshotter.last
        since_ms = snapshotter.created_ms or self._started_ms
        yield gauge("snapshot_position", "The newest record in a snapshot.", snapshotter.position)
        yield gauge(
            "snapshot_age_seconds",
            "Time since the newest snapshot was begun, or since the start if there is none.",
            max(self._sources.clock.now_ms() - since_ms, 0) / 1_000,
        )
        yield gauge(
            "snapshot_interval_seconds",
            "Interval between snapshots while the state changes.",
            self._sources.bounds.snapshot_interval_seconds,
        )
        yield gauge(
            "snapshot_duration_seconds",
            "Duration of the newest snapshot; 0 before the first one of this process.",
            last.seconds if last is not None else 0,
        )
        yield gauge(
            "snapshot_size_bytes",
            "Size of the newest snapshot; 0 before the first one of this process.",
            last.bytes if last is not None else 0,
        )
        yield counter("snapshot_failures", "Snapshots that could not be taken.", snapshotter.failures)

    def _of_files(self) -> Iterator[Family]:
        blobs, decoder = self._sources.blobs, self._sources.decoder
        yield gauge("files", "Files of listings on disk.", blobs.count)
        yield gauge("files_bytes", "Size of the files of listings on disk.", blobs.bytes)
        yield gauge(
            "files_limit_bytes",
            "Size that the files may have together; above it, uploads are answered 503.",
            blobs.bounds.bytes_in_all,
        )
        yield counter(
            "file_uploads",
            "Uploads that were read: `clean` if the file was kept, `refused` if it broke a rule, `failed` if "
            "the decoder failed or had too much to do.",
            {(outcome,): number for outcome, number in decoder.outcomes.items()},
            ("outcome",),
        )
        yield counter("decoder_starts", "Starts of the processes that read uploads.", decoder.starts)

    def _of_webhooks(self) -> Iterator[Family]:
        sources = self._sources
        outbox, attempts = sources.outbox, sources.attempts
        yield counter(
            "webhook_attempts",
            "Webhook attempts by outcome of the delivery and class of the error.",
            {tuple(kind): number for kind, number in attempts.attempts.items()},
            ("outcome", "error"),
        )
        yield histogram(
            "webhook_attempt_seconds",
            "Duration of webhook attempts.",
            {(outcome,): durations for outcome, durations in attempts.durations().items()},
            ("outcome",),
        )
        yield counter(
            "webhooks_dropped",
            "Deliveries that were given up without a further attempt.",
            {(reason,): number for reason, number in attempts.dropped.items()},
            ("reason",),
        )
        yield gauge(
            "webhooks_pending",
            "Deliveries that wait for an attempt.",
            len(sources.ledger.state.deliveries.pending),
        )
        yield gauge(
            "webhooks_pending_limit",
            "Deliveries that may wait; above this number, new ones are never sent.",
            sources.bounds.webhooks_pending,
        )
        yield gauge("webhooks_in_flight", "Webhook attempts under way.", outbox.in_flight)
        yield gauge("webhook_endpoints_suspended", "Endpoints that are suspended.", len(sources.suspensions))
        yield gauge("webhook_proxy_down", "1 while the webhooks' proxy fails.", outbox.stopped)

    def _of_messages(self) -> Iterator[Family]:
        if self._sources.messages is None:
            return
        yield counter(
            "direct_message_attempts",
            "Attempts to send direct messages to owners and voters, by outcome of the message and "
            "class of the error.",
            {tuple(kind): number for kind, number in self._sources.messages.attempts.items()},
            ("outcome", "error"),
        )
        yield gauge(
            "direct_messages_pending",
            "Messages to owners that wait to be sent, including those of other nodes of a fleet.",
            len(self._sources.ledger.state.listings.untold),
        )

    def _of_mails(self) -> Iterator[Family]:
        if self._sources.mails is not None:
            yield counter(
                "mail_attempts",
                "Attempts to send e-mails, by outcome of the e-mail and class of the error.",
                {tuple(kind): number for kind, number in self._sources.mails.mails.items()},
                ("outcome", "error"),
            )


def _copied(part: Part) -> Sequence[Family]:
    return tuple(part())


def _of_requests(look: Look) -> Iterator[Family]:
    yield counter(
        "requests",
        "Answers by operation and status class; the operation is `other` if the path is unknown, "
        "and `refused` if the server refuses a request before it is read.",
        {series: durations.count for series, durations in look.by_series.items()},
        ("endpoint", "status"),
    )
    yield histogram(
        "request_duration_seconds",
        "Time from the complete head of a request until its answer is written.",
        {
            series: durations
            for series, durations in look.by_series.items()
            if durations.count and series.endpoint != REFUSED
        },
        ("endpoint", "status"),
    )


def _of_fleet(fleet: Mapping[str, Any] | None) -> Iterator[Family]:
    if fleet is None:
        return
    yield gauge(
        "replication_holds_name", "1 while no other process has this node's name.", fleet["holds_name"]
    )
    yield gauge(
        "replication_claims_votes",
        "1 while Redis answers vote claims in time.",
        fleet["claims_votes"],
    )
    yield gauge(
        "replication_may_send_webhooks",
        "0 while this node waits for news of what other nodes sent during a pause of its process.",
        fleet["may_send_webhooks"],
    )
    yield gauge(
        "replication_failing",
        "1 while a loop of this node fails.",
        states(LOOPS, fleet["failing"]),
        ("loop",),
    )
    yield gauge("replication_concerns", "Present warnings about the fleet.", len(fleet["concerns"]))
    yield gauge(
        "replication_unsent_positions",
        "Positions of this node that are not in its stream yet.",
        fleet["unsent"],
    )
    nodes = fleet["nodes"]
    yield gauge(
        "replication_behind_positions",
        "Positions of another node that are not merged here yet.",
        _by_node({name: node["behind"] for name, node in nodes.items()}),
        ("node",),
    )
    yield gauge(
        "replication_silent_seconds",
        "Time since the last heartbeat of another node; absent while Redis is away.",
        _by_node(
            {name: node["silent_ms"] / 1_000 for name, node in nodes.items() if node["silent_ms"] is not None}
        ),
        ("node",),
    )


def _by_node(numbers: Mapping[str, float]) -> Mapping[LabelValues, float]:
    """Return the numbers of some nodes, and the greatest of all others."""
    names = sorted(numbers)
    shown: dict[LabelValues, float] = {(name,): numbers[name] for name in names[:NODES]}
    if len(names) > NODES:
        shown[(OTHER_NODES,)] = max(numbers[name] for name in names[NODES:])
    return shown


PLAIN = "text/plain; version=0.0.4; charset=utf-8"
"""The text format of Prometheus, for a request that asks for no other."""


class Scraping:
    """The endpoint that Prometheus reads."""

    def __init__(self, collect: Callable[[], Sequence[Family]], workers: AmongWorkers | None = None) -> None:
        """
        Args:
            collect: copies all numbers; it runs on the event loop.
            workers: the workers whose numbers are told together; None for a gateway that serves alone.
        """
        self._collect = collect
        self._workers = workers
        self._one_at_a_time = asyncio.Lock()

    async def metrics(self, request: Request) -> Reply:
        """Return the numbers of this moment, in the format that the Accept header asks for."""
        async with self._one_at_a_time:
            accept, workers = request.headers.get("Accept", ""), self._workers
            others = await workers.ask(FAMILIES) if workers is not None else {}
            own = self._collect()
            text, content_type = await asyncio.to_thread(_exposed, own, others, workers, accept)
        return Reply(200, text, {"vary": "accept"}, content_type=content_type)

    async def own(self) -> bytes:
        """Return the numbers of this worker, for another one."""
        return await asyncio.to_thread(_encoded, self._collect())


def _exposed(
    own: Sequence[Family], others: Mapping[int, bytes], workers: AmongWorkers | None, accept: str
) -> tuple[bytes, str]:
    from metrics.exposition import exposition, process_families  # it says why it is imported late

    families = [*own, *process_families()]
    if workers is not None:
        of_workers = {number: decoded(answer) for number, answer in others.items()}
        families = [*of_all({**of_workers, workers.number: families}), *_of_workers(workers)]
    return exposition(families, accept)


def _encoded(own: Sequence[Family]) -> bytes:
    from metrics.exposition import process_families  # as above

    return encoded([*own, *process_families()])


def _of_workers(workers: AmongWorkers) -> Iterator[Family]:
    reports = workers.reports()
    yield gauge(
        "worker_ready",
        "1 while a worker takes requests.",
        {(str(each.worker),): each.state == "ready" for each in reports},
        (WORKER,),
    )
    yield counter(
        "worker_failures",
        "Processes of a worker that ended although nobody stopped them.",
        {(str(each.worker),): each.failures for each in reports},
        (WORKER,),
    )
