"""Guards of sign-ins: the state of a sign-in counts once."""

import asyncio

import pytest

from core.rows import Policy
from pages.account import sign_in_guards
from pages.account.sign_in_guards import FirstInFleet, SignInGuards
from tests.support.fake_clock import FakeClock
from web.cookies import SIGN_IN_SECONDS


def guards(clock: FakeClock, first_in_fleet: FirstInFleet | None = None) -> SignInGuards:
    return SignInGuards(Policy(20, 300), clock, first_in_fleet)


def taken(kept: SignInGuards, *each: str) -> list[bool]:
    async def take() -> list[bool]:
        return [await kept.is_first(state) for state in each]

    return asyncio.run(take())


def test_a_state_counts_once() -> None:
    assert taken(guards(FakeClock()), "a", "b", "a", "a", "b") == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_state_is_remembered_until_its_sign_in_is_too_old_everywhere() -> None:
    clock = FakeClock()
    kept = guards(clock)
    taken(kept, "a")
    clock.advance(2 * SIGN_IN_SECONDS - 1)
    assert taken(kept, "a") == [False]
    clock.advance(1)
    taken(kept, "b")
    assert kept.states_kept == 1


def test_however_many_come_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sign_in_guards, "MOST_STATES", 3)
    kept = guards(FakeClock())
    assert taken(kept, *"abcd", "d", "b") == [True, True, True, True, False, False]
    assert kept.states_kept == 3


def test_a_state_that_another_node_has_used_does_not_count() -> None:
    async def first(digest: str, seconds: float) -> bool:
        asked.append((digest, seconds))
        return answers.pop(0)

    asked, answers = list[tuple[str, float]](), [True, False]
    assert taken(guards(FakeClock(), first), "a", "b") == [True, False]
    assert [seconds for _, seconds in asked] == [2 * SIGN_IN_SECONDS] * 2
