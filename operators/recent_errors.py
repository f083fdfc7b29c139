"""The last warnings and errors of the log, for the operator.

Invariant: a line is redacted before it is kept.
"""

import logging
from collections import deque
from typing import Annotated

from msgspec import Meta

from actions.views import NULL, Moment, Success, View, example
from core.actors import REQUEST_ID
from kinds.registry import SAMPLE_REF
from watchers.redaction import Redactor

LINES = 100
TEXT, TRACEBACK = 1_000, 8_000
"""The characters that are kept of a line, and of the end of its traceback."""


class ErrorLineView(View):
    """A warning or an error that was logged."""

    at: Moment
    level: Annotated[str, Meta(description="`WARNING`, `ERROR` or `CRITICAL`."), example("WARNING")]
    logger: Annotated[
        str,
        Meta(description="The part of the program that logged the line."),
        example("webhook.suspension_log"),
    ]
    text: Annotated[
        str,
        Meta(
            examples=[
                f"the endpoint of {SAMPLE_REF} is suspended: http_500; its webhooks wait, and one "
                "probes it in 60 s"
            ]
        ),
    ]
    traceback: Annotated[str | None, NULL]
    request_id: Annotated[
        str | None,
        Meta(description="The `x-request-id` of the request that caused the line; null if no request did."),
        NULL,
    ]


class ErrorLines(Success):
    """The last warnings and errors, the newest first."""

    errors: Annotated[
        tuple[ErrorLineView, ...], Meta(description=f"At most {LINES} lines. Secrets are removed from them.")
    ]


class RecentErrors(logging.Handler):
    """A handler that keeps the last lines from level WARNING on."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__(logging.WARNING)
        self._redactor = redactor
        self._formatter = logging.Formatter()
        self._lines: deque[ErrorLineView] = deque(maxlen=LINES)

    def show(self) -> ErrorLines:
        """Return the lines, the newest first."""
        return ErrorLines(errors=tuple(self._lines)[::-1])  # one step: other threads log too

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.append(self._line(record))
        except Exception:
            self.handleError(record)

    def _line(self, record: logging.LogRecord) -> ErrorLineView:
        traceback = None
        if record.exc_info:
            traceback = self._redactor(self._formatter.formatException(record.exc_info))[-TRACEBACK:]
        return ErrorLineView(
            at=round(record.created * 1_000),
            level=record.levelname,
            logger=record.name,
            text=self._redactor(record.getMessage())[:TEXT],
            traceback=traceback,
            request_id=REQUEST_ID.get() or None,
        )
