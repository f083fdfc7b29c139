"""Answers of the API as text for people.

Invariant: a line fits the terminal, and a key or digest is never cut.

The name of a value has its unit, as in the whole API: `uptime_seconds`, `resident_bytes`, `created_at`.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import click
from rich.cells import cell_len

from cli.remote import printable
from kinds.registry import KINDS

NARROWEST = 12
"""Columns that a text needs to be read in."""
COLUMNS: Mapping[str, Sequence[str]] = {
    **{
        kind.plural: (
            "id",
            "name",
            "state",
            "server_count" if kind.stats is not None else "category",
            "created_at",
        )
        for kind in KINDS
    },
    "keys": ("id", "name", "fingerprint", "created_at", "rotated_at", "old_key_until", "last_used"),
    "users": ("id", "username", "display_name", "moderator", "sessions"),
    "moderators": ("id", "username", "display_name", "moderator"),
    "sessions": ("id", "label", "opened_at", "seen_at"),
    "quarantines": ("act", "reason", "by", "since", "until", "in_force"),
    "queue": ("ref", "what", "name", "owner_id", "since", "claimed_by", "proven"),
    "notes": ("at", "by", "text"),
    "reports": ("at", "by", "reason", "text"),
    "history": ("at", "by", "deed", "about"),
    "deliveries": ("id", "user", "state", "status", "error", "attempts", "queued_at", "next_attempt_at"),
    "attempts": ("at", "status", "error", "duration_ms"),
}
"""The fields of a list that its table shows; a list that is not here shows all that hold one value.

A column without any value is left out.
"""
_PROSE = {"name", "display_name", "label", "short_description", "description", "reason", "excerpt", "text"}
"""Texts that people wrote: a word that is longer than the line is cut. Of any other it could be a key."""
_LABELS = {"seconds": "took", "bytes": "size"}
"""Labels of fields whose name is nothing but a unit."""
_SIZES = ("KiB", "MiB", "GiB", "TiB")
_UNITS = ("_seconds", "_bytes", "_ms", "_at")
_MOMENTS = {"at", "since", "until", "lastVote", "nextVoteAt", "old_key_until", "old_secret_until"}


def outline(values: Mapping[str, Any], width: int, name: str = "") -> Iterator[str]:
    """Yield the lines of an answer: first single values, then its parts, each below its name.

    `name` is that of the whole, whose unit its values share: `loop_lag_ms: {"last": 1}`.
    """
    single = {key: value for key, value in values.items() if not _is_part(value)}
    labels = {key: label(key) for key in single}
    indent = max((cell_len(each) for each in labels.values()), default=0) + 2
    for key, value in single.items():
        text = text_of(_with_unit(key, name), value)
        yield from _entry(labels[key], text, indent, width, cut=key in _PROSE)
    is_first = not single
    for key, value in values.items():
        if key in single:
            continue
        if not is_first:
            yield ""
        is_first = False
        yield label(key)
        part = (
            _list_lines(key, value, width - 2) if isinstance(value, list) else outline(value, width - 2, key)
        )
        yield from (f"  {line}" if line else "" for line in part)


def table(name: str, rows: Sequence[Mapping[str, Any]], width: int) -> Iterator[str]:
    """Yield the lines of a list. If it is too wide, its texts fold; if it still is, rows are outlines."""
    known = COLUMNS.get(name, rows[0] if rows else ())
    shown = [key for key in known if any(row.get(key) is not None for row in rows)]
    if name not in COLUMNS:
        shown = [key for key in shown if not any(_is_part(row.get(key)) for row in rows)]
    heads = [label(key) for key in shown]
    cells = [[_cell(key, row.get(key)) for key in shown] for row in rows]
    if not cells:
        return
    widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    excess = sum(widths) + 2 * (len(widths) - 1) - width
    folding = [place for place, key in enumerate(shown) if key in _PROSE]
    if excess > 0 and folding:
        at = max(folding, key=widths.__getitem__)
        widths[at], excess = max(widths[at] - excess, NARROWEST), excess - (widths[at] - NARROWEST)
    if excess > 0 or not shown:
        for number, row in enumerate(rows):
            yield from ([] if number == 0 else [""])
            yield from outline({key: row.get(key) for key in shown} or row, width)
        return
    yield click.style(_joined(heads, widths), bold=True)
    for row_cells in cells:
        folded = [
            _folded(cell, wide, cut=key in _PROSE)
            for key, cell, wide in zip(shown, row_cells, widths, strict=True)
        ]
        for number in range(max(map(len, folded))):
            yield _joined([lines[number] if number < len(lines) else "" for lines in folded], widths)


def label(name: str) -> str:
    """Return a field's name as words, without its unit."""
    name = _LABELS.get(name, name)
    for unit in _UNITS:
        name = name.removesuffix(unit) or name
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return printable(words.replace("_", " ") if words.islower() else words.lower().replace("_", " "))


def text_of(name: str, value: Any) -> str:
    """Return a value with its unit."""
    if value is None or value in ([], {}):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(text_of(name, each) for each in value)
    if isinstance(value, int | float):
        return _number(name, value)
    return printable(str(value))


def moment(milliseconds: float) -> str:
    try:
        return datetime.fromtimestamp(milliseconds / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):
        return "an impossible time"


def duration(seconds: float) -> str:
    """Return a time in its two largest units: 3 d 4 h, 2 min 5 s, 0.25 s."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole, parts = int(seconds), list[str]()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")):
        if whole >= size or parts:
            parts.append(f"{whole // size} {unit}")
            whole %= size
    return " ".join(part for part in parts[:2] if not part.startswith("0 "))


def size(number: float) -> str:
    """Return a number of bytes in the largest unit that it fills."""
    if number < 1_024:
        return f"{number:.0f} bytes"
    power = min(int(math.log(number, 1_024)), len(_SIZES))
    return f"{number / 1_024**power:.1f} {_SIZES[power - 1]}"


def _number(name: str, value: float) -> str:
    if name in _MOMENTS or name.endswith(("_at", "_since", "_until")):
        return moment(value)
    if name == "seconds" or name.endswith("_seconds"):
        return duration(value)
    if name.endswith("_ms"):
        return f"{value:,.4g} ms" if value < 1_000 else duration(value / 1_000)
    if name == "bytes" or name.endswith("_bytes"):
        return size(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _with_unit(name: str, of_whole: str) -> str:
    unit = next((unit for unit in _UNITS if of_whole.endswith(unit)), "")
    return name + unit


def _is_part(value: Any) -> bool:
    return bool(value) and (
        isinstance(value, dict) or (isinstance(value, list) and any(isinstance(each, dict) for each in value))
    )


def _list_lines(name: str, rows: Sequence[Any], width: int) -> Iterator[str]:
    if all(isinstance(row, dict) for row in rows):
        yield from table(name, rows, width)
    else:
        yield from (text_of(name, row) for row in rows)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, list) and _is_part(value):
        return str(len(value))
    text = text_of(name, value)
    return text[: len("2026-01-31 18:00")] if text.endswith(" UTC") else text  # a table has little space


def _entry(name: str, text: str, indent: int, width: int, *, cut: bool) -> Iterator[str]:
    """Yield a name and its text, which folds between words. A word that is too long has a line of its own."""
    beside = _folded(text, width - indent, cut=cut)
    head = name + " " * (indent - cell_len(name))
    if indent + cell_len(text) <= width and "\n" not in text:
        yield (head + text).rstrip()
    elif width - indent >= NARROWEST and max(map(cell_len, beside)) <= width - indent:
        yield from (f"{head if number == 0 else ' ' * indent}{line}" for number, line in enumerate(beside))
    else:
        yield name
        below = _folded(text, width - 2, cut=cut)
        yield from (f"  {line}" if cell_len(line) + 2 <= width else line for line in below)


def _folded(text: str, width: int, *, cut: bool = False) -> list[str]:
    """Fold between words. A word that is too long stays whole, unless it may be cut."""
    if cell_len(text) > len(text):
        width = max(width // 2, 1)  # some characters take two columns
    lines: list[str] = []
    for paragraph in text.split("\n"):
        lines += textwrap.wrap(paragraph, max(width, 1), break_long_words=cut, break_on_hyphens=False) or [""]
    return lines


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    return "  ".join(padded).rstrip()
