"""web/people/sign_in_states.py: the state of a sign-in counts once."""

import asyncio

import pytest

from core.clock import FakeClock
from web.cookies import SIGN_IN_SECONDS
from web.people import sign_in_states
from web.people.sign_in_states import SignInStates


def taken(states: SignInStates, *each: str) -> list[bool]:
    async def take() -> list[bool]:
        return [await states.take(state) for state in each]

    return asyncio.run(take())


def test_a_state_counts_once() -> None:
    assert taken(SignInStates(FakeClock(), None), "a", "b", "a", "a", "b") == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_state_is_remembered_until_its_sign_in_is_too_old_everywhere() -> None:
    clock = FakeClock()
    states = SignInStates(clock, None)
    taken(states, "a")
    clock.advance(2 * SIGN_IN_SECONDS - 1)
    assert taken(states, "a") == [False]
    clock.advance(1)
    taken(states, "b")
    assert len(states) == 1


def test_however_many_come_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_states, "MOST_STATES", 3)
    states = SignInStates(FakeClock(), None)
    assert taken(states, *"abcd", "d", "b") == [True, True, True, True, False, False]
    assert len(states) == 3


def test_a_state_that_another_node_has_used_does_not_count() -> None:
    async def first(digest: str, seconds: float) -> bool:
        asked.append((digest, seconds))
        return answers.pop(0)

    asked, answers = list[tuple[str, float]](), [True, False]
    assert taken(SignInStates(FakeClock(), first), "a", "b") == [True, False]
    assert [seconds for _, seconds in asked] == [2 * SIGN_IN_SECONDS] * 2
