"""people/choices.py: owners see no name of a voter who has not asked for it."""

import pytest

from core.actors import user_actor
from core.state import State
from core.user_rows import user_ref
from languages.refusals import Refusal
from people.choices import set_naming
from tests.support.memory_ledger import state_after
from tests.support.people import signed_in
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER
from tests.support.slots_set import naming_set

BY = user_actor(USER)


@pytest.fixture
def state() -> State:
    return state_after([signed_in(USER, "d1")])


def test_nobody_is_named_at_first(state: State) -> None:
    assert not state.users[user_ref(USER)].lets_name
    assert set_naming(state, USER, NOW_MS, is_allowed=False, by=BY) == []


def test_a_choice_is_one_event_and_the_same_choice_again_is_none(state: State) -> None:
    events = set_naming(state, USER, NOW_MS, is_allowed=True, by=BY)
    assert events == [naming_set(user_ref(USER), True, NOW_MS, by=BY)]
    state.apply(events[0])
    assert state.users[user_ref(USER)].lets_name
    assert list(state.users.named) == [int(USER)]
    assert set_naming(state, USER, NOW_MS, is_allowed=True, by=BY) == []


def test_a_choice_can_be_taken_back(state: State) -> None:
    for is_allowed in (True, False):
        (event,) = set_naming(state, USER, NOW_MS, is_allowed=is_allowed, by=BY)
        state.apply(event)
    assert not state.users[user_ref(USER)].lets_name
    assert not state.users.named


def test_who_has_never_signed_in_has_no_name_to_show(state: State) -> None:
    with pytest.raises(Refusal, match="no_such"):
        set_naming(state, OTHER_USER, NOW_MS, is_allowed=True, by=BY)
