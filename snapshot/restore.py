"""Backups, and the way from an export or a backup to a data folder.

Invariant: the folder gets a whole, checked state, or none.

A restore first builds and checks the state in memory. Then it writes the snapshot and gives it its name, and
then it begins the journal behind that. A restore that stops between the two leaves a snapshot without a
journal, which a start refuses (`snapshot/recovery.py`).
"""

import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from blobs.sealed_blobs import Blob, SealedBlobs, digest_of
from core.events import VoteCast, VoteCountsMerged
from core.rows import Delivery
from core.state import State
from core.user_rows import UserRow
from forms.file_fields import FileRef
from journal.frames import FrameKind
from journal.journal import SegmentWriter
from journal.segments import EMPTY, segment_path
from snapshot import files
from snapshot.export import (
    MANIFEST,
    ROWS_PER_PIECE,
    TABLES,
    VERSION,
    CountedVotes,
    ExportCorrupt,
    Manifest,
    Row,
    Vote,
    blob_path,
    counts_of,
    decoded,
)
from snapshot.recovery import EmptyState, Progress, apply_events, load_snapshot
from snapshot.state_copy import StateCopy
from storage.disk import OS_DISK
from storage.folder import (
    LOCK,
    LOST_AND_FOUND,
    SECRETS,
    UNFINISHED,
    Folder,
    FolderUnusable,
    made_folder,
    remove_unfinished,
)
from storage.sealing import Keyring

_SECRETS_AND_LOCK = (*SECRETS, LOCK)
_MAY_BE_THERE = {*_SECRETS_AND_LOCK, LOST_AND_FOUND}
_ADVICE = "the export is incomplete or was changed; make it again"


def _no_blobs() -> Iterator[Blob]:
    return iter(())


class Source(NamedTuple):
    """A whole state, its position, and the files of its listings, which may be read several times."""

    state: State
    position: int
    blobs: Callable[[], Iterable[Blob]] = _no_blobs


def backup_pieces(source: Source, keys: Keyring, now_ms: int) -> Iterator[bytes]:
    """Yield the bytes of a backup of a state that no gateway serves, sealed with the newest key.

    It is the same file that a running gateway sends.
    """
    encoder = files.SnapshotEncoder(source.position, now_ms, keys.new_seal())
    yield encoder.header
    with StateCopy(source.state) as copy:
        for chunk in copy:
            yield encoder.encode(chunk)
        rows = copy.rows
    for blob in source.blobs():
        rows += 1
        yield encoder.encode(files.BlobsChunk([blob]))
    yield encoder.encode(files.EndChunk(rows, source.position))


def read_backup(
    path: Path, keys: Keyring, empty_state: EmptyState, progress: Progress = lambda *_: None
) -> Source:
    """Return the state of a backup. Raises SnapshotCorrupt, KeyMissing, UnreadableRecord, OSError."""
    loaded = load_snapshot(path, keys, empty_state, progress)
    if loaded.position != loaded.durable:
        raise files.SnapshotCorrupt(
            f"{path} is of position {loaded.position} and may hold votes up to {loaded.durable}: it needs "
            "the journal beside it; take a backup with GET /debug/snapshot"
        )
    return Source(loaded.state, loaded.position, partial(_blobs_of_backup, path, keys))


def _blobs_of_backup(path: Path, keys: Keyring) -> Iterator[Blob]:
    for chunk in files.SnapshotReader(path).chunks(keys):
        if isinstance(chunk, files.BlobsChunk):
            yield from chunk.rows


def _blobs_of_export(folder: Path, refs: Iterable[FileRef]) -> Iterator[Blob]:
    """Yield the files of an export. Raises ExportCorrupt and OSError."""
    for ref in refs:
        path = blob_path(folder, ref)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise ExportCorrupt(f"{path} is missing: {_ADVICE}") from None
        if digest_of(content) != ref.digest:
            raise ExportCorrupt(f"{path} was changed: {_ADVICE}")
        yield Blob(ref, content)


def read_export(folder: Path, empty_state: EmptyState, progress: Progress = lambda *_: None) -> Source:
    """Return the state of an export. `progress` counts bytes. Raises ExportCorrupt and OSError."""
    manifest = _manifest(folder)
    paths = {name: folder / f"{name}.{manifest.format}" for name in TABLES}
    for path in paths.values():
        if not path.is_file():
            raise ExportCorrupt(f"{path} is missing: {_ADVICE}")
    total, before, state = sum(path.stat().st_size for path in paths.values()), 0, empty_state()
    for name, path in paths.items():
        taken = 0
        with path.open("rb") as file:
            rows = decoded(file, path, TABLES[name].kind, manifest.format)
            while few := list(islice(rows, ROWS_PER_PIECE)):
                _take(state, few, path)
                taken += len(few)
                progress(before + file.tell(), total)
        before += path.stat().st_size
        told = getattr(manifest.rows, name)
        if taken != told:
            raise ExportCorrupt(f"{path} holds {taken} rows, and {MANIFEST} tells of {told}: {_ADVICE}")
    state.loaded()
    _check(state, manifest, folder)
    return Source(state, manifest.position, partial(_blobs_of_export, folder, manifest.files))


def refuse_unless_empty(folder: Path) -> None:
    """Raise FolderUnusable if the folder holds more than secrets and unfinished files."""
    for path in sorted(folder.iterdir()):
        if path.name not in _MAY_BE_THERE and not path.name.endswith(UNFINISHED):
            raise FolderUnusable(f"{path} is there already; restore into a new or an empty data_dir")


def restore_into(folder: Folder, source: Source, now_ms: int) -> None:
    """Write the state into an empty data folder, sealed with its newest key, durably.

    Raises OSError, and leaves nothing there then, or a folder that a start refuses.
    """
    remove_unfinished(folder)
    blobs = SealedBlobs(folder)
    try:
        for blob in source.blobs():
            blobs.write(blob)
        _write_state(folder, source, now_ms)
    except BaseException:
        shutil.rmtree(blobs.path, ignore_errors=True)
        raise


def _write_state(folder: Folder, source: Source, now_ms: int) -> None:
    """Write a snapshot, and begin the journal behind it. Raises OSError."""
    path = files.snapshot_path(folder.path, source.position)
    encoder = files.SnapshotEncoder(source.position, now_ms, folder.keys.new_seal())
    file = files.SnapshotFile(folder.disk, path, encoder)
    try:
        with StateCopy(source.state) as copy:
            for chunk in copy:
                file.add(_as_copy(chunk))
            file.add(files.EndChunk(copy.rows, source.position))
        file.finish()
    finally:
        file.close()
    try:
        folder.disk.sync_folder(folder.path)
        begin_journal(folder, source.position)
    except BaseException:
        for left in (segment_path(folder.path, source.position + 1), path):
            with suppress(OSError):  # the caller gets the error that made it fail
                folder.disk.unlink(left)
        raise


def _as_copy(chunk: files.Copied) -> files.Copied:
    """Mark the fleet's row as a copy: its node may still run, so the restored node must be another one."""
    return (
        files.FleetChunk([replace(row, is_copy=True) for row in chunk.rows])
        if isinstance(chunk, files.FleetChunk)
        else chunk
    )


def begin_journal(folder: Folder, position: int) -> None:
    writer = SegmentWriter(folder, EMPTY._replace(head=position), segment_bytes=1)
    try:
        writer.write(FrameKind.CLOSED, [])
        writer.sync()
    finally:
        writer.close()


def _manifest(folder: Path) -> Manifest:
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ExportCorrupt(f"{folder} is no export: it has no {MANIFEST}") from None
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ExportCorrupt(f"{path} cannot be read: {error}") from None
    if manifest.version != VERSION:
        raise ExportCorrupt(f"{path} is of another version of Votegate")
    return manifest


def _take(state: State, rows: Iterable[Row], path: Path) -> None:
    for row in rows:
        if isinstance(row, Delivery | CountedVotes) and row.ref not in state.listings:
            raise ExportCorrupt(f"{path} tells of {row.ref}, which is not among the listings: {_ADVICE}")
        if isinstance(row, CountedVotes):
            apply_events(state, [VoteCountsMerged(row.ref, (replace(row.counts, node=""),))])
            continue
        if isinstance(row, UserRow) and not _USER.fullmatch(row.id):
            raise ExportCorrupt(f"{path} has a row that is no user ({row.ref}): {_ADVICE}")
        if not isinstance(row, Vote):
            state.load([row])
            continue
        if not _USER.fullmatch(row.user) or int(row.user) > _MAX_USER or row.count < 0:
            raise ExportCorrupt(f"{path} has a row that is no vote (for {row.ref}): {_ADVICE}")
        apply_events(state, [VoteCast(row.ref, row.user, row.count, row.last_ms)])


_USER = re.compile(r"\d{1,20}", re.ASCII)
_MAX_USER = (1 << 64) - 1


def _check(state: State, manifest: Manifest, folder: Path) -> None:
    if manifest.position == 0 and (state.listings or state.users):
        raise ExportCorrupt(f"{folder}: {MANIFEST} tells position 0, which is that of nothing: {_ADVICE}")
    if counts_of(state) != manifest.rows:
        raise ExportCorrupt(f"{folder}: some rows are doubled, or of listings that are not there: {_ADVICE}")
    digest = state.digest()
    if digest != manifest.digest:
        raise ExportCorrupt(
            f"{folder}: the rows have the digest {digest}, and {MANIFEST} tells {manifest.digest}: {_ADVICE}"
        )


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill. It becomes `path` when the block ends, and is deleted when that raises.

    A folder that is there already is filled in its place, because it may be a mount point: a process that is
    killed leaves it half filled. The secrets and the lock that were added are deleted when the block raises;
    other files delete those who write them.
    """
    if path.exists():
        before = set(path.iterdir())
        try:
            yield path
        except BaseException:
            for added in {path / name for name in _SECRETS_AND_LOCK} - before:
                with suppress(OSError):  # the caller gets the error that made it fail
                    added.unlink()
            raise
        return
    missing = [folder for folder in path.parents if not folder.exists()]
    made_folder(path.parent)
    unfinished = Path(tempfile.mkdtemp(UNFINISHED, f".{path.name}.", path.parent))
    try:
        yield unfinished
        OS_DISK.rename(unfinished, path)
        OS_DISK.sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        for folder in missing:
            with suppress(OSError):  # not empty: somebody else uses it
                folder.rmdir()
        raise
