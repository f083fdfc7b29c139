"""The reminders of a user, as events and other nodes change them.

Law: of two settings of one reminder the later one wins, and of the messages of one setting the furthest. An
event about something older changes nothing.
"""

from collections.abc import Iterable
from typing import assert_never

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from core.events import ReminderAttempted, ReminderCleared, ReminderEvent, ReminderSet
from core.rows import Stamp
from core.user_rows import Reminder, ReminderMessage

OFF_KEPT = 200
"""Reminders of one user that are off and not forgotten. Nobody turns off so many while a node is away."""
Reminders = tuple[Reminder, ...] | UnsetType
_encode = msgspec.msgpack.Encoder().encode


def changed_reminders(known: Reminders, event: ReminderEvent, stamp: Stamp | None) -> Reminders:
    """Return the reminders after an event. `stamp` is given inside a fleet only."""
    rows = {each.listing: each for each in (known if known is not UNSET else ())}
    match event:
        case ReminderSet():
            rows[event.listing] = _stamped(Reminder(event.listing, event.at_ms), stamp)
        case ReminderCleared():
            rows.pop(event.listing, None)
            if stamp is not None:
                rows[event.listing] = Reminder(event.listing, event.at_ms, is_on=False, stamp=stamp)
        case ReminderAttempted():
            row = rows.get(event.listing)
            if row is None or not row.is_on or _is_known(row.message, event):
                return known
            tries = row.message.tries if row.message is not None and event.number > 1 else 0
            tries += event.outcome != "held"
            message = ReminderMessage(
                event.ends_ms, event.number, tries, event.next_attempt_ms, event.attempt
            )
            rows[event.listing] = replace(row, message=message)
        case _:
            assert_never(event)
    return _kept(rows.values())


def joined_reminders(one: Reminders, other: Reminders) -> Reminders:
    """Merge the reminders of two rows of one user."""
    if one is UNSET or other is UNSET:
        return other if one is UNSET else one
    latest: dict[str, Reminder] = {}
    for each in (*one, *other):
        latest[each.listing] = _joined(latest.get(each.listing, each), each)
    return _kept(latest.values())


def _joined(one: Reminder, other: Reminder) -> Reminder:
    if _setting(one) != _setting(other):
        return max(one, other, key=_setting)
    return max(one, other, key=lambda each: _progress(each.message))


def _setting(row: Reminder) -> tuple[Stamp, int, bool]:
    """Rank what the user chose: one that is off outlives one that is on of the same moment."""
    return row.stamp, row.set_ms, not row.is_on


def _progress(message: ReminderMessage | None) -> tuple[int, int, bool, bytes]:
    """Rank a message. The bytes decide nothing among rows of one history: they make the rank total."""
    if message is None:
        return -1, 0, False, b""
    return message.ends_ms, message.made, message.next_attempt_ms is None, _encode(message)


def _is_known(message: ReminderMessage | None, event: ReminderAttempted) -> bool:
    return message is not None and (event.ends_ms, event.number) <= (message.ends_ms, message.made)


def _stamped(row: Reminder, stamp: Stamp | None) -> Reminder:
    return replace(row, stamp=stamp) if stamp is not None else row


def _kept(rows: Iterable[Reminder]) -> Reminders:
    """Return the rows in order, with the newest of those that are off. A user without any has no field."""
    rows = [*rows]
    off = sorted((each for each in rows if not each.is_on), key=lambda each: (each.stamp, each.listing))
    left = [*(each for each in rows if each.is_on), *off[-OFF_KEPT:]]
    return tuple(sorted(left, key=lambda each: each.listing)) or UNSET
