"""The counts that a bot has pushed, by day. Invariant: of each day the greatest count stands.

So days may be put again, late and in any order, and nodes of a fleet that have heard the same pushes have
the same history. Days are those of UTC (`core/clock.py`). A listing keeps its newest `KEPT` days with pushes.
That rule looks at no clock, so it is the same at all nodes and in a replay.

A history is bytes in the row of its listing:

    head    newest day u16 | its server count u32 | its command count u16
    older days, the newest first: their number, the counts of the first one, and three columns: gaps, and the
            changes of either count from the day before in this list. A gap is how many days are missing there

A count is raised by one, and 0 stands for none. What is behind the head is of `core/bit_fields.py`. Most
pushes are of the newest day and change the head alone.
"""

import struct
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from core.bit_fields import BitReader, BitWriter, change_of, zigzag

KEPT = 90
MAX_DAY = (1 << 16) - 1
MAX_SERVERS = (1 << 32) - 2
MAX_COMMANDS = (1 << 16) - 2
_HEAD = struct.Struct("<HIH")
_LENGTH_BITS, _SERVERS_BITS, _COMMANDS_BITS = 7, 32, 16


class Pushed(NamedTuple):
    """The greatest counts of a day; None for a count that the bot had not pushed by then."""

    servers: int | None
    commands: int | None


def with_push(history: bytes, day: int, servers: int | None, commands: int | None) -> bytes:
    """Return the history with a push of that day."""
    return _with_day(history, _clamped(day), _raised(servers, MAX_SERVERS), _raised(commands, MAX_COMMANDS))


def on_day(history: bytes, day: int) -> bytes:
    """Return the history of that day alone; nothing without a push on it."""
    if not history:
        return b""
    day = _clamped(day)
    if day == _HEAD.unpack_from(history)[0]:
        return history[: _HEAD.size]
    counts = _decoded(history).get(day)
    return _HEAD.pack(day, *counts) if counts is not None else b""


def joined_histories(one: bytes, other: bytes) -> bytes:
    """Merge the histories of two rows of one listing."""
    if one == other or not one or not other:
        return one or other
    one, other = sorted((one, other), key=len)
    if len(one) == _HEAD.size:
        return _with_day(other, *_HEAD.unpack(one))
    return _encoded(_greatest(_decoded(one), _decoded(other)))


def pushes_of(history: bytes) -> Mapping[int, Pushed]:
    """Return the counts by day as `day_of` counts it, in order, without days that had no push."""
    days = _decoded(history) if history else {}
    return {day: Pushed(*(count - 1 if count else None for count in days[day])) for day in sorted(days)}


_Days = dict[int, tuple[int, int]]
"""Raised counts by day."""


def _greatest(one: _Days, other: _Days) -> _Days:
    days = dict(one)
    for day, (servers, commands) in other.items():
        known = days.get(day, (0, 0))
        days[day] = max(servers, known[0]), max(commands, known[1])
    return days


def _with_day(history: bytes, day: int, servers: int, commands: int) -> bytes:
    if not history:
        return _HEAD.pack(day, servers, commands)
    newest, *known = _HEAD.unpack_from(history)
    if day != newest:
        return _encoded(_greatest(_decoded(history), {day: (servers, commands)}))
    if servers <= known[0] and commands <= known[1]:
        return history
    return _HEAD.pack(day, max(servers, known[0]), max(commands, known[1])) + history[_HEAD.size :]


def _clamped(day: int) -> int:
    return min(max(day, 0), MAX_DAY)


def _raised(count: int | None, most: int) -> int:
    return 0 if count is None else min(max(count, 0), most) + 1


def _encoded(days: _Days) -> bytes:
    newest, *older = sorted(days, reverse=True)[:KEPT]
    body = BitWriter()
    if older:
        counts = [days[day] for day in older]
        first, changes = counts[0], [*pairwise((counts[0], *counts))]
        for number, bits in (
            (len(older), _LENGTH_BITS),
            (first[0], _SERVERS_BITS),
            (first[1], _COMMANDS_BITS),
        ):
            body.put(number, bits)
        body.put_rare([last - day - 1 for last, day in pairwise((newest, *older))])
        body.put_column([zigzag(after[0] - before[0]) for before, after in changes])
        body.put_rare([zigzag(after[1] - before[1]) for before, after in changes])
    return _HEAD.pack(newest, *days[newest]) + body.content()


def _decoded(history: bytes) -> _Days:
    day, *newest = _HEAD.unpack_from(history)
    days: _Days = {day: (newest[0], newest[1])}
    body = BitReader(history[_HEAD.size :])
    length, servers, commands = map(body.take, (_LENGTH_BITS, _SERVERS_BITS, _COMMANDS_BITS))
    columns = body.take_rare(length), body.take_column(length), body.take_rare(length)
    for gap, of_servers, of_commands in zip(*columns, strict=True):
        day -= gap + 1
        servers += change_of(of_servers)
        commands += change_of(of_commands)
        days[day] = servers, commands
    return days
