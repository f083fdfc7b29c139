"""The log's way out. Invariant: all that the process says on standard error goes through here, in one form.

That includes the records of libraries, Python's warnings, and errors that nobody has caught. The access log
writes to the same stream, in a thread of its own.

Invariant: no writer waits for another one, or for a pipe that nobody reads, unless it asks to.
"""

import io
import logging
import os
import select
import stat
import sys
import threading
from types import TracebackType
from typing import BinaryIO, NamedTuple

from serving.log_lines import LINES, Form
from watchers.redaction import Redactor
from watchers.security_log import LOGGER as SECURITY

log = logging.getLogger("votegate")


PIECE = 4_096
"""The bytes that a pipe with room takes at once (PIPE_BUF)."""
_one_at_a_time = threading.RLock()  # a finalizer may log while its own thread writes


class LogOutput(NamedTuple):
    """The form of the log's lines, the secrets that no line may hold, and the stream that takes them."""

    form: Form
    redactor: Redactor
    stream: BinaryIO

    def write(self, content: bytes, seconds: float = 0) -> bool:
        """Write. Return False if the stream is closed or broken, or full for longer than `seconds`."""
        try:
            while content:
                if written := self._write_some(content):
                    content = content[written:]
                elif not _room(self.stream, seconds):
                    return False
        except (OSError, ValueError):  # ValueError: it is closed
            return False
        return True

    def _write_some(self, content: bytes) -> int:
        """Return how much is written: whole lines if there is room for one. Nobody takes the room between the
        question for it and the write, or writes into a line."""
        at = 0
        with _one_at_a_time:
            while at < len(content) and (room := _room(self.stream)):
                piece = content[at : at + room]
                lines_end = piece.rfind(b"\n") + 1
                at += self.stream.write(piece[: lines_end or room])
                self.stream.flush()
                if lines_end:
                    break
        return at

    def handler(self) -> logging.Handler:
        """Return a handler that writes records."""
        return _Writing(self)


class _Writing(logging.Handler):
    """Writes each record at once. A stream that is full or closed loses records and disturbs nobody."""

    def __init__(self, output: LogOutput) -> None:
        super().__init__()
        self.setFormatter(LINES[output.form](output.redactor))
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record) + "\n"
        self._output.write(line.encode("utf-8", "backslashreplace"))


def standard_error() -> BinaryIO:
    """Return standard error without a buffer: what it cannot take would make the exit status 120."""
    return open(sys.stderr.fileno(), "wb", buffering=0, closefd=False)


def _room(stream: BinaryIO, seconds: float = 0) -> int:
    """Return how many bytes the stream takes at once. If it is full, wait so long for a reader."""
    try:
        if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            return sys.maxsize
    except io.UnsupportedOperation:  # it is in memory
        return sys.maxsize
    asked = select.poll()
    asked.register(stream, select.POLLOUT)
    return PIECE if asked.poll(seconds * 1_000) else 0


def begin_logging(output: LogOutput, level: str) -> None:
    """Let everything that the process says go to `output`, from now on and until it ends."""
    logging.basicConfig(level=level, handlers=[output.handler()])
    # Its INFO lines quote malformed requests, and a malformed request may hold a secret.
    logging.getLogger("tornado.general").setLevel(max(logging.WARNING, logging.getLogger().level))
    logging.getLogger(SECURITY).setLevel(logging.INFO)  # whatever the level of all else
    logging.captureWarnings(capture=True)
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
