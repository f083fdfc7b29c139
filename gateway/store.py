"""The part of the composition root that is the data folder: keys, recovery, journal, snapshots. No logic."""

import logging
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pydantic import SecretStr

from core.clock import Clock
from core.ledger import Ledger
from core.state import State
from journal.journal import Journal, JournalPolicy
from journal.segments import list_segments
from replication.facts.hybrid_clock import HybridClock
from settings.model import Settings
from snapshot.files import list_snapshots
from snapshot.folding import Folding, Order
from snapshot.recovery import EmptyState, Recovered
from snapshot.snapshotter import Snapshotter
from storage.disk import OS_DISK, Disk
from storage.exposed import refuse_exposed
from storage.folder import (
    DIGEST_SECRET,
    OPERATOR_TOKEN,
    Folder,
    FolderUnusable,
    kept_keys,
    kept_secret,
    locked,
    made_folder,
    refuse_foreign_files,
    remove_unfinished,
)
from storage.sealing import keyring_of
from votes.table import VoteTable

MIN_SECRET = 16  # characters
ROOT = Path(__file__).parent.parent
FOLDING = (sys.executable, "-m", "cli.fold_disk")  # in ROOT
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Store:
    """The state, and what keeps it on disk."""

    ledger: Ledger
    journal: Journal
    snapshotter: Snapshotter
    folding: Callable[[], Folding]
    """A process that folds the disk afresh, not started yet."""
    fold_order: Callable[[int], Order]
    """What to tell it, to fold up to a position."""
    digest_secret: str = field(repr=False)
    operator_token: str = field(repr=False)


def empty_state(settings: Settings) -> EmptyState:
    return lambda: State(VoteTable(), settings.webhooks.deliveries_kept)


@contextmanager
def held_folder(settings: Settings, disk: Disk = OS_DISK) -> Iterator[Folder]:
    """The data folder with its keys, made when there is none, for this process alone.

    Raises FolderUnusable and OSError; then nothing in it was touched.
    """
    path, given = settings.data_dir, settings.sealing.keys
    made_folder(path, disk)
    refuse_foreign_files(path)
    refuse_exposed(path)
    with locked(path):
        if given is not None:
            yield Folder(path, keyring_of(given.get_secret_value()), disk)
        else:
            has_sealed = bool(list_segments(path) or list_snapshots(path))
            yield Folder(path, kept_keys(path, needed=has_sealed, disk=disk), disk)


def open_store(settings: Settings, folder: Folder, recovered: Recovered, clock: Clock) -> Store:
    """Begins to journal behind what was recovered. Raises FolderUnusable and OSError."""

    def fold_order(until: int) -> Order:
        path, kept = str(folder.path.absolute()), settings.webhooks.deliveries_kept
        return Order(path, folder.keys.to_text(), kept, until)

    is_bare = recovered.tail.segment is None and (folder.path / DIGEST_SECRET).exists()
    has_keys = recovered.state.listings.key_count > 0
    digest_secret = _secret(settings.keys.digest_secret, folder, DIGEST_SECRET, needed=has_keys)
    operator_token = _secret(settings.operator.token, folder, OPERATOR_TOKEN)
    if is_bare:
        log.warning("%s holds secrets but no data: this starts from nothing", folder.path)
    remove_unfinished(folder)
    journal = Journal(folder, recovered.tail, _journal_policy(settings), clock)
    journal.begin()
    is_fleets = settings.redis.url is not None or recovered.state.fleet.label
    stamper = HybridClock(recovered.state.fleet, clock) if is_fleets else None
    ledger = Ledger(recovered.state, journal, recovered.tail.head, stamper)
    snapshotter = Snapshotter(
        folder, ledger, journal, clock, settings.snapshot.interval_seconds, recovered.snapshot_position
    )
    return Store(
        ledger,
        journal,
        snapshotter,
        lambda: Folding(FOLDING, ROOT),
        fold_order,
        digest_secret,
        operator_token,
    )


def _secret(given: SecretStr | None, folder: Folder, name: str, *, needed: bool = False) -> str:
    """The secret from the settings or the folder. One that is `needed` is not made anew."""
    if given is not None:
        return given.get_secret_value()
    path = folder.path / name
    if needed and not path.exists():
        raise FolderUnusable(f"{path} is missing, and no API key works without it; restore it")
    kept = kept_secret(folder.path, name, lambda: secrets.token_urlsafe(32), folder.disk)
    if not MIN_SECRET <= len(kept) <= blake2b.MAX_KEY_SIZE:
        raise FolderUnusable(f"{path} is damaged: its length is {len(kept)}; restore it")
    return kept


def _journal_policy(settings: Settings) -> JournalPolicy:
    journal = settings.journal
    return JournalPolicy(
        journal.fsync, journal.fsync_interval_seconds, journal.segment_bytes, journal.pending_bytes
    )
