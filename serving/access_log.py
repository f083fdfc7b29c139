"""The access log. Invariant: no response waits for the log.

The event loop only collects the answers. A few times a second, a thread formats the collected lines,
without queries and secrets, and writes them at once.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import starmap

from core.clock import Clock
from serving.direct import request_id
from serving.log_output import LINES, LogOutput

WRITE_SECONDS = 0.2
LAST_SECONDS = 2
"""The longest wait of a stop for the last batch."""
FULL_SECONDS = 2
"""The longest wait of a batch for a full pipe."""
WAITING = 50_000
"""The most responses that may wait to be written: about 60 MB with the longest paths. Further ones are only
counted."""
PATH = 256
"""The characters of a path that are logged."""
KEPT = 4 * PATH
"""The characters of a path that are collected: so many that a secret cut off at the end is behind the logged
part."""
FAILED = 400
"""The lowest status of a failure."""

LOGGER = "votegate.access"

_Answer = tuple[int, int, str, str, str, int, int]
"""(Unix milliseconds, status, method, path, address, duration in nanoseconds, number of the request's id)"""


class AccessLog:
    """Writes a line for each failure, and for one in `sample` of the successes."""

    def __init__(self, clock: Clock, output: LogOutput, *, sample: int = 1) -> None:
        self._clock = clock
        self._lines = LINES[output.form]
        self._redactor = output.redactor
        self._sample = sample
        self._passed_over = sample - 1  # the first one is logged
        self._output = output
        self._waiting: list[_Answer] = []
        self._dropped = 0
        self._thread = ThreadPoolExecutor(1, "access-log")  # starts it with the first batch

    def answered(
        self, status: int, method: str, path: str, address: str, duration_ns: int, number: int
    ) -> None:
        """Collect a response. Runs on the event loop. Only the part of the path before a `?` is logged."""
        if status < FAILED:
            if self._passed_over + 1 < self._sample:
                self._passed_over += 1
                return
            self._passed_over = 0
        if len(self._waiting) < WAITING:
            self._waiting.append(
                (self._clock.now_ms(), status, method, path[:KEPT], address, duration_ns, number)
            )
        else:
            self._dropped += 1

    async def run(self) -> None:
        """Write a batch at regular intervals until cancelled, and then the rest. It may run again after a
        failure."""
        try:
            while True:
                await asyncio.sleep(WRITE_SECONDS)
                await self.step()
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):  # a last batch that cannot be written must not keep a stop
                async with asyncio.timeout(LAST_SECONDS):
                    await self.step()
            self._thread.shutdown(wait=False)
            raise

    async def step(self) -> None:
        """Write the collected responses, and a line with the number of dropped responses. Returns after the
        write."""
        if not self._waiting and not self._dropped:
            return
        batch, self._waiting = self._waiting, []
        dropped, self._dropped = self._dropped, 0
        now_ms = self._clock.now_ms()
        loop = asyncio.get_running_loop()
        try:
            writing = loop.run_in_executor(self._thread, self._write, batch, dropped, now_ms)
            # A stop must not cancel a batch that the thread writes.
            is_written = await asyncio.shield(writing)
        except Exception:
            self._dropped += len(batch) + dropped
            raise
        if not is_written:
            self._dropped += len(batch) + dropped

    def _line(
        self, now_ms: int, status: int, method: str, path: str, address: str, duration_ns: int, number: int
    ) -> str:
        behind = KEPT - PATH if len(path) == KEPT else 0  # not logged: the end may be a part of a secret
        method, path = self._redactor(method), self._redactor(path)
        path = path[: max(len(path) - behind, 0)]
        path = path.partition("?")[0][:PATH]  # a query may hold private values
        head = self._lines.head(now_ms, "INFO", LOGGER, request_id(number))
        return head + self._lines.answer(status, method, path, address, duration_ns / 1e6)

    def _write(self, batch: Sequence[_Answer], dropped: int, now_ms: int) -> bool:
        """Write a batch. Returns False if the stream takes it no more; the next batch tries it again."""
        text = "".join(starmap(self._line, batch))
        if dropped:
            text += self._lines.head(now_ms, "WARNING", LOGGER, "") + self._lines.dropped(dropped)
        return self._output.write(text.encode(), FULL_SECONDS)
