"""The memory that all workers of a machine map.

Invariant: each word has one writer, its worker. The supervisor writes a worker's words only while there is no
such process.

The words are 8 bytes each, aligned, and in the byte order of the machine:

    heads of worker 1, 2, ... | counts of worker 1, 2, ... | notes of worker 1, 2, ...

A head has `HEAD_WORDS` words: if the worker accepts connections, how many it has, and the position up to
which it has read each other worker. `ratelimit/common_counts.py` describes the counts, and `session_board.py`
the notes. The kernel allocates pages of the memory only when they are written.
"""

import mmap
import os
from typing import NamedTuple

HEAD_WORDS = 72  # whole lines of the processor's cache: no two workers write to one
ACCEPTS, CONNECTIONS, READ = 0, 1, 8
WORD_BYTES = 8


class Layout(NamedTuple):
    """The number of workers, and the words that each has."""

    workers: int
    count_words: int
    note_words: int

    @property
    def size(self) -> int:
        return self.workers * (HEAD_WORDS + self.count_words + self.note_words) * WORD_BYTES


class CommonMemory:
    """The mapped memory. `words` has all of it."""

    def __init__(self, descriptor: int, layout: Layout) -> None:
        self.workers = layout.workers
        self._layout = layout
        self._map = mmap.mmap(descriptor, layout.size)
        self.words = memoryview(self._map).cast("Q")

    def counts(self, worker: int) -> int:
        """Return the place of the first word of a worker's counts."""
        return self.workers * HEAD_WORDS + (worker - 1) * self._layout.count_words

    def notes(self, worker: int) -> int:
        """Return the place of the first word of a worker's notes."""
        before = self.workers * (HEAD_WORDS + self._layout.count_words)
        return before + (worker - 1) * self._layout.note_words

    def head(self, worker: int) -> int:
        return (worker - 1) * HEAD_WORDS

    def forget_connections(self, worker: int) -> None:
        """Note that a worker is gone, and its connections with it. Its counts stay."""
        head = self.head(worker)
        self.words[head + ACCEPTS] = self.words[head + CONNECTIONS] = 0


def made(layout: Layout) -> int:
    """Make the memory, filled with zeros. Return its descriptor."""
    descriptor = os.memfd_create("votegate-workers", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, layout.size)
    return descriptor
