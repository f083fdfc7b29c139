"""Prints lines from a thread of its own, so a pipe that nobody reads, or Ctrl-S, delays no request.

Invariant: at most `MOST` texts wait. Further ones are counted, and the count is printed in their place.
"""

import contextlib
import os
import queue
import select
import threading
from collections.abc import Callable

MOST = 10_000
LAST_SECONDS = 2
"""The longest wait for the last lines."""


class Printer:
    """Writes lines in their order.

    Args:
        descriptor: of the output. A buffered stream would fail again when the process ends.
        broken: called in the thread once nobody can read the lines any more.
        dropped: returns the line that replaces a number of texts.
    """

    def __init__(self, descriptor: int, broken: Callable[[], object], dropped: Callable[[int], str]) -> None:
        self._descriptor = descriptor
        self._broken = broken
        self._dropped = dropped
        self._missing = 0
        self._lines = queue.Queue[str | None](MOST)
        self._thread = threading.Thread(target=self._run, name="printer", daemon=True)
        self._thread.start()

    def print(self, text: str) -> None:
        """Print a text, and a line feed."""
        try:
            if self._missing:
                self._lines.put_nowait(self._dropped(self._missing))
                self._missing = 0
            self._lines.put_nowait(text)
        except queue.Full:
            self._missing += 1

    def close(self) -> None:
        """Print the lines that are left, unless the stream takes none."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=LAST_SECONDS)
        self._thread.join(LAST_SECONDS)

    def _run(self) -> None:
        try:
            while (line := self._lines.get()) is not None:
                self._write(f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError:  # the terminal is gone, or the pipe is broken
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._broken()

    def _write(self, content: bytes) -> None:
        while content:
            try:
                content = content[os.write(self._descriptor, content) :]
            except BlockingIOError:  # a pipe that does not block its writers is full
                select.select([], [self._descriptor], [])
