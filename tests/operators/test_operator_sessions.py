"""Sessions end when their time is over, at the sign-out, and with the operator token."""

import itertools

import pytest

from core.rows import Policy
from handlers.operator import Operator, token_digest
from operators.operator_sessions import MOST_SESSIONS, VALUE_CHARACTERS, OperatorSessions
from ratelimit.bucket import FailureGuard
from tests.support.fake_clock import FakeClock

IDLE, LONGEST = 100.0, 1_000.0
OWN = token_digest("token")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def sessions_of(token: str, clock: FakeClock) -> OperatorSessions:
    operator = Operator([token], FailureGuard(Policy(3, 60), 10), clock)
    numbers = itertools.count()
    new = lambda: f"{next(numbers):0{VALUE_CHARACTERS}}"  # noqa: E731
    return OperatorSessions(clock, IDLE, LONGEST, operator.accepts, new)


@pytest.fixture
def sessions(clock: FakeClock) -> OperatorSessions:
    return sessions_of("token", clock)


def test_a_session_is_found_by_its_value_alone(sessions: OperatorSessions) -> None:
    value = sessions.open(OWN)
    assert sessions.of(value) is not None
    for other in (None, "", value[:-1], value[:-1] + "x", value + "x"):
        assert sessions.of(other) is None


def test_the_value_of_a_session_is_not_kept(sessions: OperatorSessions) -> None:
    value = sessions.open(OWN)
    assert value not in repr(vars(sessions))


def test_a_session_that_is_not_used_ends(sessions: OperatorSessions, clock: FakeClock) -> None:
    value = sessions.open(OWN)
    clock.advance(IDLE - 1)
    assert sessions.of(value) is not None
    clock.advance(IDLE - 1)
    assert sessions.of(value) is not None
    clock.advance(IDLE)
    assert sessions.of(value) is None
    assert len(sessions) == 0


def test_a_session_ends_after_its_longest_time_however_much_it_is_used(
    sessions: OperatorSessions, clock: FakeClock
) -> None:
    value = sessions.open(OWN)
    for _ in range(19):
        clock.advance(LONGEST / 20)
        assert sessions.of(value) is not None
    clock.advance(LONGEST / 20)
    assert sessions.of(value) is None


def test_a_wall_clock_that_jumps_ends_no_session(sessions: OperatorSessions, clock: FakeClock) -> None:
    value = sessions.open(OWN)
    clock.set_wall(10 * LONGEST)
    assert sessions.of(value) is not None


def test_an_ended_session_is_known_as_ended_to_those_who_hold_it(sessions: OperatorSessions) -> None:
    value = sessions.open(OWN)
    session = sessions.of(value)
    assert session is not None
    sessions.end(value)
    assert sessions.of(value) is None
    assert not sessions.is_alive(session)
    sessions.end(value)
    sessions.end(None)


def test_the_session_unused_for_longest_makes_room(sessions: OperatorSessions) -> None:
    values = [sessions.open(OWN) for _ in range(MOST_SESSIONS)]
    assert sessions.of(values[0]) is not None
    sessions.open(OWN)
    assert len(sessions) == MOST_SESSIONS
    assert sessions.of(values[0]) is not None
    assert sessions.of(values[1]) is None


def test_a_session_ends_when_its_token_is_accepted_no_longer(clock: FakeClock) -> None:
    operator = Operator(["old"], FailureGuard(Policy(3, 60), 10), clock)
    sessions = OperatorSessions(clock, IDLE, LONGEST, operator.accepts, lambda: "v" * VALUE_CHARACTERS)
    value = sessions.open(token_digest("old"))
    session = sessions.of(value)
    assert session is not None
    operator.change_tokens(["new", "old"])
    assert sessions.of(value) is session
    operator.change_tokens(["new"])
    assert not sessions.is_alive(session)
    assert sessions.of(value) is None
