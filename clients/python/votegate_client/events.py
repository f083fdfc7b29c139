"""The values that handlers get, and their reading from the body of a webhook.

The body of a vote or a test has no `type`. Every other event has one, which may be unknown here. So
only a vote becomes a `Vote`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, ClassVar


@dataclass(frozen=True)
class Vote:
    """A user has voted for a listing: one of `bot`, `guild` and `template` is set."""

    id: str
    """The id of the event (`webhook-id`), the same each time that it is sent."""
    user: str
    bot: str | None = None
    guild: str | None = None
    template: str | None = None


@dataclass(frozen=True)
class Test:
    """Somebody has pressed Send Test. Nobody has voted."""

    __test__: ClassVar[bool] = False  # pytest must not collect it

    id: str
    user: str


@dataclass(frozen=True)
class Event:
    """Another event of a listing, such as `review.denied`."""

    id: str
    type: str
    raw: Mapping[str, Any]
    """The whole body."""
    at: datetime | None = None
    """The time of the decision or the review."""
    bot: str | None = None
    guild: str | None = None
    template: str | None = None
    user: str | None = None
    reason: str | None = None
    stars: int | None = None


def read_event(event_id: str, body: bytes) -> Vote | Test | Event:
    """Read the body of a genuine webhook. Raises ValueError if it is no vote, test or event."""
    try:
        raw = json.loads(body.decode())
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        raise ValueError("The body is not JSON.") from None
    if not isinstance(raw, dict):
        raise ValueError("The body is not a JSON object.")
    user = _text(raw, "user")
    bot, guild, template = _text(raw, "bot"), _text(raw, "guild"), _text(raw, "template")
    if isinstance(raw.get("type"), str):
        return Event(
            id=event_id,
            type=raw["type"],
            raw=raw,
            at=_time(raw.get("at")),
            bot=bot,
            guild=guild,
            template=template,
            user=user,
            reason=_text(raw, "reason"),
            stars=_whole_number(raw.get("stars")),
        )
    if "type" not in raw and user is not None:
        if raw.get("test") is True:
            return Test(event_id, user)
        if raw.get("test") is False and (bot or guild or template):
            return Vote(event_id, user, bot, guild, template)
    raise ValueError("The body is not a vote, a test or an event.")


def _text(raw: Mapping[str, Any], name: str) -> str | None:
    """Return a field that is text; None for any other. An id as a number may have been rounded."""
    value = raw.get(name)
    return value if isinstance(value, str) else None


def _whole_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _time(value: object) -> datetime | None:
    """Read Unix milliseconds."""
    milliseconds = _whole_number(value)
    if milliseconds is None:
        return None
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
