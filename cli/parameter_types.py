"""The types of options and arguments, as people write them: `24h`, `20/2h`, `servers/123`, a file or -."""

import json
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from core.clock import SystemClock
from kinds.kind import Kind
from kinds.registry import BY_PLURAL, KINDS

_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(rf"(\d{{1,9}}) ?({'|'.join(_UNITS)})", re.ASCII)
_TIME = "2026-01-31T18:00"


class ListingRef(NamedTuple):
    """A listing, by its kind and its id."""

    kind: Kind
    id: str

    @property
    def thing(self) -> str:
        """The kind as operations are named, such as Bot."""
        return self.kind.title


class ParameterType(click.ParamType[Any]):
    """A type whose values `read` returns. It raises ValueError with what a person may write."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration: 90s, 15m, 24h or 7d")
    return int(match[1]) * _UNITS[match[2]]


def _time_ms(text: str, written: str = _TIME) -> int:
    """Read a time. Without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time: {written}") from None
    return int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1_000)


def _past_ms(text: str) -> int:
    """Read a time, or how long ago it was."""
    if _DURATION.fullmatch(text):
        return max(SystemClock().now_ms() - _seconds(text) * 1_000, 0)
    return _time_ms(text, f"{_TIME}, or how long ago, such as 24h")


def _from_now_ms(text: str) -> int:
    """Read a duration, as the time at which it is over."""
    return SystemClock().now_ms() + _seconds(text) * 1_000


def _rate_limit(text: str) -> dict[str, int] | str:
    """Read requests per window, or `default`."""
    if text == "default":
        return text
    requests, slash, window = text.partition("/")
    if not (slash and requests.isascii() and requests.isdigit() and len(requests) <= 9):
        raise ValueError(f"{text!r} is no limit: 20/2h, or default")
    return {"requests": int(requests), "window_seconds": _seconds(window)}


def _listing(text: str) -> ListingRef:
    """Read a bot's id, bots/ID or servers/ID."""
    kind, _, listing_id = text.rpartition("/")
    found = BY_PLURAL.get(kind or KINDS[0].plural)
    if found is None or not listing_id:
        refs = " or ".join(f"{each.plural}/ID" for each in KINDS)
        raise ValueError(f"{text!r} is no listing: a {KINDS[0].singular}'s id, {refs}")
    return ListingRef(found, listing_id)


def _json_object(text: str) -> dict[str, Any]:
    """Read a JSON object. Raises ValueError."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise ValueError("it must be a JSON object")
    return body


def _bytes_of_file(text: str) -> bytes:
    """Return the bytes of a file; - is standard input."""
    try:
        return sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
    except OSError as error:
        raise ValueError(f"{text}: {error.strerror}") from None


def _text_of_file(text: str) -> str:
    """Return the text of a file; - is standard input."""
    try:
        return _bytes_of_file(text).decode()
    except UnicodeDecodeError:
        raise ValueError(f"{text}: it is not UTF-8 text") from None


SECONDS = ParameterType("duration", _seconds)
TIME_MS = ParameterType("time", _time_ms)
PAST_MS = ParameterType("time", _past_ms)
FROM_NOW_MS = ParameterType("duration", _from_now_ms)
RATE_LIMIT = ParameterType("limit", _rate_limit)
LISTING = ParameterType("listing", _listing)
JSON_OBJECT = ParameterType("json", _json_object)
BYTES = ParameterType("file", _bytes_of_file)
TEXT_FILE = ParameterType("file", _text_of_file)
TRIMMED_FILE = ParameterType("file", lambda text: _text_of_file(text).strip())
"""A file without the white space around its text, such as a token."""
