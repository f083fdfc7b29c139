"""The log's way out. Law: all that the process says on standard error goes through here, in one form.

That includes the records of libraries, Python's warnings, and errors that nobody has caught. The access log
writes to the same stream, in a thread of its own.
"""

import logging
import sys
import threading
from types import TracebackType
from typing import BinaryIO, NamedTuple

from handlers.redaction import Redactor
from handlers.security_log import LOGGER as SECURITY
from serving.log_lines import LINES, Form

log = logging.getLogger("votegate")


class LogOutput(NamedTuple):
    """The form of the log's lines, the secrets that no line may hold, and the stream that takes them."""

    form: Form
    redactor: Redactor
    stream: BinaryIO

    def handler(self) -> logging.Handler:
        """Return a handler that writes records."""
        return _Writing(self)


class _Writing(logging.Handler):
    """Writes each record at once. A stream that is full or closed loses records and disturbs nobody."""

    def __init__(self, output: LogOutput) -> None:
        super().__init__()
        self.setFormatter(LINES[output.form](output.redactor))
        self._stream = output.stream

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record) + "\n"
        try:
            self._stream.write(line.encode("utf-8", "backslashreplace"))
            self._stream.flush()
        except (OSError, ValueError):  # ValueError: it is closed
            return


def begin_logging(output: LogOutput, level: str) -> None:
    """Let everything that the process says go to `output`, from now on and until it ends."""
    logging.basicConfig(level=level, handlers=[output.handler()])
    # Its INFO lines quote malformed requests, and a malformed request may hold a secret.
    logging.getLogger("tornado.general").setLevel(max(logging.WARNING, logging.getLogger().level))
    logging.getLogger(SECURITY).setLevel(logging.INFO)  # whatever the level of all else
    logging.captureWarnings(True)
    sys.excepthook = _stopped_by
    threading.excepthook = _thread_stopped_by
    sys.unraisablehook = _not_raised


def _stopped_by(kind: type[BaseException], error: BaseException, place: TracebackType | None) -> None:
    log.critical("stopped by a failure", exc_info=(kind, error, place))


def _thread_stopped_by(what: threading.ExceptHookArgs) -> None:
    error = what.exc_value or what.exc_type()
    name = what.thread.name if what.thread is not None else "unknown"
    log.error("the thread %s stopped", name, exc_info=(what.exc_type, error, what.exc_traceback))


def _not_raised(what: "sys.UnraisableHookArgs") -> None:
    error = what.exc_value or what.exc_type()
    log.error("%s", what.err_msg or "an error where none can be raised", exc_info=error)
