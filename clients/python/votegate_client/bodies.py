"""JSON in the body of a reply or a webhook, and the values in it."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any, cast

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
YEAR_9999 = 253_370_764_800_000
"""Unix milliseconds: the last year of `datetime`."""


def json_object(body: bytes) -> dict[str, Any] | None:
    """Return a body as a JSON object; None if it is something else."""
    try:
        value = json.loads(body.decode())
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def whole_number(value: object) -> int | None:
    """Return a value that is a whole number; None for any other."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def time_of(value: object) -> datetime | None:
    """Return the time of Unix milliseconds, in UTC; None if the value is no such time."""
    milliseconds = whole_number(value)
    if milliseconds is None or not 0 <= milliseconds < YEAR_9999:
        return None
    return EPOCH + timedelta(milliseconds=milliseconds)
