"""A gateway as one of several workers, and the settings of each. No logic.

Worker 1 is the gateway that there would be without workers: it has the data folder, and the name of the
node. Each further worker has a folder in the data folder, and a name of its own. So the number of workers can
change from start to start, and worker 1 has the secrets that the others get copies of.
"""

import asyncio
import logging
import shutil
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from core.clock import NS_PER_SECOND, Clock
from core.finished import finished
from core.fleet_table import FleetView
from gateway.addresses import Sockets
from handlers.reply import Reply
from handlers.request import Endpoint, Request
from handlers.route import Resource
from ratelimit import common_counts
from ratelimit.common_counts import CommonBuckets
from settings.model import Settings
from snapshot.inspection import needed_keys
from storage.folder import SECRETS, WORKER_SOCKET, made_folder
from storage.sealing import BadKeys, keyring_of
from workers import session_board
from workers.balance import Balance
from workers.common_memory import CommonMemory, Layout
from workers.reading import SiblingReading
from workers.session_board import SessionBoard
from workers.siblings import AmongWorkers, Siblings
from workers.supervisor_channel import MOST_BYTES, RESTART, Inherited, WorkerReports, adopted, take_inherited

if TYPE_CHECKING:
    from replication.publisher import Outgoing

log = logging.getLogger("votegate")


def layout_of(workers: int) -> Layout:
    """Return the layout of the memory that the workers share."""
    return Layout(workers, common_counts.WORDS, session_board.WORDS)


def settings_of(settings: Settings, worker: int) -> Settings:
    """Return the settings of a worker."""
    if worker == 1:
        return settings
    node = f"{settings.redis.node}-{worker}"
    return settings.model_copy(
        update={
            "data_dir": settings.data_dir / f"worker-{worker}",
            "redis": settings.redis.model_copy(update={"node": node}),
        }
    )


def copy_secrets(settings: Settings, worker: int) -> None:
    """Put copies of the secrets of worker 1 into the folder of another one.

    If its files need sealing keys that worker 1 lacks, it keeps its own. Raises FolderUnusable and OSError.
    """
    if worker == 1:
        return
    source, folder = settings.data_dir, settings_of(settings, worker).data_dir
    made_folder(folder)
    for name in SECRETS:
        given, kept = source / name, folder / name
        if not given.exists():
            continue
        content = given.read_bytes()
        if kept.exists() and kept.read_bytes() == content:
            continue
        if name == "sealing.keys" and not _has_needed(content, needed_keys(folder)):
            log.error("worker %d keeps its %s: its files need keys that %s lacks", worker, name, given)
            continue
        unfinished = folder / f"{name}.tmp"
        shutil.copyfile(given, unfinished)
        unfinished.chmod(0o600)
        unfinished.replace(kept)


def _has_needed(content: bytes, needed: set[bytes]) -> bool:
    try:
        return needed <= set(keyring_of(content.decode("ascii", "replace")).key_ids)
    except BadKeys:
        return False


class Worker:
    """This process, as one of several workers."""

    def __init__(self, inherited: Inherited, settings: Settings) -> None:
        self.number = inherited.worker
        self.workers = inherited.workers
        self._all = settings
        self.settings = settings_of(settings, self.number)
        (self.channel,) = adopted((inherited.channel,))
        self.sockets = Sockets(adopted(inherited.sockets), adopted(inherited.metrics_sockets))
        self.memory = CommonMemory(inherited.memory, layout_of(self.workers))
        self.balance = Balance(self.memory, self.number)
        self.board = SessionBoard(self.memory, self.number)
        others = {each + 1 for each in range(self.workers)} - {self.number}
        folders = {each: settings_of(settings, each).data_dir for each in others}
        self.siblings = Siblings(WORKER_SOCKET, self.settings.data_dir, folders)
        self.is_accepting = False
        self.report: WorkerReports | None = None
        """The states of all workers; None until the supervisor has told them."""

    @property
    def node_names(self) -> list[str]:
        """The names of the nodes that are workers of this machine, by their numbers."""
        return [str(settings_of(self._all, each + 1).redis.node) for each in range(self.workers)]

    def reading(self, fleet: FleetView, clock: Clock) -> SiblingReading:
        """Return the object by which the workers wait for each other."""
        return SiblingReading(self.memory, self.number, self.node_names, fleet, clock)

    def buckets(self) -> CommonBuckets:
        """Return buckets that all workers take from."""
        others = [self.memory.counts(each + 1) for each in range(self.workers) if each + 1 != self.number]
        return CommonBuckets(self.memory.words, self.memory.counts(self.number), others)

    @property
    def missing(self) -> list[int]:
        """The numbers of the workers that take no requests."""
        return [each.worker for each in self.report.workers if each.state != "ready"] if self.report else []

    def why_missing(self) -> list[str]:
        """Return why workers take no requests, but for those that are being replaced."""
        reports = self.report.workers if self.report is not None else ()
        return [each.why for each in reports if each.state in {"waiting", "not ready"}]

    @property
    def among(self) -> AmongWorkers:
        """This worker's view of all workers."""
        return AmongWorkers(
            self.number,
            self.workers,
            lambda: self.report.workers if self.report is not None else (),
            self.siblings.ask,
            self.restart_all,
        )

    def restart_all(self) -> None:
        """Ask the supervisor to replace all workers."""
        self.channel.send(f"{RESTART}=1".encode())

    def hear(self, stop: asyncio.Event) -> None:
        """Read the messages of the supervisor. Stop when it is gone: nobody would start this worker again."""
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                message = self.channel.recv(MOST_BYTES)
            except BlockingIOError:
                return
            except OSError:
                message = b""
            if message:
                self.report = msgspec.json.decode(message, type=WorkerReports)
                return
            loop.remove_reader(self.channel)
            if not stop.is_set():
                log.warning("the supervisor is gone, so this worker stops")
                stop.set()

        loop.add_reader(self.channel, read)

    def why_not_ready(self, reason: str | None) -> str | None:
        """Return why this worker takes no requests. `reason` is that of the gateway, or None."""
        return reason or (None if self.is_accepting else "it is catching up with the other workers")


def worker_of(
    environment: MutableMapping[str, str], settings: Settings, stop: asyncio.Event
) -> Worker | None:
    """Return the worker that this process is; None if it serves alone."""
    inherited = take_inherited(environment)
    if inherited is None:
        return None
    worker = Worker(inherited, settings)
    worker.hear(stop)
    return worker


async def accept_when_ready(
    worker: Worker, is_waiting: Callable[[], bool], clock: Clock, accept: Callable[[], None]
) -> None:
    """Accept connections once this worker knows what the others know, or when no other worker accepts any.

    Somebody has to say that the gateway is not ready, so after `ALONE_SECONDS` without another one this
    worker accepts connections all the same. Beside others, it does so after `LONGEST_SECONDS`.
    """
    began_ns = clock.monotonic_ns()
    while is_waiting():
        seconds = LONGEST_SECONDS if worker.balance.others_accept else ALONE_SECONDS
        if clock.monotonic_ns() - began_ns > seconds * NS_PER_SECOND:
            break
        await asyncio.sleep(STEP_SECONDS)
    accept()
    worker.is_accepting = True


ALONE_SECONDS = 3.0
LONGEST_SECONDS = 60.0
STEP_SECONDS = 0.05
SIGN_IN = "/signin/callback"
"""The one GET that changes something for the next request of its client."""
VOTES = "voteFor"
"""The prefix of operations that do not wait for other workers: they are frequent, and no page follows."""


def read_by_all(
    resources: Sequence[Resource], reading: SiblingReading, outgoing: "Outgoing"
) -> list[Resource]:
    """Return the resources; an answer to a change waits until the other workers have read it."""

    def waiting(endpoint: Endpoint) -> Endpoint:
        async def answer(request: Request) -> Reply:
            before = outgoing.newest
            reply = await finished(endpoint(request))
            if outgoing.newest > before:
                await reading.by_all(outgoing.newest)
            return reply

        return answer

    def waits(resource: Resource, method: str) -> bool:
        if method in {"GET", "HEAD", "OPTIONS"}:
            return resource.path == SIGN_IN
        return not (resource.name(method) or "").startswith(VOTES)

    return [
        replace(
            each,
            endpoints={
                method: waiting(endpoint) if waits(each, method) else endpoint
                for method, endpoint in each.endpoints.items()
            },
        )
        for each in resources
    ]
