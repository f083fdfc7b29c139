"""The last warnings and errors of the log, for the operator.

Invariant: a line is redacted before it is kept.
"""

import logging
from collections import deque
from typing import NamedTuple

from core.actors import REQUEST_ID
from watchers.redaction import Redactor

LINES = 100
TEXT, TRACEBACK = 1_000, 8_000
"""The characters that are kept of a line, and of the end of its traceback."""


class LoggedLine(NamedTuple):
    """A line of the log, at a time in Unix ms. `request_id` is that of the request that caused it."""

    at: int
    level: str
    logger: str
    text: str
    traceback: str | None
    request_id: str | None


class RecentErrors(logging.Handler):
    """A handler that keeps the last lines from level WARNING on."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(logging.WARNING)
        self._redactor = redactor
        self._formatter = logging.Formatter()
        self._lines: deque[LoggedLine] = deque(maxlen=LINES)

    @property
    def lines(self) -> list[LoggedLine]:
        """The lines, the newest first."""
        return list(self._lines)[::-1]  # one step: other threads log too

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self._line(record))
        except Exception:
            self.handleError(record)

    def _line(self, record: logging.LogRecord) -> LoggedLine:
        traceback = None
        if record.exc_info:
            traceback = self._redactor(self._formatter.formatException(record.exc_info))[-TRACEBACK:]
        return LoggedLine(
            round(record.created * 1_000),
            record.levelname,
            record.name,
            self._redactor(record.getMessage())[:TEXT],
            traceback,
            REQUEST_ID.get() or None,
        )
