"""core/user_changes.py: the reminders of a user after events, and those of two rows joined.

Their invariants, after any sequence of events, are in test_state_invariants.py and in
tests/replication/test_merge_laws.py.
"""

from msgspec import msgpack
from msgspec.structs import replace

from core.events import ReminderAttempted, ReminderEvent, ReminderSet
from core.rows import Outcome, Stamp
from core.user_changes import OFF_KEPT, changed_reminders, joined_reminders
from core.user_rows import Reminder, ReminderMessage, UserRow, user_ref
from tests.support.sample_rows import BOT_REF, DELIVERED, NOW_MS, OTHER_REF, REFUSED, USER

REF = user_ref(USER)
SET = ReminderSet(REF, BOT_REF, NOW_MS)
CLEARED = ReminderSet(REF, BOT_REF, NOW_MS + 1, is_on=False)


def after(
    *events: ReminderEvent, known: tuple[Reminder, ...] = (), stamp: Stamp | None = None
) -> tuple[Reminder, ...]:
    for event in events:
        known = changed_reminders(known, event, stamp)
    return known


def attempted(number: int, outcome: Outcome = "retry", ends_ms: int = NOW_MS) -> ReminderAttempted:
    attempt, next_ms = (DELIVERED, None) if outcome == "delivered" else (REFUSED, NOW_MS + 9)
    return ReminderAttempted(REF, BOT_REF, ends_ms, number, attempt, outcome, next_ms)


def test_a_row_without_reminders_has_the_bytes_that_it_had_before_there_were_any() -> None:
    row = UserRow(REF, NOW_MS)
    assert b"reminders" not in msgpack.encode(row)
    gone = replace(row, reminders=after(SET, CLEARED))
    assert msgpack.encode(gone) == msgpack.encode(row)


def test_reminders_stand_in_the_order_of_their_listings() -> None:
    found = after(ReminderSet(REF, OTHER_REF, NOW_MS), SET)
    assert found == (Reminder(BOT_REF, NOW_MS), Reminder(OTHER_REF, NOW_MS))


def test_in_a_fleet_one_that_was_turned_off_is_remembered_and_stays_off() -> None:
    on = after(SET, stamp=Stamp(1, "a.1"))
    off = after(CLEARED, known=on, stamp=Stamp(2, "a.1"))
    assert off == (Reminder(BOT_REF, NOW_MS + 1, is_on=False, stamp=Stamp(2, "a.1")),)
    assert joined_reminders(on, off) == joined_reminders(off, on) == off
    assert not UserRow(REF, NOW_MS, reminders=off).reminders_on


def test_a_row_remembers_the_newest_of_those_that_are_off() -> None:
    known: tuple[Reminder, ...] = ()
    for number in range(OFF_KEPT + 2):
        cleared = ReminderSet(REF, f"bots/{number}", NOW_MS, is_on=False)
        known = changed_reminders(known, cleared, Stamp(number, "a.1"))
    assert len(known) == OFF_KEPT
    assert min(each.stamp.ms for each in known if each.stamp is not None) == 2


def test_attempts_of_a_message_are_counted_from_0_for_each_cooldown() -> None:
    first = after(SET, attempted(1), attempted(2, "held"), attempted(3))
    assert first == (Reminder(BOT_REF, NOW_MS, message=ReminderMessage(NOW_MS, 3, 2, NOW_MS + 9, REFUSED)),)
    later = after(attempted(1, "delivered", NOW_MS + 5), known=first)
    assert later == (Reminder(BOT_REF, NOW_MS, message=ReminderMessage(NOW_MS + 5, 1, 1, None, DELIVERED)),)


def test_an_attempt_that_is_known_or_about_nothing_changes_nothing() -> None:
    known = after(SET, attempted(2, ends_ms=NOW_MS + 5))
    assert after(attempted(2, ends_ms=NOW_MS + 5), known=known) == known
    assert after(attempted(3, ends_ms=NOW_MS), known=known) == known
    assert after(attempted(1)) == ()


def test_the_furthest_message_of_one_setting_wins() -> None:
    tried, told = after(SET, attempted(1)), after(SET, attempted(1), attempted(2, "delivered"))
    assert joined_reminders(tried, told) == joined_reminders(told, tried) == told
    assert joined_reminders((), told) == joined_reminders(told, ()) == told


def test_a_reminder_that_was_turned_on_again_knows_no_message() -> None:
    told = after(SET, attempted(1, "delivered"), stamp=Stamp(1, "a.1"))
    again = after(CLEARED, ReminderSet(REF, BOT_REF, NOW_MS + 3), known=told, stamp=Stamp(3, "b.1"))
    assert joined_reminders(told, again) == again == (Reminder(BOT_REF, NOW_MS + 3, stamp=Stamp(3, "b.1")),)
