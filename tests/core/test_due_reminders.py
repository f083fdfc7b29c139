"""core/due_reminders.py: each vote has one reminder, which follows from the votes alone."""

import pytest

from core.due_reminders import DueReminder, due_reminders, standing
from core.events import Event, ListingRemoved, ListingReviewed, ReminderSet, UserErased
from core.state import State
from core.user_rows import user_ref
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_REF, DAY_MS, HOUR_MS, NOW_MS, OTHER_REF, USER, listed, voted
from tests.support.slots_set import notices_read

REF = user_ref(USER)
END_MS = NOW_MS + DAY_MS
REMIND = ReminderSet(REF, BOT_REF, NOW_MS)
VOTE = voted(int(USER))


def state_after(*events: Event) -> State:
    state = State(10)
    for event in (*listed(), signed_in(USER, "d1"), *events):
        state.apply(event)
    return state


def due(state: State, now_ms: int, cooldown_ms: int = DAY_MS) -> list[DueReminder]:
    row = state.users.get(REF)
    return [*due_reminders(state, row, cooldown_ms, now_ms)] if row is not None else []


def ends(state: State, now_ms: int) -> list[int]:
    return [each.ends_ms for each in due(state, now_ms)]


def test_a_reminder_is_due_once_the_cooldown_is_over_and_not_before() -> None:
    state = state_after(VOTE, REMIND)
    assert ends(state, END_MS - 1) == []
    assert ends(state, END_MS) == ends(state, END_MS + 9 * DAY_MS) == [END_MS]


@pytest.mark.parametrize(
    "events",
    [
        (REMIND,),
        (VOTE,),
        (VOTE, REMIND, ReminderSet(REF, BOT_REF, NOW_MS + 1, is_on=False)),
        (VOTE, REMIND, ListingRemoved(BOT_REF)),
        (VOTE, REMIND, ListingReviewed(BOT_REF, "denied", "No.", NOW_MS + 1)),
        (VOTE, ReminderSet(REF, BOT_REF, END_MS)),
        (VOTE, REMIND, UserErased(USER, (BOT_REF, REF))),
    ],
    ids=["no vote", "no reminder", "turned off", "removed", "denied", "turned on too late", "erased"],
)
def test_nobody_is_reminded_of_what_does_not_hold(events: tuple[Event, ...]) -> None:
    assert ends(state_after(*events), END_MS + DAY_MS) == []


def test_another_vote_takes_the_reminder_away_until_its_own_cooldown_is_over() -> None:
    again_ms = NOW_MS + 2 * DAY_MS
    state = state_after(VOTE, REMIND, voted(int(USER), 2, again_ms))
    assert ends(state, again_ms) == []
    assert ends(state, again_ms + DAY_MS) == [again_ms + DAY_MS]


def test_with_a_shorter_cooldown_it_is_due_earlier_and_once() -> None:
    state = state_after(VOTE, REMIND)
    assert [each.ends_ms for each in due(state, NOW_MS + HOUR_MS, HOUR_MS)] == [NOW_MS + HOUR_MS]


def test_it_is_new_until_it_was_read() -> None:
    state = state_after(VOTE, REMIND)
    assert [each.is_new for each in due(state, END_MS)] == [True]
    state.apply(notices_read(REF, END_MS))
    assert [each.is_new for each in due(state, END_MS)] == [False]


def test_a_listing_that_is_submitted_anew_under_the_id_reminds_nobody_of_the_old_one() -> None:
    later_ms = NOW_MS + DAY_MS
    state = state_after(VOTE, REMIND, ListingRemoved(BOT_REF))
    for event in listed():
        state.apply(
            type(event)(**{**{f: getattr(event, f) for f in event.__struct_fields__}, "at_ms": later_ms})
        )
    state.apply(voted(int(USER), 1, later_ms))
    assert ends(state, later_ms + DAY_MS) == []
    assert standing(state, state.users[REF]) == []


def test_reminders_of_two_listings_do_not_meet() -> None:
    state = state_after(*listed(OTHER_REF), VOTE, voted(int(USER), 1, NOW_MS + 5, OTHER_REF), REMIND)
    assert [each.row.ref for each in due(state, END_MS + 5)] == [BOT_REF]
