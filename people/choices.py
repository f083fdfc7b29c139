"""The choices of a user: reminders of listings, and the name among the top voters that owners see.

Invariant: a user has a bounded number of reminders, one for each listing at most, and is named only after
choosing to be. `core/due_reminders.py` tells from the votes which reminders are due.
"""

from core.actors import Actor
from core.due_reminders import due_reminders, holds, standing
from core.events import Event, ReminderSet, UserSlotsSet
from core.state import State
from core.user_rows import Naming, UserRow, user_ref
from languages.refusals import Refusal

REMINDERS_MOST = 100
"""Reminders of one user."""


def set_reminder(state: State, user_id: str, listing: str, now_ms: int, *, by: Actor) -> list[Event]:
    """Remind the user of a listing from now on. Reminders of listings that are gone make room.

    Changes nothing if that is so already. Raises Refusal.
    """
    row, found = state.users.get(user_ref(user_id)), state.listings.get(listing)
    if row is None:
        raise Refusal("no_such_user")
    if found is None or not found.is_public:
        raise Refusal("no_such_listing")
    known = row.reminder(listing)
    if known is not None and holds(state.listings, known):
        return []
    if len(standing(state, row)) >= REMINDERS_MOST:
        raise Refusal("too_many_reminders", most=REMINDERS_MOST)
    over = [each for each in row.reminders_on if not holds(state.listings, each) and each is not known]
    dropped = [ReminderSet(row.ref, each.listing, now_ms, is_on=False, by=by) for each in over]
    # The listing may be dated by the clock of another node, which is ahead.
    return [*dropped, ReminderSet(row.ref, listing, max(now_ms, found.created_ms), by=by)]


def is_reminded(state: State, user_id: str, listing: str) -> bool:
    """Tell if the user is reminded of the listing that is there now."""
    row = state.users.get(user_ref(user_id))
    reminder = row.reminder(listing) if row is not None else None
    return reminder is not None and holds(state.listings, reminder)


def clear_reminders(
    state: State, user_id: str, listing: str | None, now_ms: int, *, by: Actor
) -> list[Event]:
    """Do not remind the user of a listing any more; of none at all if it is None."""
    row = state.users.get(user_ref(user_id))
    kept = row.reminders_on if row is not None else ()
    return [
        ReminderSet(user_ref(user_id), each.listing, now_ms, is_on=False, by=by)
        for each in kept
        if listing is None or each.listing == listing
    ]


def unread_reminders(state: State, cooldown_ms: int, row: UserRow, now_ms: int) -> int:
    """Return how many reminders a user has not seen yet: a look-up for each, so every page may ask."""
    found = due_reminders(state, row, cooldown_ms, now_ms)
    return sum(each.is_new for each in found)


def set_naming(state: State, user_id: str, now_ms: int, *, is_allowed: bool, by: Actor) -> list[Event]:
    """Let owners see the user's name among their top voters, or not any more.

    Changes nothing if that is so already. Raises Refusal.
    """
    row = state.users.get(user_ref(user_id))
    if row is None:
        raise Refusal("no_such_user")
    if row.lets_name == is_allowed:
        return []
    return [UserSlotsSet(row.ref, now_ms, naming=Naming(now_ms, is_allowed), by=by)]
