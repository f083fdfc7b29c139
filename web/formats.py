"""Numbers and times for operators, as the log and the API write them. Times are UTC."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

_UNITS = ("B", "kB", "MB", "GB", "TB")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"))
NOTHING = "–"


def number(value: float | None) -> str:
    """Return a number with commas between thousands; at most two digits behind the point."""
    if value is None:
        return NOTHING
    if isinstance(value, int) or value == int(value):
        return f"{int(value):,}"
    return f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) >= 0.01 else f"{value:.2g}"


def size(count: int | None) -> str:
    """Return a number of bytes in the unit that leaves up to three digits before the point."""
    if count is None:
        return NOTHING
    shown, unit = float(count), 0
    while shown >= 999.5 and unit < len(_UNITS) - 1:
        shown, unit = shown / 1_000, unit + 1
    return f"{shown:.0f} {_UNITS[unit]}" if unit == 0 or shown >= 100 else f"{shown:.1f} {_UNITS[unit]}"


def span(seconds: float | None) -> str:
    """Return a span of time in its two largest units."""
    if seconds is None:
        return NOTHING
    if seconds < 1:
        return f"{seconds * 1_000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    left, parts = round(seconds), []
    for length, name in _SPANS:
        if left >= length:
            parts.append(f"{left // length} {name}")
            left %= length
    if left and len(parts) < 2:
        parts.append(f"{left} s")
    return " ".join(parts[:2])


def milliseconds(value: float | None) -> str:
    """Return a short span of time, given in milliseconds, with three digits at most."""
    if value is None:
        return NOTHING
    if value >= 1_000:
        return f"{value / 1_000:.1f} s"
    return f"{value:.3g} ms" if value >= 1 else f"{value * 1_000:.0f} µs"


def moment(at_ms: int | None) -> str:
    """Return a `<time>` element of a moment in Unix milliseconds."""
    if at_ms is None:
        return NOTHING
    at = datetime.fromtimestamp(at_ms / 1_000, UTC)
    text, exact = at.strftime("%Y-%m-%d %H:%M:%S"), at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return Markup('<time datetime="{}" title="UTC">{}</time>').format(exact, text)


def share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else NOTHING


FILTERS: Mapping[str, Callable[..., Any]] = {
    "number": number,
    "size": size,
    "span": span,
    "moment": moment,
    "milliseconds": milliseconds,
    "share": share,
}
"""The formats by their names in templates."""
