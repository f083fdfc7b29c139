"""Answers to be logged, and a stream that remembers what was written at once and by whom."""

import io
import threading
from typing import Any, BinaryIO, Literal

from core.clock import FakeClock
from serving.access_log import AccessLog
from tests.support.coroutines import run

PATH, ADDRESS, LOG_FORMAT = "/bots/1/voters/2", "192.0.2.1", "%(asctime)s %(levelname)s %(name)s: %(message)s"
NOW_MS = 1_790_000_000_042


class Pages(io.BytesIO):
    """Remembers what was written at once, and by whom."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[str] = []
        self.threads: set[str] = set()
        self.flushed = 0

    def write(self, page: Any) -> int:
        self.pages.append(bytes(page).decode())
        self.threads.add(threading.current_thread().name)
        return len(page)

    def flush(self) -> None:
        self.flushed += 1


def make(stream: BinaryIO, form: Literal["text", "json"] = "text", **options: Any) -> AccessLog:
    return AccessLog(FakeClock(NOW_MS), form, stream=stream, **options)


def answer(log: AccessLog, path: str = PATH, status: int = 200, times: int = 1) -> None:
    for _ in range(times):
        log.answered(status, "GET", path, ADDRESS, 1_250_000)


def written(log: AccessLog, pages: Pages) -> list[str]:
    """Return the lines that the next step writes."""
    pages.pages.clear()
    run(log.step())
    return "".join(pages.pages).split("\n")[:-1]
