"""people/choices.py: turning reminders on and off, and their bound."""

import pytest

from core.actors import user_actor
from core.events import Event, ListingRemoved, ReminderSet
from core.state import State
from core.user_rows import user_ref
from languages.refusals import Refusal
from people.choices import REMINDERS_MOST, clear_reminders, set_reminder
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_REF, OTHER_USER, SERVER_REF, USER, listed

BY = user_actor(USER)
REFS = [f"bots/{number:018}" for number in range(REMINDERS_MOST)]


@pytest.fixture
def state() -> State:
    state = State(10)
    apply(state, [*listed(), *listed(OTHER_REF), signed_in(USER, "d1")])
    return state


def apply(state: State, events: list[Event]) -> None:
    for event in events:
        state.apply(event)


def remind(state: State, listing: str) -> list[Event]:
    events = set_reminder(state, USER, listing, NOW_MS, by=BY)
    apply(state, events)
    return events


def full(state: State) -> None:
    for ref in REFS:
        apply(state, listed(ref))
        remind(state, ref)


def test_turning_on_is_one_event_and_turning_on_again_is_none(state: State) -> None:
    assert remind(state, BOT_REF) == [ReminderSet(user_ref(USER), BOT_REF, NOW_MS, by=BY)]
    assert remind(state, BOT_REF) == []


def test_turning_off_is_one_event_and_turning_off_again_is_none(state: State) -> None:
    remind(state, BOT_REF)
    events = clear_reminders(state, USER, BOT_REF, NOW_MS, by=BY)
    assert events == [ReminderSet(user_ref(USER), BOT_REF, NOW_MS, is_on=False, by=BY)]
    apply(state, events)
    assert clear_reminders(state, USER, BOT_REF, NOW_MS, by=BY) == []
    assert clear_reminders(state, OTHER_USER, None, NOW_MS, by=BY) == []


def test_all_of_them_can_be_turned_off_at_once(state: State) -> None:
    remind(state, BOT_REF)
    remind(state, OTHER_REF)
    apply(state, clear_reminders(state, USER, None, NOW_MS, by=BY))
    assert state.users[user_ref(USER)].reminders_on == ()


def test_a_full_list_refuses_one_more_and_changes_nothing(state: State) -> None:
    full(state)
    with pytest.raises(Refusal) as refused:
        remind(state, BOT_REF)
    assert (refused.value.code, refused.value.facts) == ("too_many_reminders", {"most": REMINDERS_MOST})
    assert remind(state, REFS[0]) == []  # it is on already


def test_a_reminder_of_a_listing_that_is_gone_makes_room(state: State) -> None:
    full(state)
    state.apply(ListingRemoved(REFS[0]))
    assert [event.is_on for event in remind(state, BOT_REF) if isinstance(event, ReminderSet)] == [
        False,
        True,
    ]
    row = state.users[user_ref(USER)]
    assert len(row.reminders_on) == REMINDERS_MOST
    assert row.reminder(REFS[0]) is None


def test_reminders_of_a_new_listing_under_an_old_id_can_be_turned_on(state: State) -> None:
    remind(state, BOT_REF)
    state.apply(ListingRemoved(BOT_REF))
    for event in listed():
        moved = {name: getattr(event, name) for name in event.__struct_fields__}
        state.apply(type(event)(**{**moved, "at_ms": NOW_MS + 5}))
    assert remind(state, BOT_REF) == [ReminderSet(user_ref(USER), BOT_REF, NOW_MS + 5, by=BY)]


def test_nobody_is_reminded_of_what_cannot_be_voted_for(state: State) -> None:
    submitted = listed(SERVER_REF)[0]
    state.apply(submitted)
    for listing in (SERVER_REF, "bots/999999999999999999"):
        with pytest.raises(Refusal) as refused:
            remind(state, listing)
        assert refused.value.code == "no_such_listing"


def test_a_user_who_has_never_signed_in_has_no_reminders(state: State) -> None:
    with pytest.raises(Refusal, match="no_such"):
        set_reminder(state, OTHER_USER, BOT_REF, NOW_MS, by=BY)
