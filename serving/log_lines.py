"""The two forms of a log line: text for people, JSON for machines. Invariant: the whole log has one form.

    text  2026-09-21 14:13:20,042 WARNING watchers.refused_addresses[5f2c81d310000042]: the address ...
    json  {"time": "2026-09-21T14:13:20.042Z", "level": "WARNING", "logger": "watchers.refused_addresses",
           "request": "5f2c81d310000042", "message": "the address ..."}      (in one line)

A line that a request has caused has the request's id. In JSON, a line of the security log has its facts as
fields, too, such as `user` and `address`. Text has local time, JSON has UTC (RFC 3339). JSON has a traceback
in the field `traceback`, and text in the lines that follow.
"""

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Literal

from core.request_id import REQUEST_ID
from watchers.redaction import Redactor

Form = Literal["text", "json"]
quoted = encode_basestring_ascii
"""Returns a text as JSON, in ASCII: no text can break a line or leave its quotes."""


def text_head(now_ms: int, level: str, logger: str, request: str) -> str:
    """Return the beginning of a line of text."""
    cause = f"[{request}]" if request else ""
    return f"{_local_second(now_ms // 1_000)},{now_ms % 1_000:03} {level} {logger}{cause}: "


def json_head(now_ms: int, level: str, logger: str, request: str) -> str:
    """Return the beginning of a JSON object: more fields, a brace and a line feed must follow."""
    cause = f', "request": "{request}"' if request else ""
    return (
        f'{{"time": "{_utc_second(now_ms // 1_000)}.{now_ms % 1_000:03}Z", "level": "{level}", '
        f'"logger": {quoted(logger)}{cause}'
    )


class _Lines(logging.Formatter):
    """Formats records without secrets, in the form of a subclass."""

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self._redactor = redactor

    def _traceback(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else []
        parts += [self.formatStack(record.stack_info)] if record.stack_info else []
        return "\n".join(parts)


class TextLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        head = text_head(_ms(record), record.levelname, record.name, REQUEST_ID.get())
        traceback = self._traceback(record)
        return self._redactor(head + _message(record) + (f"\n{traceback}" if traceback else ""))


class JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        # Each text is redacted before it is quoted: what replaces a secret must not break the object.
        head = json_head(_ms(record), record.levelname, record.name, REQUEST_ID.get())
        line = f'{head}, "message": {quoted(self._redactor(_message(record)))}'
        fields: Mapping[str, str] = getattr(record, "fields", {})
        line += "".join(f', "{name}": {quoted(self._redactor(value))}' for name, value in fields.items())
        traceback = self._traceback(record)
        return f'{line}, "traceback": {quoted(self._redactor(traceback))}}}' if traceback else f"{line}}}"


LINES: dict[Form, type[_Lines]] = {"text": TextLines, "json": JsonLines}


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
