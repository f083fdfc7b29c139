"""The access log. Law: an answer waits for no line; a line is formatted, written and lost somewhere else.

What was answered is put aside as it is. A few times a second a thread of its own formats what has come
together, without queries and secrets, and writes it in one piece.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import lru_cache
from itertools import starmap
from json.encoder import encode_basestring_ascii as _quoted
from typing import BinaryIO, Literal, NamedTuple

from core.clock import Clock
from handlers.redaction import Redactor

WRITE_SECONDS = 0.2
LAST_SECONDS = 2
"""How long a stop waits for the last batch to be written."""
WAITING = 50_000
"""Answers that may wait to be written; about 60 MB with paths as long as can be."""
PATH = 256
"""How much of a path is logged."""
KEPT = 4 * PATH
"""How much of it waits, so that a secret that is cut off lies behind what is logged, encoded or not."""
FAILED = 400
"""The lowest status that is no success."""

_Answer = tuple[int, int, str, str, str, int]
"""(Unix milliseconds, status, method, path, address, nanoseconds it took)"""


class AccessLog:
    """One line per answer. Of those that succeed one in `sample` is logged, of the others every one."""

    def __init__(
        self,
        clock: Clock,
        form: Literal["text", "json"],
        *,
        sample: int = 1,
        waiting: int = WAITING,
        stream: BinaryIO | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        """`stream` is the standard error unless given; beyond `waiting` answers, more are counted alone."""
        self._clock = clock
        self._form = _FORMS[form]
        self._redactor = redactor if redactor is not None else Redactor()
        self._sample = sample
        self._passed_over = sample - 1  # the first one is logged
        self._room = waiting
        self._stream = sys.stderr.buffer if stream is None else stream
        self._waiting: list[_Answer] = []
        self._dropped = 0
        self._thread = ThreadPoolExecutor(1, "access-log")  # starts it with the first batch

    def answered(self, status: int, method: str, path: str, address: str, duration_ns: int) -> None:
        """To be called on the loop. Of the path only what comes before a `?` is logged."""
        if status < FAILED:
            if self._passed_over + 1 < self._sample:
                self._passed_over += 1
                return
            self._passed_over = 0
        if len(self._waiting) < self._room:
            self._waiting.append((self._clock.now_ms(), status, method, path[:KEPT], address, duration_ns))
        else:
            self._dropped += 1

    async def run(self) -> None:
        """Writes until it is cancelled, and then what is left."""
        try:
            while True:
                await asyncio.sleep(WRITE_SECONDS)
                await self.step()
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self.step()
            self._thread.shutdown(wait=False)

    async def step(self) -> None:
        """Has written what waits, and a line on how many were dropped; returns when that is done."""
        if not self._waiting and not self._dropped:
            return
        batch, self._waiting = self._waiting, []
        dropped, self._dropped = self._dropped, 0
        now_ms = self._clock.now_ms()
        writing = asyncio.get_running_loop().run_in_executor(
            self._thread, self._write, batch, dropped, now_ms
        )
        if not await asyncio.shield(writing):  # a stop must not take a batch out of the thread's hands
            self._dropped += len(batch) + dropped

    def _line(self, now_ms: int, status: int, method: str, path: str, address: str, duration_ns: int) -> str:
        behind = KEPT - PATH if len(path) == KEPT else 0  # is not logged: a secret may be cut off there
        method, path = self._redactor(method), self._redactor(path)
        path = path[: max(len(path) - behind, 0)]
        path = path.partition("?")[0][:PATH]  # a query may hold what is nobody's business
        return self._form.line(now_ms, status, method, path, address, duration_ns)

    def _write(self, batch: Sequence[_Answer], dropped: int, now_ms: int) -> bool:
        """Whether it could be written; a stream that is broken is tried again with the next batch."""
        text = "".join(starmap(self._line, batch))
        if dropped:
            text += self._form.dropped(now_ms, dropped)
        try:
            self._stream.write(text.encode())
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: it is closed
            return False
        return True


def _text_line(now_ms: int, status: int, method: str, path: str, _: str, duration_ns: int) -> str:
    """As the other log lines are, in local time."""
    return (
        f"{_local_second(now_ms // 1_000)},{now_ms % 1_000:03} INFO votegate.access: "
        f"{status} {_one_word(method)} {_one_word(path)} {duration_ns / 1e6:.1f}ms\n"
    )


def _text_of_dropped(now_ms: int, dropped: int) -> str:
    stamp = f"{_local_second(now_ms // 1_000)},{now_ms % 1_000:03}"
    return f"{stamp} WARNING votegate.access: {dropped} answers were not logged\n"


def _json_line(now_ms: int, status: int, method: str, path: str, address: str, duration_ns: int) -> str:
    """With the time as RFC 3339 has it, in UTC."""
    return (
        f'{{"time": "{_utc_second(now_ms // 1_000)}.{now_ms % 1_000:03}Z", "status": {status}, '
        f'"method": {_quoted(method)}, "path": {_quoted(path)}, '
        f'"address": {_quoted(address)}, "ms": {duration_ns / 1e6:.3f}}}\n'
    )


def _json_of_dropped(now_ms: int, dropped: int) -> str:
    stamp = f"{_utc_second(now_ms // 1_000)}.{now_ms % 1_000:03}Z"
    return f'{{"time": "{stamp}", "dropped": {dropped}}}\n'


class _Form(NamedTuple):
    line: Callable[[int, int, str, str, str, int], str]
    dropped: Callable[[int, int], str]


_FORMS = {"text": _Form(_text_line, _text_of_dropped), "json": _Form(_json_line, _json_of_dropped)}


@lru_cache(maxsize=1)
def _local_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second):%Y-%m-%d %H:%M:%S}"


@lru_cache(maxsize=1)
def _utc_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


def _one_word(text: str) -> str:
    """Visible ASCII without spaces, so that a client can forge no line and no field."""
    if text.isascii() and text.isprintable() and " " not in text and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii").replace(" ", "\\x20")
