"""Verification of everything on disk. Invariant: it goes on behind bad bytes, and changes nothing."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from journal.segments import JournalReader, list_segments
from snapshot.files import list_snapshots
from snapshot.recovery import (
    UNREADABLE,
    EmptyState,
    Loaded,
    Progress,
    events_of,
    load_snapshot,
    recover,
)
from storage.folder import Folder
from storage.sealing import Keyring

Bars = Callable[[str], Progress]
"""Makes a progress for each thing that is read, by its name. A total of 0 bytes is unknown."""


class Finding(msgspec.Struct, frozen=True):
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


def verify_file(path: Path, keys: Keyring, empty_state: EmptyState, bars: Bars) -> VerifiedDisk:
    """Read a snapshot or a backup."""
    try:
        loaded = load_snapshot(path, keys, empty_state, bars(path.name))
    except UNREADABLE as error:
        return VerifiedDisk([Finding(path.name, good=False, text=str(error))])
    return VerifiedDisk([_whole(path, loaded)], loaded.position, loaded.state.digest())


def verify_folder(folder: Folder, empty_state: EmptyState, bars: Bars) -> VerifiedDisk:
    """Read every snapshot and the journal to its end, and then fold them as a start does."""
    verified = VerifiedDisk([])
    for position, path in list_snapshots(folder.path):
        verified.findings.append(_snapshot(folder, path, position, empty_state, bars(path.name)))
    verified.findings.append(_journal(folder, bars("the journal")))
    bars("the state")(0, 0)
    try:
        recovered = recover(folder, empty_state)
    except UNREADABLE as error:
        verified.findings.append(Finding("the state", good=False, text=str(error)))
        return verified
    verified.position, verified.digest = recovered.tail.head, recovered.state.digest()
    return verified


def _snapshot(
    folder: Folder, path: Path, position: int, empty_state: EmptyState, progress: Progress
) -> Finding:
    try:
        loaded = load_snapshot(path, folder.keys, empty_state, progress)
    except UNREADABLE as error:
        return Finding(path.name, good=False, text=str(error))
    if loaded.position != position:
        return Finding(path.name, good=False, text=f"it was renamed: it is of position {loaded.position}")
    return _whole(path, loaded)


def _whole(path: Path, loaded: Loaded) -> Finding:
    needs = f", and it needs the journal up to {loaded.durable}" if loaded.durable > loaded.position else ""
    return Finding(path.name, good=True, text=f"whole, of position {loaded.position}{needs}")


def _journal(folder: Folder, progress: Progress) -> Finding:
    """Read every record of the journal that the oldest snapshot does not make superfluous."""
    progress(0, 0)
    what, segments = "the journal", list_segments(folder.path)
    if not segments:
        return Finding(what, good=True, text="there is none")
    before = [segments[0][0] - 1, *(position for position, _ in list_snapshots(folder.path)[:1])]
    first, reader = max(before) + 1, JournalReader(folder)
    try:
        for position, record in reader.records(first - 1):
            events_of(folder.path, position, record)
    except UNREADABLE as error:
        return Finding(what, good=False, text=str(error))
    text = f"whole, {len(segments)} segments, positions {first} to {reader.tail.head}"
    if reader.tail.torn:
        text += "; behind them an unfinished write of a crash, which the next start sets aside"
    return Finding(what, good=True, text=text)
