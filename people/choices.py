"""The choices of a user: reminders of listings, mails, and the name among the top voters that owners see.

Invariant: a user has a bounded number of reminders, one for each listing at most, and is named only after
choosing to be. An address of a user is kept only while the user wants mails.

`core/due_reminders.py` tells from the votes which reminders are due.
"""

from collections.abc import Collection, Iterable
from typing import get_args

from msgspec.structs import replace

from core.actors import GATEWAY, Actor
from core.due_reminders import due_reminders, holds, standing
from core.events import Event, ReminderSet, UserSlotsSet
from core.state import State
from core.user_rows import MailChoice, MailTopic, Naming, UserRow, user_ref
from grammars.patterns import is_mail_address
from kinds.registry import kind_of
from languages.language_names import Language
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
    if found is None or not (found.is_public and kind_of(listing).has("votes")):
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


def set_mail_topics(
    state: State,
    user_id: str,
    topics: Collection[str],
    language: Language | None,
    now_ms: int,
    *,
    by: Actor,
) -> list[Event]:
    """Let the user get mails on these topics, and on no others. Unknown topics are left out.

    Without a topic the address is forgotten. Changes nothing if the topics are the same. Raises Refusal.
    """
    row = state.users.get(user_ref(user_id))
    if row is None:
        raise Refusal("no_such_user")
    known = row.mail or MailChoice(0)
    chosen: tuple[MailTopic, ...] = tuple(each for each in get_args(MailTopic) if each in topics)
    if chosen == known.topics:
        return []
    choice = MailChoice(now_ms, chosen, language, known.address if chosen else None)
    return [UserSlotsSet(row.ref, now_ms, mail=choice, by=by)]


def keep_address(row: UserRow | None, address: str | None, now_ms: int, *, by: Actor) -> list[Event]:
    """Keep the address that the chat platform has just told of a user who wants mails.

    Args:
        address: None if the platform told none that the user has confirmed.
    """
    if row is None or row.mail is None or not row.mail.topics:
        return []
    known = address if address is not None and is_mail_address(address) else None
    if known == row.mail.address:
        return []
    return [UserSlotsSet(row.ref, now_ms, mail=replace(row.mail, address=known, stamp=None), by=by)]


def forget_addresses(state: State, refs: Iterable[str], now_ms: int) -> list[Event]:
    """End the mails of these users, because this deployment keeps no addresses any more."""
    rows = (state.users.get(ref) for ref in refs)
    return [
        UserSlotsSet(row.ref, now_ms, mail=MailChoice(now_ms), by=GATEWAY)
        for row in rows
        if row is not None and row.mail is not None and row.mail.topics
    ]
