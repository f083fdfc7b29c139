"""The types of options and arguments, as people write them: `24h`, `20/2h`, `servers/123`, a file or -."""

import json
import re
import sys
from abc import abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from core.clock import SystemClock
from kinds.kind import Kind
from kinds.registry import BY_PLURAL, KINDS

_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(rf"(\d{{1,9}}) ?({'|'.join(_UNITS)})", re.ASCII)


class ListingRef(NamedTuple):
    """A listing, by its kind and its id."""

    kind: Kind
    id: str

    @property
    def thing(self) -> str:
        """The kind as operations are named: Bot or Server."""
        return self.kind.title


class ParameterType(click.ParamType[Any]):
    """A type of this file: it reads a text or says what a person may write."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

    @abstractmethod
    def read(self, text: str) -> Any:
        """Return the value that a text means. Raises ValueError with what a person may write."""


class Seconds(ParameterType):
    name = "duration"

    def read(self, text: str) -> int:
        match = _DURATION.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no duration: 90s, 15m, 24h or 7d")
        return int(match[1]) * _UNITS[match[2]]


class TimeMs(ParameterType):
    """A time. Without a zone it is UTC."""

    name = "time"
    example = "2026-01-31T18:00"

    def read(self, text: str) -> int:
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise ValueError(f"{text!r} is no time: {self.example}") from None
        return int((at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp() * 1_000)


class PastMs(TimeMs):
    """A time, or how long ago it was."""

    example = "2026-01-31T18:00, or how long ago, such as 24h"

    def read(self, text: str) -> int:
        if _DURATION.fullmatch(text):
            return max(SystemClock().now_ms() - SECONDS.read(text) * 1_000, 0)
        return super().read(text)


class FromNowMs(ParameterType):
    """A duration, as the time at which it is over."""

    name = "duration"

    def read(self, text: str) -> int:
        return SystemClock().now_ms() + SECONDS.read(text) * 1_000


class RateLimit(ParameterType):
    """Requests per window, or `default`."""

    name = "limit"

    def read(self, text: str) -> dict[str, int] | str:
        if text == "default":
            return text
        requests, slash, window = text.partition("/")
        if not (slash and requests.isascii() and requests.isdigit() and len(requests) <= 9):
            raise ValueError(f"{text!r} is no limit: 20/2h, or default")
        return {"requests": int(requests), "window_seconds": SECONDS.read(window)}


class ListingParameter(ParameterType):
    """A bot's id, bots/ID or servers/ID."""

    name = "listing"

    def read(self, text: str) -> ListingRef:
        kind, _, listing_id = text.rpartition("/")
        found = BY_PLURAL.get(kind or KINDS[0].plural)
        if found is None or not listing_id:
            first, *others = KINDS
            refs = " or ".join(f"{each.plural}/ID" for each in (first, *others))
            raise ValueError(f"{text!r} is no listing: a {first.singular}'s id, {refs}")
        return ListingRef(found, listing_id)


class JsonObject(ParameterType):
    name = "json"

    def read(self, text: str) -> dict[str, Any]:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"it is not JSON: {error}") from None
        if not isinstance(body, dict):
            raise ValueError("it must be a JSON object")
        return body


class TextFile(ParameterType):
    """The text of a file; - is standard input."""

    name = "file"

    def read(self, text: str) -> str:
        try:
            content = sys.stdin.buffer.read() if text == "-" else Path(text).read_bytes()
            return content.decode()
        except OSError as error:
            raise ValueError(f"{text}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ValueError(f"{text}: it is not UTF-8 text") from None


class TrimmedFile(TextFile):
    """The text of a file without the white space around it, such as a token."""

    def read(self, text: str) -> str:
        return super().read(text).strip()


SECONDS = Seconds()
