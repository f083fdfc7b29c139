"""From disk to state, in this process or in another one.

A running gateway folds the disk in another process. A second state takes as much memory as the first.
Sorting its listings, or freeing it, would hold the interpreter for longer than a vote check may wait. A
process returns all its memory when it ends. It is a new
process and not a fork of the gateway. It gets its order through a pipe, because the order contains keys.
"""

import asyncio
import gc
import logging
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from core.events import Event, UnknownEvent, decode_record
from core.state import State
from journal.segments import JournalCorrupt, JournalReader, Tail, list_segments
from snapshot import files
from storage.folder import UNFINISHED, Folder
from storage.sealing import KeyMissing, Keyring, keyring_of

log = logging.getLogger(__name__)

EmptyState = Callable[[], State]
Progress = Callable[[int, int], None]
"""Called now and then with the number of bytes read so far and the total."""


class Recovered(NamedTuple):
    """From disk to state.

    Invariant: the state is the newest good snapshot and every record behind it, in order.
    """

    state: State
    tail: Tail
    chain: files.Chain
    """The snapshot that recovery began from, with its parts."""


class Loaded(NamedTuple):
    """The state of a file, or of a chain of files. It is exact as of `position` once every record up to
    `durable` is applied."""

    state: State
    position: int
    durable: int
    created_ms: int
    chain: files.Chain


class UnreadableRecord(Exception):
    """The journal holds a record that this version does not know."""


UNREADABLE = (JournalCorrupt, files.SnapshotCorrupt, UnreadableRecord, KeyMissing, OSError)
"""The errors of a disk that cannot be read."""


def recover(folder: Folder, empty_state: EmptyState, until: int | None = None) -> Recovered:
    """Fold snapshot and journal into a fresh state, up to position `until` if it is given.

    Recovery logs a damaged snapshot as an error and takes the one before it. Raises JournalCorrupt,
    KeyMissing, UnreadableRecord, and SnapshotCorrupt if there are snapshots without a journal.
    """
    if not list_segments(folder.path):
        if any(position for position, _ in files.list_snapshots(folder.path)):
            raise files.SnapshotCorrupt(
                f"{folder.path} has snapshots but no journal: restore the whole folder from a backup"
            )
        if any(folder.path.glob(f"{files.PREFIX}*{UNFINISHED}")):  # a gateway makes its journal first
            raise files.SnapshotCorrupt(f"{folder.path} holds a restore that was cut off: restore again")
    with no_garbage():
        loaded = _newest_good(folder, empty_state)
        loaded.state.take_changes()
        reader = JournalReader(folder)
        for number, record in reader.records(loaded.position, until):
            apply_record(loaded.state, folder.path, number, record)
    if until is None and reader.tail.head < loaded.durable:
        path, end = reader.tail.segment or folder.path, reader.tail.end
        raise JournalCorrupt(path, end, f"records up to position {loaded.durable} are missing")
    return Recovered(loaded.state, reader.tail, loaded.chain)


def load_snapshot(
    path: Path, keys: Keyring, empty_state: EmptyState, progress: Progress = lambda *_: None
) -> Loaded:
    """Return the state of one file, whatever its name. Raises SnapshotCorrupt, KeyMissing,
    UnreadableRecord."""
    loaded = _load(files.NO_CHAIN, path, keys, empty_state(), progress)
    loaded.state.loaded()
    return loaded


def load_chain(paths: Sequence[Path], keys: Keyring, empty_state: EmptyState) -> Loaded:
    """Return the state of a snapshot with its parts. Raises BadFile, KeyMissing, UnreadableRecord."""
    loaded = Loaded(empty_state(), 0, 0, 0, files.NO_CHAIN)
    for number, path in enumerate(paths):
        try:
            loaded = load_file(loaded.chain, path, keys, loaded.state)
        except files.SnapshotCorrupt as error:
            raise BadFile(str(error), number) from error
    loaded.state.loaded()
    return loaded


class BadFile(files.SnapshotCorrupt):
    """A file of a chain is damaged; `number` is its place."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number


def load_file(
    chain: files.Chain, path: Path, keys: Keyring, state: State, progress: Progress = lambda *_: None
) -> Loaded:
    """Load a snapshot of a folder into an empty state, or a part into the state of the chain before it.
    `state.loaded()` must follow the last file. Raises SnapshotCorrupt, KeyMissing."""
    loaded = _load(chain, path, keys, state, progress)
    if loaded.position != files.position_of(path):
        raise files.SnapshotCorrupt(f"{path} was renamed: it is of position {loaded.position}")
    return loaded


def _load(chain: files.Chain, path: Path, keys: Keyring, state: State, progress: Progress) -> Loaded:
    reader = files.SnapshotReader(path)
    position = durable = reader.header.position
    base: bytes | None = None
    for chunk in reader.chunks(keys):
        match chunk:
            case files.BaseChunk():
                base = chunk.rows[0]
                if base != chain.salt:
                    raise files.SnapshotCorrupt(f"{path} is a part, and the file before it is missing")
                load_chunk(state, chunk)
            case files.RecordsChunk():
                if position == reader.header.position:
                    state.loaded()
                for record in chunk.rows:
                    position += 1
                    apply_record(state, path, position, record)
            case files.BlobsChunk():
                pass  # `snapshot/restore.py` reads them
            case files.EndChunk():
                durable = chunk.durable
            case _:
                load_chunk(state, chunk)
        progress(reader.read_bytes, reader.size)
    if chain.salt and base is None:
        raise files.SnapshotCorrupt(f"{path} is not a part")
    return Loaded(state, position, durable, reader.header.created_ms, chain.with_file(reader))


def load_chunk(state: State, chunk: files.Copied) -> None:
    """Load the rows of a chunk. After the last one, `state.loaded()` must follow."""
    match chunk:
        case files.PackedChunk():
            state.load_packed(chunk.refs, chunk.rows, chunk.keys, chunk.at_once)
        case files.ListingsChunk() | files.DeliveriesChunk():
            state.load(chunk.rows)
        case files.UsersChunk():
            state.load_users(chunk.refs, chunk.rows, chunk.sessions, chunk.indexed)
        case files.LeavesChunk():
            state.load_votes(chunk.rows, chunk.counted or None)
        case files.CountsChunk():
            state.load_vote_counts(chunk.rows)
        case files.PartsChunk():
            state.load_parts(chunk.rows)
        case files.FleetChunk():
            state.load_fleet(chunk.rows[0])
        case files.CooldownsChunk():
            state.load_cooldowns(chunk.rows)
        case _:
            _load_change(state, chunk)


def _load_change(state: State, chunk: files.OfPart) -> None:
    match chunk:
        case files.BaseChunk():
            state.load_changes()
        case files.ChangedChunk():
            state.unload(chunk.rows)
        case files.VotesGoneChunk():
            state.unload_votes(chunk.rows)
        case files.ChangedVotesChunk():
            state.load_changed_votes(chunk.rows)


def apply_record(state: State, path: Path, number: int, record: bytes) -> None:
    """Apply a record to the state. Raises UnreadableRecord."""
    apply_events(state, events_of(path, number, record))


def events_of(path: Path, number: int, record: bytes) -> list[Event]:
    """Return the events of a record. Raises UnreadableRecord."""
    try:
        return decode_record(record)
    except UnknownEvent as error:
        raise UnreadableRecord(
            f"record {number} in {path} was written by another version: {error}"
        ) from error


def apply_events(state: State, events: Iterable[Event]) -> None:
    for event in events:
        state.apply(event)


def _newest_good(folder: Folder, empty_state: EmptyState) -> Loaded:
    is_newest = True
    for chain in reversed(files.list_chains(folder.path)):
        while chain:
            try:
                loaded = load_chain(chain, folder.keys, empty_state)
            except BadFile as error:
                log.error("%s; falling back to the snapshot before it", error)
                chain, is_newest = chain[: error.number], False
            else:
                return loaded if is_newest else loaded._replace(chain=loaded.chain._replace(is_broken=True))
    return Loaded(empty_state(), 0, 0, 0, files.NO_CHAIN)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Switch the garbage collector off: rows have no cycles, and a search for some outlasts the loading."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


FOLD_SECONDS = 3_600.0


class Order(msgspec.Struct, frozen=True):
    """An order to fold the folder at `path` up to position `until`. `keys` is its key ring as a text."""

    path: str
    keys: str
    deliveries_kept: int
    until: int

    def __repr__(self) -> str:
        return f"Order(path={self.path!r}, keys=..., until={self.until})"


class Folded(msgspec.Struct, frozen=True):
    """The digest of the folded state, or the problem if there is none."""

    digest: str | None = None
    problem: str | None = None


class Folding:
    """A process that folds once.

    It runs the command that `command` returns in the folder `place`, and that command calls `folded`.
    `command` is called in the thread of `run`, and may raise OSError.
    """

    def __init__(self, command: Callable[[], Sequence[str]], place: Path) -> None:
        self._command = command
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self, order: Order) -> Folded:
        """Run the process and return when it has ended. Call this in a thread."""
        try:
            process = subprocess.Popen(  # noqa: S603 (our own command, and no shell)
                self._command(),
                cwd=self._place,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,  # or its traceback would be in the log, in the wrong form
            )
        except OSError as error:
            return Folded(problem=f"no process to fold the disk can be started ({error.strerror})")
        complaint = b""
        with process:
            self._process = process
            if self._stopped:
                process.kill()
            try:
                told, complaint = process.communicate(msgspec.json.encode(order), FOLD_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
        if process.returncode:
            if complaint:
                text = "the process that folds the disk has failed: %s"
                log.error(text, complaint.decode("utf-8", "replace").strip())
            return Folded(problem=f"the process that folds the disk ended with status {process.returncode}")
        return msgspec.json.decode(told, type=Folded)

    def stop(self) -> None:
        """End the process if it runs or is about to."""
        self._stopped = True
        if self._process is not None:
            self._process.kill()


async def folded_apart(folding: Folding, order: Order) -> Folded:
    """Return the result of the process, without holding up the loop. A call that is cancelled ends it."""
    try:
        return await asyncio.to_thread(folding.run, order)
    finally:
        folding.stop()


def folded(order: Order, empty_state: EmptyState) -> Folded:
    """Follow the order. Runs in the process that got it."""
    folder = Folder(Path(order.path), keyring_of(order.keys))
    try:
        return Folded(recover(folder, empty_state, order.until).state.digest())
    except UNREADABLE as error:
        return Folded(problem=str(error))
