"""The counts that a bot has pushed, by day. Law: of each day the greatest count stands.

So days may be put again, late and in any order, and nodes of a fleet that have heard the same pushes have
the same history. Days are those of UTC (`core/clock.py`). A listing keeps its newest `KEPT` days with pushes.
That rule looks at no clock, so it is the same at all nodes and in a replay.

A history is bytes, because it goes with the row of its listing:

    head    newest day u16 | its server count u32 | its command count u16
    older days, the newest first: the days between, doubled, plus 1 if the command count is another one than
            that of the day before in this list; the change of the server count; that of the command count,
            if it is another one

A count is raised by one, and 0 stands for none. Numbers behind the head are those of `core/varints.py`. The
first changes are from 0. Most pushes are of the newest day and change the head alone.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from core.varints import change_of, numbers_in, put_change, put_number

KEPT = 90
MAX_DAY = (1 << 16) - 1
MAX_SERVERS = (1 << 32) - 2
MAX_COMMANDS = (1 << 16) - 2
History = bytes | UnsetType
"""UNSET for a listing that has pushed nothing."""
_HEAD = struct.Struct("<HIH")


class Pushed(NamedTuple):
    """The greatest counts of a day; None for one that the bot had not pushed by then."""

    servers: int | None
    commands: int | None


def with_push(history: History, day: int, servers: int | None, commands: int | None) -> History:
    """Return the history with a push of that day."""
    new = _raised(servers, MAX_SERVERS), _raised(commands, MAX_COMMANDS)
    day = min(max(day, 0), MAX_DAY)
    if history is UNSET:
        return _HEAD.pack(day, *new)
    newest, *known = _HEAD.unpack_from(history)
    if day == newest:
        if new[0] <= known[0] and new[1] <= known[1]:
            return history
        return _HEAD.pack(day, max(new[0], known[0]), max(new[1], known[1])) + history[_HEAD.size :]
    return _encoded(_greatest(_decoded(history), {day: new}))


def joined_histories(one: History, other: History) -> History:
    """Merge the histories of two rows of one listing."""
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    return one if one == other else _encoded(_greatest(_decoded(one), _decoded(other)))


def pushes_of(history: History) -> Mapping[int, Pushed]:
    """Return the counts by day as `day_of` counts it, in order, without days that had no push."""
    days = _decoded(history) if history is not UNSET else {}
    return {day: Pushed(*(count - 1 if count else None for count in days[day])) for day in sorted(days)}


_Days = dict[int, tuple[int, int]]
"""Raised counts by day."""


def _greatest(one: _Days, other: _Days) -> _Days:
    days = dict(one)
    for day, (servers, commands) in other.items():
        known = days.get(day, (0, 0))
        days[day] = max(servers, known[0]), max(commands, known[1])
    return days


def _raised(count: int | None, most: int) -> int:
    return 0 if count is None else min(max(count, 0), most) + 1


def _encoded(days: _Days) -> bytes:
    newest, *older = sorted(days, reverse=True)[:KEPT]
    body = bytearray()
    before, servers, commands = newest, 0, 0
    for day in older:
        changed = days[day][1] != commands
        put_number(body, (before - day - 1) << 1 | changed)
        put_change(body, days[day][0] - servers)
        if changed:
            put_change(body, days[day][1] - commands)
        before, (servers, commands) = day, days[day]
    return _HEAD.pack(newest, *days[newest]) + bytes(body)


def _decoded(history: bytes) -> _Days:
    day, *newest = _HEAD.unpack_from(history)
    days: _Days = {day: (newest[0], newest[1])}
    numbers = numbers_in(history[_HEAD.size :])
    servers = commands = 0
    for number in numbers:
        day -= (number >> 1) + 1
        servers += change_of(next(numbers))
        if number & 1:
            commands += change_of(next(numbers))
        days[day] = servers, commands
    return days
