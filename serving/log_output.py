"""The log: its two forms, text for people and JSON for machines, and the stream that takes its lines.

Invariants. Everything that the process writes to standard error goes through here, in one form. That includes
the records of libraries, Python's warnings, and errors that nobody has caught. No writer waits for another
one, or for a pipe that nobody reads, unless it asks to.

    text  2026-09-21 14:13:20,042 WARNING watchers.refused_addresses[5f2c81d310000042]: the address ...
    json  {"time": "2026-09-21T14:13:20.042Z", "level": "WARNING", "logger": "watchers.refused_addresses",
           "request": "5f2c81d310000042", "message": "the address ..."}      (in one line)

A line of one of several workers has its number: `WARNING watchers.concerns@2: ...`, or the field `worker`.
A line that a request has caused has the request's id. In JSON, a line of the security log has its facts as
fields, too, such as `user` and `address`. Text has local time, JSON has UTC (RFC 3339). JSON has a traceback
in the field `traceback`, and text in the lines that follow. The access log
writes to the same stream, in a thread of its own.
"""

import io
import logging
import os
import select
import stat
import sys
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple

from core.actors import REQUEST_ID
from watchers.redaction import Redactor
from watchers.security_log import LOGGER as SECURITY

Form = Literal["text", "json"]
quoted = encode_basestring_ascii
"""Returns a text as JSON, in ASCII: no text can break a line or leave its quotes."""


class _Worker:
    """The name of this process in each line, if it is one of several workers."""

    text = json = ""


_worker = _Worker()


def name_worker(number: int | None) -> None:
    """Let each line from now on have the number of this worker, if it is one."""
    if number is not None:
        _worker.text, _worker.json = f"@{number}", f', "worker": {number}'


class _Lines(logging.Formatter):
    """Formats records and lines of the access log, without secrets, in the form of a subclass."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def _traceback(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        parts += [self.formatStack(record.stack_info)] if record.stack_info else []
        return "\n".join(parts)


class TextLines(_Lines):
    @staticmethod
    def head(now_ms: int, level: str, logger: str, request: str) -> str:
        """Return the beginning of a line."""
        cause = f"[{request}]" if request else ""
        return f"{_local_second(now_ms // 1_000)},{now_ms % 1_000:03} {level} {logger}{_worker.text}{cause}: "

    @staticmethod
    def answer(status: int, method: str, path: str, address: str, ms: float) -> str:
        """Return the rest of a line about an answer."""
        return f"{status} {_one_word(method)} {_one_word(path)} {_one_word(address)} {ms:.1f}ms\n"

    @staticmethod
    def dropped(number: int) -> str:
        """Return the rest of a line about answers that were not logged."""
        return f"{number} answers were not logged\n"

    def format(self, record: logging.LogRecord) -> str:
        head = self.head(_ms(record), record.levelname, record.name, REQUEST_ID.get())
        traceback = self._traceback(record)
        return self._redactor(head + _message(record) + (f"\n{traceback}" if traceback else ""))


class JsonLines(_Lines):
    @staticmethod
    def head(now_ms: int, level: str, logger: str, request: str) -> str:
        """Return the beginning of an object: more fields, a brace and a line feed must follow."""
        cause = f', "request": "{request}"' if request else ""
        return (
            f'{{"time": "{_utc_second(now_ms // 1_000)}.{now_ms % 1_000:03}Z", "level": "{level}", '
            f'"logger": {quoted(logger)}{_worker.json}{cause}'
        )

    @staticmethod
    def answer(status: int, method: str, path: str, address: str, ms: float) -> str:
        message = quoted(f"{status} {method} {path}")
        return (
            f', "message": {message}, "status": {status}, "method": {quoted(method)}, '
            f'"path": {quoted(path)}, "address": {quoted(address)}, "ms": {ms:.3f}}}\n'
        )

    @staticmethod
    def dropped(number: int) -> str:
        return f', "message": "{number} answers were not logged"}}\n'

    def format(self, record: logging.LogRecord) -> str:
        # Each text is redacted before it is quoted: a replaced secret must not break the object.
        head = self.head(_ms(record), record.levelname, record.name, REQUEST_ID.get())
        line = f'{head}, "message": {quoted(self._redactor(_message(record)))}'
        fields: Mapping[str, str] = getattr(record, "fields", {})
        line += "".join(f', "{name}": {quoted(self._redactor(value))}' for name, value in fields.items())
        traceback = self._traceback(record)
        return f'{line}, "traceback": {quoted(self._redactor(traceback))}}}' if traceback else f"{line}}}"


LINES: dict[Form, type[TextLines | JsonLines]] = {"text": TextLines, "json": JsonLines}


def _one_word(text: str) -> str:
    """Escape all but visible ASCII without spaces, so that a client can forge no line and no field."""
    if text.isascii() and text.isprintable() and " " not in text and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii").replace(" ", "\\x20")


def _ms(record: logging.LogRecord) -> int:
    return int(record.created * 1_000)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # arguments that do not fit the text: a bug that must not cost the line
        return f"{record.msg} {record.args!r}"


@lru_cache(maxsize=2)
def _local_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second):%Y-%m-%d %H:%M:%S}"


@lru_cache(maxsize=2)
def _utc_second(second: int) -> str:
    return f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"


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
        """Return how much is written: whole lines if there is room for one. No other writer takes the room
        in between, or writes into a line."""
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
    """Return standard error without a buffer: unwritten bytes in one would make the exit status 120."""
    return open(sys.stderr.fileno(), "wb", buffering=0, closefd=False)


def _room(stream: BinaryIO, seconds: float = 0) -> int:
    """Return how many bytes the stream takes at once. If it is full, wait up to `seconds` for a reader."""
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
    logging.getLogger(SECURITY).setLevel(logging.INFO)  # at every level of all other lines
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
