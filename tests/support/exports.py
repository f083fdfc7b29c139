"""Exports, data folders and disks that end, for tests of both ways."""

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import pytest

from core.actors import user_actor
from core.events import DeliveryQueued, Event, KeySaved, OwnerMessageQueued, UserSignedIn
from core.rows import Key
from core.state import State
from core.user_rows import UserProfile, UserSession
from snapshot.export import Format, counts_of, export_state
from storage.disk import Disk
from storage.folder import Folder
from tests.support.journals import KEYS
from tests.support.memory_ledger import empty_state
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, OWNER, listed, voted

FORMATS: tuple[Format, ...] = get_args(Format)
SOME: list[Event] = [
    *listed(BOT_REF, url="http://127.0.0.1/", token='a "token", of\r\ntwo\rlines\x00'),
    *listed(OTHER_REF),
    KeySaved(BOT_REF, Key("id", "näme", "digest", "finger", NOW_MS, None, None)),
    DeliveryQueued("first", BOT_REF, "7", False, NOW_MS),
    voted(7, count=3),
    voted((1 << 64) - 1, ref=OTHER_REF),
    OwnerMessageQueued(OTHER_REF, user_actor(OWNER), "approved", None, NOW_MS),
    UserSignedIn("users/7", UserProfile("ada", "Ada"), UserSession("digest", "Firefox", NOW_MS, NOW_MS)),
]
POSITION = 6
by_format = pytest.mark.parametrize("written_as", FORMATS)


def state_of(events: Iterable[Event]) -> State:
    state = empty_state()
    for event in events:
        state.apply(event)
    return state


def exported(folder: Path, written_as: Format, events: Iterable[Event] = SOME) -> tuple[Path, State]:
    state = state_of(events)
    export_state(state, POSITION, folder / "out", written_as)
    return folder / "out", state


def data_folder(path: Path, disk: Disk | None = None) -> Folder:
    path.mkdir()
    return Folder(path, KEYS, disk or Disk())


def assert_same(state: State, other: State) -> None:
    assert other.digest() == state.digest()
    assert dict(other.listings) == dict(state.listings)
    assert dict(other.users) == dict(state.users)
    assert dict(other.users.by_session) == dict(state.users.by_session)
    assert list(other.listings.refs) == list(state.listings.refs)
    assert dict(other.deliveries.pending) == dict(state.deliveries.pending)
    assert [other.deliveries.newest_first(ref) for ref in other.listings.refs] == [
        state.deliveries.newest_first(ref) for ref in state.listings.refs
    ]
    finished = {ref: rows for ref, rows in state.deliveries.finished.items() if rows}
    assert finished == dict(other.deliveries.finished)
    assert dict(other.listings.grants) == dict(state.listings.grants)
    assert counts_of(other) == counts_of(state)
    assert other.listings.key_count == state.listings.key_count


class Cut(BaseException):
    """The process ends here."""


class DiskUntil(Disk):
    """Works for some calls; then `end` is raised, and when that is the end of the process, always."""

    def __init__(self, calls: int, end: BaseException) -> None:
        self.left = calls
        self._end = end

    def _count(self) -> None:
        self.left -= 1
        if self.left == -1 or (self.left < 0 and isinstance(self._end, Cut)):
            raise self._end

    def create(self, path: Path) -> int:
        self._count()
        return super().create(path)

    def write(self, file: int, content: bytes | memoryview, offset: int) -> int:
        if self.left == 0:
            super().write(file, content[: len(content) // 2], offset)
        self._count()
        return super().write(file, content, offset)

    def sync(self, file: int) -> None:
        self._count()
        super().sync(file)

    def rename(self, path: Path, to: Path) -> None:
        self._count()
        super().rename(path, to)

    def unlink(self, path: Path) -> None:
        self._count()
        super().unlink(path)

    def sync_folder(self, folder: Path) -> None:
        self._count()
        super().sync_folder(folder)


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
