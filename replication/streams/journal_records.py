"""Records of this node's journal, read back in a thread: the event loop never waits for the disk."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from core.events import Event, UnknownEvent, decode_record, encode_record
from journal.segments import JournalCorrupt, JournalReader
from replication.streams.entries import proof_of
from storage.folder import Folder
from storage.sealing import KeyMissing

UNREADABLE = (JournalCorrupt, KeyMissing, UnknownEvent, OSError)
Records = Iterator[tuple[int, Sequence[Event]]]


class JournalRecords:
    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, "read back")

    def between(self, after: int, until: int) -> Records:
        """Yield (position, events) behind `after` up to `until`; for `take` only. Raises UNREADABLE."""
        for position, record in JournalReader(self._folder).records(after, until):
            yield position, decode_record(record)

    async def take(self, records: Records, most: int) -> list[tuple[int, Sequence[Event]]]:
        """Return the next records, at most so many. Raises UNREADABLE."""
        return await self._in_thread(lambda: list(islice(records, most)))

    async def have(self, position: int, proof: bytes) -> bool:
        """Tell if the record at the position has this proof. If the disk no longer has it, assume so."""
        try:
            found = await self.take(self.between(position - 1, position), 1)
        except UNREADABLE:
            return True
        return all(proof_of(encode_record(events)) == proof for _, events in found)

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)

    async def _in_thread(
        self, call: Callable[[], list[tuple[int, Sequence[Event]]]]
    ) -> list[tuple[int, Sequence[Event]]]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)
