"""An overview of a data folder or a file, and the verification of everything on disk. Neither changes
anything.

The overview comes from names and headers. They need no key, and do not change while a gateway runs. The
verification reads everything, and goes on behind bad bytes.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from blobs.blob_names import named_in
from blobs.sealed_blobs import BlobCorrupt, SealedBlobs
from core.state import State
from journal.frames import HEADER_BYTES, BadBytes, decode_header
from journal.segments import PREFIX as SEGMENT_PREFIX
from journal.segments import TORN_SUFFIX, JournalReader, list_segments
from snapshot import files, recovery
from storage.folder import SEARCH_INDEX, UNFINISHED, Folder, FolderUnusable
from storage.sealed_chunks import ChunksDamaged, Place, SealedChunks, chunks_found
from storage.sealing import KeyMissing, Keyring

_TORN = re.compile(rf"({SEGMENT_PREFIX}\d{{20}})-(\d+){re.escape(TORN_SUFFIX)}", re.ASCII)


class Found(msgspec.Struct, frozen=True):
    """A file. `position` is that of a snapshot or a part, or the first one of a segment; `key_id` is in
    hex."""

    path: str
    kind: Literal["snapshot", "part", "segment", "torn", "unfinished", "files", "index"]
    bytes: int
    position: int | None = None
    created_ms: int | None = None
    key_id: str | None = None
    cut_from: str | None = None
    """The name of the segment that the torn bytes were cut from, at byte `cut_at`."""
    cut_at: int | None = None
    problem: str | None = None


class Contents(msgspec.Struct, frozen=True):
    """The contents of a snapshot or a backup, as numbers of rows.

    `records` follow the other rows, up to `last_position`. Votes may be newer than the header's position.
    """

    listings: int
    votes: int
    deliveries: int
    users: int
    records: int
    files: int
    last_position: int


def found_in(folder: Path) -> Iterator[Found]:
    """Yield the files of a data folder. A file that is deleted meanwhile is left out."""
    readers = [
        *[(_snapshot, path) for _, path in files.list_files(folder)],
        *[(_segment, path) for _, path in list_segments(folder)],
        *[(_torn, path) for path in sorted(folder.glob("*" + TORN_SUFFIX))],
        *[(_unfinished, path) for path in sorted(folder.glob("*" + UNFINISHED))],
        *[(_index, path) for path in [folder / SEARCH_INDEX] if path.exists()],
    ]
    for reader, path in readers:
        with contextlib.suppress(FileNotFoundError):
            yield reader(path)
    blobs = SealedBlobs(Folder(folder, Keyring([])))
    sizes = [found.bytes for found in blobs.all()]
    if sizes:
        yield Found(str(blobs.path), "files", sum(sizes))


def needed_keys(folder: Path) -> set[bytes]:
    """Return the ids of the keys that segments, snapshots and files of listings need. The search index needs
    none: without its key, a start builds it again.

    A torn write needs the key and the header of its segment. Raises FolderUnusable if a file does not tell
    its key.
    """
    needed = set[bytes]()
    for found in found_in(folder):
        if found.kind in ("snapshot", "part", "segment"):
            if found.key_id is None:
                raise FolderUnusable(f"{found.path} does not tell which key it needs ({found.problem})")
            needed.add(bytes.fromhex(found.key_id))
    blobs = SealedBlobs(Folder(folder, Keyring([])))
    try:
        return needed | {blobs.key_id(found.digest) for found in blobs.all()}
    except BlobCorrupt as error:
        raise FolderUnusable(f"it is not known which key it needs: {error}") from None


def snapshot_found(path: Path) -> Found:
    """Describe a snapshot or a backup by its header. Raises SnapshotCorrupt and OSError."""
    reader = files.SnapshotReader(path)
    header = reader.header
    return Found(str(path), _kind(path), reader.size, header.position, header.created_ms, header.key_id.hex())


def _kind(path: Path) -> Literal["snapshot", "part"]:
    return "part" if path.name.startswith(files.PART_PREFIX) else "snapshot"


def contents_of(path: Path, keys: Keyring, progress: recovery.Progress = lambda *_: None) -> Contents:
    """Count the rows of a snapshot or a backup. Raises SnapshotCorrupt, KeyMissing and OSError."""
    reader = files.SnapshotReader(path)
    listings = votes = deliveries = users = records = blobs = 0
    for chunk in reader.chunks(keys):
        match chunk:
            case files.ListingsChunk() | files.PackedChunk():
                listings += len(chunk.rows)
            case files.DeliveriesChunk():
                deliveries += len(chunk.rows)
            case files.UsersChunk():
                users += len(chunk.rows)
            case files.LeavesChunk():
                votes += sum(len(leaf) // 16 for _, leaf in chunk.rows)
            case files.ChangedVotesChunk():
                votes += sum(len(leaf) // 16 for _, leaf, _ in chunk.rows)
            case files.RecordsChunk():
                records += len(chunk.rows)
            case files.BlobsChunk():
                blobs += len(chunk.rows)
        progress(reader.read_bytes, reader.size)
    return Contents(listings, votes, deliveries, users, records, blobs, reader.header.position + records)


def _snapshot(path: Path) -> Found:
    try:
        return snapshot_found(path)
    except files.SnapshotCorrupt as error:
        return Found(str(path), _kind(path), path.stat().st_size, problem=str(error))


def _segment(path: Path) -> Found:
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(HEADER_BYTES)
    try:
        header = decode_header(begin)
    except BadBytes as bad:
        return Found(str(path), "segment", size, problem=bad.reason)
    return Found(str(path), "segment", size, header.first, key_id=header.key_id.hex())


def _torn(path: Path) -> Found:
    name = _TORN.fullmatch(path.name)
    size = path.stat().st_size
    if name is None:
        return Found(str(path), "torn", size, problem="its name tells no segment")
    return Found(str(path), "torn", size, cut_from=name[1], cut_at=int(name[2]))


def _unfinished(path: Path) -> Found:
    return Found(str(path), "unfinished", path.stat().st_size)


def _index(path: Path) -> Found:
    size = path.stat().st_size
    try:
        header = chunks_found(path)
    except ChunksDamaged as error:
        return Found(str(path), "index", size, problem=str(error))
    return Found(str(path), "index", size, created_ms=header.created_ms, key_id=header.key_id.hex())


Bars = Callable[[str], recovery.Progress]
"""Makes a progress for each thing that is read, by its name. A total of 0 bytes is unknown."""


class Finding(msgspec.Struct, frozen=True):
    """Verification of everything on disk. Invariant: it goes on behind bad bytes, and changes nothing."""

    what: str
    good: bool
    text: str


class VerifiedDisk(msgspec.Struct):
    """The findings, with the position and the digest of the folded state, or None if it does not fold."""

    findings: list[Finding]
    position: int | None = None
    digest: str | None = None

    @property
    def good(self) -> bool:
        return all(finding.good for finding in self.findings)


def verify_file(path: Path, keys: Keyring, empty_state: recovery.EmptyState, bars: Bars) -> VerifiedDisk:
    """Read a snapshot or a backup."""
    try:
        loaded = recovery.load_snapshot(path, keys, empty_state, bars(path.name))
    except recovery.UNREADABLE as error:
        return VerifiedDisk([Finding(path.name, good=False, text=str(error))])
    return VerifiedDisk([_whole(path, loaded)], loaded.position, loaded.state.digest())


def verify_folder(folder: Folder, empty_state: recovery.EmptyState, bars: Bars) -> VerifiedDisk:
    """Read every snapshot and the journal to its end, and then fold them as a start does."""
    verified = VerifiedDisk([])
    for chain in files.list_chains(folder.path):
        verified.findings.extend(_verified_chain(folder, chain, empty_state, bars))
    verified.findings.append(_verified_journal(folder, bars("the journal")))
    if (folder.path / SEARCH_INDEX).exists():
        verified.findings.append(_verified_index(folder))
    bars("the state")(0, 0)
    try:
        recovered = recovery.recover(folder, empty_state)
    except recovery.UNREADABLE as error:
        verified.findings.append(Finding("the state", good=False, text=str(error)))
        return verified
    verified.position, verified.digest = recovered.tail.head, recovered.state.digest()
    bars("the files of listings")(0, 0)
    verified.findings.append(_verified_blobs(folder, recovered.state))
    return verified


def _verified_chain(
    folder: Folder, paths: Sequence[Path], empty_state: recovery.EmptyState, bars: Bars
) -> Iterator[Finding]:
    """Read a snapshot and its parts. Nothing can be said of the parts behind a damaged file, or behind a
    missing one, but that they cannot be used."""
    state, chain = empty_state(), files.NO_CHAIN
    for number, path in enumerate(paths):
        try:
            loaded = recovery.load_file(chain, path, folder.keys, state, bars(path.name))
        except recovery.UNREADABLE as error:
            yield Finding(path.name, good=False, text=str(error))
            for behind in paths[number + 1 :]:
                yield Finding(behind.name, good=False, text=f"no use without {path.name}")
            return
        yield _whole(path, loaded)
        chain = loaded.chain


def _whole(path: Path, loaded: recovery.Loaded) -> Finding:
    needs = f", and it needs the journal up to {loaded.durable}" if loaded.durable > loaded.position else ""
    return Finding(path.name, good=True, text=f"whole, of position {loaded.position}{needs}")


def _verified_index(folder: Folder) -> Finding:
    """Read the search index. It has an unfinished end if the gateway has crashed, or runs."""
    path, place = folder.path / SEARCH_INDEX, Place()
    try:
        for _, behind in SealedChunks(folder, path).chunks():
            place = behind
        size = path.stat().st_size
    except (ChunksDamaged, KeyMissing, OSError) as error:
        return Finding(path.name, good=False, text=f"{error}; a start builds it again")
    if place.offset < size:
        text = f"damaged or unfinished from byte {place.offset} on; a start repairs it, or builds it again"
        return Finding(path.name, good=False, text=text)
    return Finding(path.name, good=True, text=f"whole, {place.number} pieces")


def _verified_blobs(folder: Folder, state: State) -> Finding:
    """Read every file of listings. Other nodes of a fleet may have those that are missing here."""
    what, blobs, whole, bad = "the files of listings", SealedBlobs(folder), set[str](), list[str]()
    for found in blobs.all():
        try:
            blobs.read(found.digest)
            whole.add(found.digest)
        except (BlobCorrupt, KeyMissing, OSError) as error:
            bad.append(str(error))
    if bad:
        more = f", and {len(bad) - 1} others" if len(bad) > 1 else ""
        return Finding(what, good=False, text=f"{bad[0]}{more}")
    missing = sorted(named_in(state) - whole)
    if missing:
        text = f"{len(missing)} files are missing that listings name, such as {missing[0]}"
        elsewhere = "; a running gateway takes them from other nodes that have them"
        return Finding(what, good=False, text=text + (elsewhere if state.fleet.label else ""))
    return Finding(what, good=True, text=f"whole, {len(whole)} files")


def _verified_journal(folder: Folder, progress: recovery.Progress) -> Finding:
    """Read every record of the journal that the oldest chain does not make superfluous."""
    progress(0, 0)
    what, segments = "the journal", list_segments(folder.path)
    if not segments:
        return Finding(what, good=True, text="there is none")
    chains = files.list_chains(folder.path)
    oldest = chains[0][-1:] if len(chains) > 1 else [path for chain in chains for path in chain[:1]]
    before = [segments[0][0] - 1, *map(files.position_of, oldest)]
    first, reader = max(before) + 1, JournalReader(folder)
    try:
        for position, record in reader.records(first - 1):
            recovery.events_of(folder.path, position, record)
    except recovery.UNREADABLE as error:
        return Finding(what, good=False, text=str(error))
    text = f"whole, {len(segments)} segments, positions {first} to {reader.tail.head}"
    if reader.tail.torn:
        text += "; behind them an unfinished write of a crash, which the next start sets aside"
    return Finding(what, good=True, text=text)
