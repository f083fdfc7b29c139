"""Rounds go on until the gateway stops. A sweep removes what has expired, a few users at a time."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from actions.tools import Tools
from core.actors import OPERATOR
from core.events import CooldownsKept, Event
from core.failures import Unavailable
from core.ledger import Ledger
from core.state import State
from core.user_rows import UserProfile
from handlers.slices import in_slices
from pages.rounds import in_rounds, sweep
from people.permissions import Moderators
from people.quarantine import impose
from people.user_sessions import Sessions
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.people import TERMS


def test_rounds_are_made_until_the_gateway_stops() -> None:
    async def main() -> None:
        stop, made = asyncio.Event(), list[int]()

        async def make() -> None:
            made.append(len(made))
            if len(made) == 3:
                stop.set()

        await in_rounds(make, 0, stop)
        assert made == [0, 1, 2]
        await in_rounds(make, 0, stop)
        assert made == [0, 1, 2]

    run(main())


def test_a_stop_does_not_wait_for_the_next_round() -> None:
    async def main() -> None:
        stop, made = asyncio.Event(), list[int]()

        async def make() -> None:
            made.append(len(made))
            asyncio.get_running_loop().call_soon(stop.set)

        await in_rounds(make, 86_400, stop)
        assert made == [0]

    run(main())


def tools(ledger: Ledger, clock: FakeClock, sessions: Sessions) -> Tools:
    given = {"ledger": ledger, "clock": clock, "sessions": sessions, "in_slices": in_slices}
    owned = SimpleNamespace(is_complete=False)  # so that no account is forgotten
    return cast(Tools, SimpleNamespace(**given, ownership=owned, keeps_email=False))


def test_every_session_that_is_over_goes_and_no_other(ledger: Ledger, state: State) -> None:
    clock = FakeClock()
    sessions = Sessions(state, Moderators(state, frozenset()), TERMS)
    for number in range(100):
        at_ms = clock.now_ms() if number % 2 else clock.now_ms() - TERMS.users.idle_ms
        profile, digest = UserProfile(f"user {number}"), f"digest {number}"
        ledger.commit(sessions.sign_in(str(10**17 + number), profile, digest, "Firefox", at_ms, ends=None))
    run(sweep(tools(ledger, clock, sessions)))
    assert len(state.users) == 100
    assert set(state.users.by_session) == {f"digest {number}" for number in range(1, 100, 2)}


def test_what_else_is_over_goes_too(ledger: Ledger, state: State) -> None:
    clock = FakeClock()
    now_ms, sessions = clock.now_ms(), Sessions(state, Moderators(state, frozenset()), TERMS)
    for number in range(2):
        user, end_ms = str(10**17 + number), now_ms + number
        ledger.commit(impose(state, user, "vote", "Spam.", end_ms, now_ms - 1, by=OPERATOR))
        ledger.commit([CooldownsKept(((user, end_ms),), now_ms - 1)])
    run(sweep(tools(ledger, clock, sessions)))
    assert list(state.users) == [f"users/{10**17 + 1}"]
    assert list(state.cooldowns) == [str(10**17 + 1)]


def test_a_journal_that_takes_no_writes_leaves_it_to_the_next_sweep(ledger: Ledger, state: State) -> None:
    class Full(Ledger):
        def commit(self, _: Sequence[Event]) -> int:
            raise Unavailable("the disk is full")

    clock = FakeClock()
    sessions = Sessions(state, Moderators(state, frozenset()), TERMS)
    events = sessions.sign_in("1" * 17, UserProfile("ada"), "d1", "Firefox", 0, ends=None)
    ledger.commit(events)
    full = Full(state, ledger._journal, ledger.head)
    run(sweep(tools(full, clock, sessions)))
    assert set(state.users.by_session) == {"d1"}
