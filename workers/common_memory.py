"""The memory that all workers of a machine map.

Invariant: each word has one writer, its worker. The supervisor writes a worker's words only while there is no
such process.

The words are 8 bytes each, aligned, and in the byte order of the machine:

    head of worker 1 | head of worker 2 | ... | counts of worker 1 | counts of worker 2 | ...

A head has `HEAD_WORDS` words: whether the worker accepts connections, how many it has, and the position up to
which it has read each other worker. Its counts are those of `ratelimit/common_counts.py`. The kernel gives
pages of the memory only when they are written.
"""

import mmap
import os

HEAD_WORDS = 72  # whole lines of the processor's cache: no two workers write to one
ACCEPTS, CONNECTIONS, READ = 0, 1, 8
WORD_BYTES = 8


class CommonMemory:
    """The mapped memory. `words` has all of it."""

    def __init__(self, descriptor: int, workers: int, count_words: int) -> None:
        self.workers = workers
        self._count_words = count_words
        self._map = mmap.mmap(descriptor, _size(workers, count_words))
        self.words = memoryview(self._map).cast("Q")

    def counts(self, worker: int) -> int:
        """Return the place of the first word of a worker's counts."""
        return self.workers * HEAD_WORDS + (worker - 1) * self._count_words

    def head(self, worker: int) -> int:
        return (worker - 1) * HEAD_WORDS

    def forget_connections(self, worker: int) -> None:
        """Note that a worker is gone, and its connections with it. Its counts stay."""
        head = self.head(worker)
        self.words[head + ACCEPTS] = self.words[head + CONNECTIONS] = 0


def made(workers: int, count_words: int) -> int:
    """Make the memory, filled with zeros. Return its descriptor."""
    descriptor = os.memfd_create("votegate-workers", os.MFD_CLOEXEC)
    os.ftruncate(descriptor, _size(workers, count_words))
    return descriptor


def _size(workers: int, count_words: int) -> int:
    return workers * (HEAD_WORDS + count_words) * WORD_BYTES
