"""The builder of the store: the data folder with its secrets, the journal, and snapshots. No logic."""

import asyncio
import logging
import secrets
import shutil
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from blobs.blob_names import BlobNames
from blobs.blob_store import BlobBounds, Blobs
from core.clock import Clock
from core.ledger import Ledger
from core.state import State
from gateway.worker import Worker
from handlers.slices import in_slices
from journal.journal import Journal, JournalPolicy
from journal.segments import list_segments
from replication.facts import HybridClock
from serving.observers import Observers
from settings.model import JournalSettings, OperatorSettings, SealingSettings, Settings
from snapshot.files import list_snapshots
from snapshot.recovery import EmptyState, Folded, Folding, Order, Recovered, folded_apart
from snapshot.snapshotter import Interval, Snapshotter
from storage.disk import OS_DISK, Disk, DiskSpace
from storage.folder import (
    DIGEST_SECRET,
    KEYS,
    OPERATOR_TOKEN,
    Folder,
    FolderUnusable,
    kept_keys,
    kept_secret,
    locked,
    made_folder,
    refuse_exposed,
    refuse_foreign_files,
    remove_unfinished,
)
from storage.sealing import Keyring, keyring_of

if TYPE_CHECKING:
    from dev.watching import Watching


@dataclass(frozen=True)
class Runtime:
    """The process that a gateway runs in, as every builder is given it."""

    settings: Settings
    clock: Clock
    stop: asyncio.Event
    """Is set when the gateway is to stop."""
    observers: Observers
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    """Starts a task of the gateway's one task group."""
    worker: Worker | None = None
    """This process as one of several workers; None if it serves alone."""
    watching: "Watching | None" = None
    """Tells a developer of every request and delivery; None but for `votegate dev`."""

    @property
    def of_machine(self) -> "Runtime":
        """The same process, by the clock of the machine: a developer moves that of the rules."""
        return replace(self, clock=self.watching.machine) if self.watching is not None else self


MIN_SECRET = 16  # characters
SEGMENTS_AHEAD = 4
"""The number of journal segments for which the disk must have room."""
ROOT = Path(__file__).parent.parent
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Secrets:
    """The secrets by which the gateway knows its callers."""

    digest: str = field(repr=False)
    """The key of the digests of API keys."""
    operator_tokens: tuple[str, ...] = field(repr=False)
    """The newest first."""


@dataclass(frozen=True)
class Store:
    """The state, and everything that keeps it on disk."""

    folder: Folder
    secrets: Secrets
    ledger: Ledger
    journal: Journal
    snapshotter: Snapshotter
    blobs: Blobs
    blob_names: BlobNames
    space: DiskSpace
    fold: Callable[[int], Awaitable[Folded]]
    """Folds the disk from nothing up to a position, in a process of its own."""


def given_secrets(settings: Settings) -> Mapping[str, SecretStr | None]:
    """Return the secrets of the settings, by the names of the files that hold those that are not given."""
    return {
        KEYS: settings.sealing.keys,
        DIGEST_SECRET: settings.keys.digest_secret,
        OPERATOR_TOKEN: settings.operator.token,
    }


def empty_state(deliveries_kept: int) -> EmptyState:
    return lambda: State(deliveries_kept)


@contextmanager
def held_folder(path: Path, sealing: SealingSettings, disk: Disk = OS_DISK) -> Iterator[Folder]:
    """Open the data folder for this process alone, with its keys; make it if there is none.

    Raises FolderUnusable and OSError, and then has changed nothing in it.
    """
    made_folder(path, disk)
    refuse_foreign_files(path)
    refuse_exposed(path)
    with locked(path):
        has_sealed = bool(list_segments(path) or list_snapshots(path))
        yield Folder(path, sealing_keys(sealing, path, needed=has_sealed, disk=disk), disk)


def _open_secrets(settings: Settings, folder: Folder, recovered: Recovered, *, is_copy: bool) -> Secrets:
    """Read the secrets, or make them on the first start. Raises FolderUnusable and OSError."""
    is_bare = recovered.tail.segment is None and (folder.path / DIGEST_SECRET).exists()
    has_keys = recovered.state.listings.key_count > 0
    digest = _secret(settings.keys.digest_secret, folder, DIGEST_SECRET, needed=has_keys)
    tokens = operator_tokens(settings.operator, folder)
    if is_bare and not is_copy:
        log.warning("%s holds secrets but no data: this starts from nothing", folder.path)
    return Secrets(digest, tokens)


def operator_tokens(operator: OperatorSettings, folder: Folder) -> tuple[str, ...]:
    """Return the tokens, newest first, of the settings or the folder. Raises FolderUnusable and OSError."""
    token, previous = _secret(operator.token, folder, OPERATOR_TOKEN), operator.previous_token
    return (token,) if previous is None else (token, previous.get_secret_value())


def sealing_keys(sealing: SealingSettings, folder: Path, *, needed: bool, disk: Disk = OS_DISK) -> Keyring:
    """Return the keys of the settings, or of the folder. Raises FolderUnusable and OSError."""
    if sealing.keys is not None:
        return keyring_of(sealing.keys.get_secret_value())
    return kept_keys(folder, needed=needed, disk=disk)


def open_store(runtime: Runtime, folder: Folder, recovered: Recovered) -> Store:
    """Begin to write the journal behind the recovered state. Raises FolderUnusable and OSError."""
    settings, clock, journaling = runtime.settings, runtime.clock, runtime.settings.journal
    is_further_worker = runtime.worker is not None and runtime.worker.number > 1
    kept_secrets = _open_secrets(settings, folder, recovered, is_copy=is_further_worker)
    remove_unfinished(folder)
    journal = Journal(folder, recovered.tail, _journal_policy(journaling), clock)
    journal.begin()
    is_fleets = settings.redis.url is not None or recovered.state.fleet.label
    stamper = HybridClock(recovered.state.fleet, clock) if is_fleets else None
    ledger = Ledger(recovered.state, journal, recovered.tail.head, stamper)
    interval, chain = snapshot_interval(settings.snapshot.interval_seconds, runtime.worker), recovered.chain
    snapshotter = Snapshotter(folder, ledger, journal, clock, chain, interval, journaling.kept_bytes)

    names, files = BlobNames(ledger.state, settings.kinds.offered), settings.files
    bounds = BlobBounds(files.bytes_per_user, files.bytes_in_all, files.memory_bytes, files.unnamed_seconds)
    blobs = Blobs(folder, ledger, names, clock, bounds, in_slices, snapshotter.lock)

    async def fold(until: int) -> Folded:
        kept = settings.webhooks.deliveries_kept
        order = Order(str(folder.path.absolute()), folder.keys.to_text(), kept, until)
        return await folded_apart(Folding(fold_command, ROOT), order)

    def needed_bytes() -> int:
        """Return the room for a whole snapshot, which is written beside the newest, and for the journal."""
        return 2 * snapshotter.chain.whole_bytes + SEGMENTS_AHEAD * journaling.segment_bytes

    return Store(
        folder,
        kept_secrets,
        ledger,
        journal,
        snapshotter,
        blobs,
        names,
        DiskSpace(folder.path, needed_bytes),
        fold,
    )


def snapshot_interval(seconds: float, worker: Worker | None) -> Interval:
    """Return the interval of snapshots. Each worker has its own offset in it."""
    return Interval(seconds, (worker.number - 1) / worker.workers * seconds if worker is not None else 0.0)


def fold_command() -> Sequence[str]:
    """Return the command that folds the disk. Raises OSError."""
    return own_command("cli.fold_disk", "fold-disk")


def decode_command() -> Sequence[str]:
    """Return the command of the decoder. Raises OSError."""
    return own_command("decoder.process", "decode-files")


def own_command(module: str, word: str) -> Sequence[str]:
    """Return the command that runs a module in a process of this same version, to be run in ROOT.

    The binary is no Python that could be given a module. An upgrade may have put another one in its place:
    then the command is a copy, in the folder that the binary has unpacked itself into and removes at its end.
    Raises OSError if it cannot be copied.
    """
    unpacked: str | None = getattr(sys, "_MEIPASS", None)
    if unpacked is None:
        return (sys.executable, "-m", module)
    binary, running, copy = Path(sys.executable), Path("/proc/self/exe"), Path(unpacked, "votegate-that-runs")
    if binary.exists() and binary.samefile(running):
        return (sys.executable, word)
    if not copy.exists():
        unfinished = Path(unpacked, secrets.token_hex(8))  # another fold may begin meanwhile
        shutil.copyfile(running, unfinished)
        unfinished.chmod(0o700)
        unfinished.replace(copy)
    return (str(copy), word)


def _secret(given: SecretStr | None, folder: Folder, name: str, *, needed: bool = False) -> str:
    """Return the secret of the settings, or of the folder. A missing one is made, unless it is `needed`."""
    if given is not None:
        return given.get_secret_value()
    path = folder.path / name
    if needed and not path.exists():
        raise FolderUnusable(f"{path} is missing, and no API key works without it; restore it")
    kept = kept_secret(folder.path, name, lambda: secrets.token_urlsafe(32), folder.disk)
    if not MIN_SECRET <= len(kept) <= blake2b.MAX_KEY_SIZE:
        raise FolderUnusable(f"{path} is damaged: its length is {len(kept)}; restore it")
    return kept


def _journal_policy(journal: JournalSettings) -> JournalPolicy:
    return JournalPolicy(
        journal.fsync, journal.fsync_interval_seconds, journal.segment_bytes, journal.pending_bytes
    )
