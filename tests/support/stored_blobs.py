"""Files of listings for tests, and a store of them on a journal in memory."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from blobs.blob_names import BlobNames
from blobs.blob_store import BlobBounds, Blobs
from blobs.sealed_blobs import digest_of
from core.events import Event, ListingSaved
from core.ledger import Ledger
from core.state import State
from forms.file_fields import FileRef
from handlers.slices import in_slices
from kinds.bots import BotProfile
from storage.disk import OS_DISK, Disk
from storage.sealing import Keyring
from tests.support.fake_clock import FakeClock
from tests.support.journals import KEYS, on
from tests.support.memory_ledger import MemoryJournal, empty_state
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OWNER

MIB = 1 << 20
BOUNDS = BlobBounds(MIB, 4 * MIB, MIB, 3_600)
PNG = b"\x89PNG\r\n\x1a\n a picture"


def picture(content: bytes = PNG) -> FileRef:
    """Return what a row says of a picture with this content."""
    return FileRef(digest_of(content), "image/png", len(content), 1, 1, 1)


def with_file(file: FileRef | None) -> BotProfile:
    """Return a profile that names a file."""
    return replace(BOT_PROFILE, banner=file)


def saved(file: FileRef | None, ref: str = BOT_REF) -> list[Event]:
    """Return the event of a submission, or of an edit, after which a listing names a file."""
    return [ListingSaved(ref, OWNER, with_file(file), "in_review", NOW_MS)]


class StoredBlobs:
    """A store with its ledger, and the clock of both."""

    def __init__(
        self, folder: Path, bounds: BlobBounds = BOUNDS, disk: Disk = OS_DISK, keys: Keyring = KEYS
    ) -> None:
        self.clock = FakeClock()
        self.state: State = empty_state()
        self.ledger = Ledger(self.state, MemoryJournal(), 0)
        self.names = BlobNames(self.state)
        self.ledger.subscribe(self.names.on_record)
        self.deleting = asyncio.Lock()
        self.blobs = Blobs(
            on(folder, keys, disk), self.ledger, self.names, self.clock, bounds, in_slices, self.deleting
        )
        self.blobs.owned = self._owned

    async def _owned(self, user_id: str) -> Iterable[str]:
        return [ref for ref in self.state.listings.refs if self.state.listings[ref].owner_id == user_id]

    async def swept_after(self, seconds: float) -> None:
        """Let time pass, and sweep."""
        self.clock.advance(seconds)
        await self.blobs.sweep()

    @property
    def on_disk(self) -> set[str]:
        return {found.digest for found in self.blobs.on_disk.all()}
