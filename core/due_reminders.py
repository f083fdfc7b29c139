"""The reminders of a user that are due. They follow from votes and reminders, and are not kept.

A cooldown ends at the time of the user's last vote and the cooldown together. The user is reminded of that
end if it came after the reminder was turned on. So there is one reminder for each vote, whatever is restarted
and whichever node is asked, and another vote takes it away.

A reminder ends with its listing, even if another listing is submitted under the same id later. The reminder
of a listing that is not public waits.
"""

from collections.abc import Iterator
from typing import NamedTuple

from core.listing_table import ListingsView
from core.rows import Listing
from core.state import State
from core.user_rows import Reminder, UserRow


class DueReminder(NamedTuple):
    """A listing that the user may vote for again, since `ends_ms`. `is_new`: the user has not seen it yet."""

    row: Listing
    reminder: Reminder
    ends_ms: int
    is_new: bool

    @property
    def at_ms(self) -> int:
        return self.ends_ms


def holds(listings: ListingsView, reminder: Reminder) -> bool:
    """Tell if the listing is there that was there when the user turned the reminder on."""
    return _listing_of(listings, reminder) is not None


def _listing_of(listings: ListingsView, reminder: Reminder) -> Listing | None:
    row = listings.get(reminder.listing)
    return row if row is not None and row.created_ms <= reminder.set_ms else None


def standing(state: State, row: UserRow) -> list[Reminder]:
    """Return the reminders that hold."""
    return [each for each in row.reminders_on if holds(state.listings, each)]


def ends_ms(state: State, row: UserRow, reminder: Reminder, cooldown_ms: int) -> int | None:
    """Return the end of the cooldown that the user is to be reminded of; None if there is none."""
    vote = state.votes.get(reminder.listing, int(row.id))
    if vote is None or vote[1] + cooldown_ms <= reminder.set_ms:
        return None
    return vote[1] + cooldown_ms


def due_reminder(
    state: State, row: UserRow, reminder: Reminder, cooldown_ms: int, now_ms: int
) -> DueReminder | None:
    """Return a reminder of the user if it is due."""
    due_ms = ends_ms(state, row, reminder, cooldown_ms)
    listing = _listing_of(state.listings, reminder)
    if due_ms is None or now_ms < due_ms or listing is None or not listing.is_public:
        return None
    return DueReminder(listing, reminder, due_ms, due_ms > row.read_ms)


def due_reminders(state: State, row: UserRow, cooldown_ms: int, now_ms: int) -> Iterator[DueReminder]:
    """Yield the reminders that are due: a look-up for each."""
    found = (due_reminder(state, row, each, cooldown_ms, now_ms) for each in row.reminders_on)
    yield from (each for each in found if each is not None)
