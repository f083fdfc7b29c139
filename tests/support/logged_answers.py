"""Answers to be logged, and a stream that keeps each write and its thread."""

import io
import threading
from typing import Any, BinaryIO

from serving.access_log import AccessLog
from serving.direct import request_id
from serving.log_output import Form, LogOutput
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from watchers.redaction import Redactor

PATH, ADDRESS = "/bots/1/voters/2", "192.0.2.1"
NOW_MS, NUMBER = 1_790_000_000_042, 10_000_007
ID = request_id(NUMBER)


class Pages(io.BytesIO):
    """A stream that keeps each write, and the names of the threads."""

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


def output(stream: BinaryIO, form: Form = "text", *secrets: str) -> LogOutput:
    return LogOutput(form, Redactor(*secrets), stream)


def make(stream: BinaryIO, form: Form = "text", **options: Any) -> AccessLog:
    return AccessLog(FakeClock(NOW_MS), output(stream, form), **options)


def answer(log: AccessLog, path: str = PATH, status: int = 200, times: int = 1) -> None:
    for _ in range(times):
        log.answered(status, "GET", path, ADDRESS, 1_250_000, NUMBER)


def written(log: AccessLog, pages: Pages) -> list[str]:
    """Return the lines that the next step writes."""
    pages.pages.clear()
    run(log.step())
    return "".join(pages.pages).split("\n")[:-1]
