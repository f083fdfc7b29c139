"""people/user_sessions.py: the user that a browser is signed in as, and the end of sessions."""

import pytest
from msgspec.structs import replace

from core.actors import GATEWAY, OPERATOR, user_actor
from core.events import Event, SessionSeen, SessionsEnded, UserMerged
from core.ledger import Ledger
from core.state import State
from core.user_rows import EndedSession, UserProfile, user_ref
from languages.refusals import Refusal
from people.permissions import Moderators
from people.quarantine import impose
from people.user_sessions import (
    MOST_SESSIONS,
    SEEN_EVERY_MS,
    SHOWN_DIGITS,
    Known,
    Sessions,
    digests_of,
    end_everyone,
    end_sessions,
    seen,
    session_id,
)
from tests.support.memory_nodes import Node
from tests.support.people import TERMS
from tests.support.sample_rows import HOUR_MS, NOW_MS, OTHER_USER, OWNER, USER

PROFILE = UserProfile("ada", "Ada")


def sign_in(
    ledger: Ledger,
    sessions: Sessions,
    digest: str = "d1",
    *,
    user: str = USER,
    at_ms: int = NOW_MS,
    ends: str | None = None,
) -> None:
    ledger.commit(sessions.sign_in(user, PROFILE, digest, "Firefox on Linux", at_ms, ends=ends))


def who(sessions: Sessions, digest: str, now_ms: int = NOW_MS) -> str | None:
    known = sessions.known(digest, now_ms)
    return known.user.id if known is not None else None


def known(sessions: Sessions, digest: str = "d1", now_ms: int = NOW_MS) -> Known:
    found = sessions.known(digest, now_ms)
    assert found is not None
    return found


def digests(state: State, user: str = USER) -> list[str]:
    return [session.digest for session in state.users[user_ref(user)].sessions]


def test_a_session_is_known_by_its_digest_alone(ledger: Ledger, sessions: Sessions) -> None:
    sign_in(ledger, sessions)
    assert who(sessions, "d1") == USER
    assert who(sessions, "d2") is None
    assert who(sessions, user_ref(USER)) is None
    assert known(sessions).user.profile == PROFILE


def test_a_sign_in_begins_a_new_session_and_ends_the_one_that_the_browser_had(
    ledger: Ledger, sessions: Sessions
) -> None:
    sign_in(ledger, sessions)
    sign_in(ledger, sessions, "other browser")
    sign_in(ledger, sessions, "d2", ends="d1")
    assert [who(sessions, each) for each in ("d1", "d2", "other browser")] == [None, USER, USER]


def test_a_browser_that_was_somebody_else_s_is_theirs_no_more(ledger: Ledger, sessions: Sessions) -> None:
    sign_in(ledger, sessions)
    sign_in(ledger, sessions, "d2", user=OTHER_USER, ends="d1")
    assert (who(sessions, "d1"), who(sessions, "d2")) == (None, OTHER_USER)


def test_a_value_that_was_planted_in_a_browser_is_worth_nothing(ledger: Ledger, sessions: Sessions) -> None:
    sign_in(ledger, sessions, "d2", ends="planted")
    assert (who(sessions, "planted"), who(sessions, "d2")) == (None, USER)


@pytest.mark.parametrize(("user", "terms"), [(USER, TERMS.users), (OWNER, TERMS.moderators)])
def test_a_session_ends_when_it_is_unused_for_too_long(
    ledger: Ledger, sessions: Sessions, user: str, terms: tuple[int, int]
) -> None:
    idle_ms, _ = terms
    sign_in(ledger, sessions, user=user)
    assert who(sessions, "d1", NOW_MS + idle_ms - 1) == user
    assert who(sessions, "d1", NOW_MS + idle_ms) is None


@pytest.mark.parametrize(("user", "terms"), [(USER, TERMS.users), (OWNER, TERMS.moderators)])
def test_a_session_ends_when_it_is_too_old_however_much_it_is_used(
    ledger: Ledger, sessions: Sessions, user: str, terms: tuple[int, int]
) -> None:
    idle_ms, longest_ms = terms
    sign_in(ledger, sessions, user=user)
    for now_ms in range(NOW_MS, NOW_MS + longest_ms, idle_ms // 2):
        ledger.commit(seen(known(sessions, now_ms=now_ms), now_ms))
    assert who(sessions, "d1", NOW_MS + longest_ms - 1) == user
    assert who(sessions, "d1", NOW_MS + longest_ms) is None


def test_a_moderator_s_short_terms_hold_from_the_appointment_on(
    ledger: Ledger, sessions: Sessions, moderators: Moderators
) -> None:
    sign_in(ledger, sessions)
    later_ms = NOW_MS + TERMS.moderators.idle_ms
    ledger.commit(moderators.appoint(USER, NOW_MS, by=OPERATOR))
    assert who(sessions, "d1", later_ms) is None
    ledger.commit(moderators.dismiss(USER, NOW_MS, by=OPERATOR))
    assert who(sessions, "d1", later_ms) == USER


def test_use_is_written_once_an_hour_and_never_takes_time_back(ledger: Ledger, sessions: Sessions) -> None:
    sign_in(ledger, sessions)
    assert seen(known(sessions), NOW_MS + SEEN_EVERY_MS - 1) == []
    later_ms = NOW_MS + SEEN_EVERY_MS
    assert seen(known(sessions), later_ms) == [SessionSeen(user_ref(USER), "d1", later_ms)]
    ledger.commit(seen(known(sessions), later_ms))
    ledger.commit([SessionSeen(user_ref(USER), "d1", NOW_MS)])
    assert known(sessions).session.seen_ms == later_ms


def test_a_user_has_twenty_sessions_at_most(ledger: Ledger, sessions: Sessions, state: State) -> None:
    for number in range(MOST_SESSIONS + 2):
        sign_in(ledger, sessions, f"d{number}", at_ms=NOW_MS + number)
    assert digests(state) == [f"d{number}" for number in range(2, MOST_SESSIONS + 2)]
    assert who(sessions, "d0") is None


def test_one_s_sessions_are_listed_newest_first_without_those_that_are_over(
    ledger: Ledger, sessions: Sessions, state: State
) -> None:
    for number in range(3):
        sign_in(ledger, sessions, f"d{number}", at_ms=NOW_MS + number)
    now_ms = NOW_MS + TERMS.users.idle_ms
    listed = sessions.open_of(state.users[user_ref(USER)], now_ms)
    assert [session.digest for session in listed] == ["d2", "d1"]


def ended(state: State, digests: list[str] | None) -> list[Event]:
    return end_sessions(state, USER, digests, NOW_MS, by=OPERATOR)


def test_sessions_are_ended_one_by_one_and_all_at_once(
    ledger: Ledger, sessions: Sessions, state: State
) -> None:
    for number in range(3):
        sign_in(ledger, sessions, f"d{number}", at_ms=NOW_MS + number)
    ledger.commit(ended(state, ["d1"]))
    assert [who(sessions, f"d{number}") for number in range(3)] == [USER, None, USER]
    ledger.commit(ended(state, None))
    assert digests(state) == []
    assert ended(state, None) == []


def test_nobody_ends_what_is_not_there(ledger: Ledger, sessions: Sessions, state: State) -> None:
    assert ended(state, None) == []
    with pytest.raises(Refusal, match="session"):
        ended(state, ["d1"])
    sign_in(ledger, sessions)
    sign_in(ledger, sessions, "d2", user=OTHER_USER)
    with pytest.raises(Refusal, match="session"):
        ended(state, ["d2"])


def test_the_sessions_of_everyone_that_have_begun_are_ended(
    ledger: Ledger, sessions: Sessions, state: State
) -> None:
    sign_in(ledger, sessions, "d1")
    sign_in(ledger, sessions, "d2", user=OTHER_USER)
    sign_in(ledger, sessions, "d3", user=OTHER_USER, at_ms=NOW_MS + 1)
    refs = [user_ref(USER), user_ref(OTHER_USER), user_ref("1")]
    ledger.commit(end_everyone(state, refs, NOW_MS, by=OPERATOR))
    assert [who(sessions, f"d{number}") for number in (1, 2, 3)] == [None, None, OTHER_USER]
    assert end_everyone(state, refs, NOW_MS, by=OPERATOR) == []


def test_a_session_has_a_part_of_its_digest_as_id_by_which_it_is_found(
    ledger: Ledger, sessions: Sessions, state: State
) -> None:
    first, second = "a" * 64, "a" * SHOWN_DIGITS + "b" * 48
    sign_in(ledger, sessions, first)
    sign_in(ledger, sessions, second, at_ms=NOW_MS + 1)
    row = state.users[user_ref(USER)]
    assert {session_id(session) for session in row.sessions} == {"a" * SHOWN_DIGITS}
    assert digests_of(row, "a" * SHOWN_DIGITS) == [first, second]
    for user, wanted in ((row, first), (row, ""), (None, "a" * SHOWN_DIGITS)):
        with pytest.raises(Refusal, match="session"):
            digests_of(user, wanted)


def in_a_fleet() -> tuple[Node, Sessions]:
    node = Node()
    return node, Sessions(node.state, Moderators(node.state, frozenset()), TERMS)


def test_in_a_fleet_a_session_that_was_ended_comes_back_from_nowhere_however_often_others_end() -> None:
    """A node that was away does not hear of the ending before the session is too old anyway."""
    (node, sessions), away = in_a_fleet(), Node("b")
    sign_in(node.ledger, sessions, "stolen")
    away.hear(node)
    for number in range(200):
        node.clock.advance_ms(1)
        sign_in(node.ledger, sessions, f"d{number}", at_ms=node.clock.now_ms())
        node.ledger.commit(end_sessions(node.state, USER, None, node.clock.now_ms(), by=OPERATOR))
    node.merge_facts(away.everything())
    assert who(sessions, "stolen") is None


def test_in_a_fleet_an_ending_is_remembered_until_the_session_is_too_old() -> None:
    (node, sessions), away = in_a_fleet(), Node("b")
    sign_in(node.ledger, sessions)
    away.hear(node)
    node.ledger.commit(end_sessions(node.state, USER, None, NOW_MS, by=OPERATOR))
    (ended_ms,) = (each.ms for each in node.state.users[user_ref(USER)].ended)
    longest_ms = TERMS.users.longest_ms
    assert sessions.sweep([user_ref(USER)], ended_ms + longest_ms) == []
    swept = sessions.sweep([user_ref(USER)], ended_ms + longest_ms + 1)
    node.ledger.commit(swept)
    assert node.state.users[user_ref(USER)].ended == ()
    node.merge_facts(away.everything())
    assert who(sessions, "d1", ended_ms + longest_ms + 1) is None


def test_outside_of_a_fleet_no_ending_is_remembered(ledger: Ledger, sessions: Sessions, state: State) -> None:
    sign_in(ledger, sessions)
    ledger.commit(ended(state, None))
    row = state.users[user_ref(USER)]
    assert row.ended == ()
    ledger.commit([UserMerged(replace(row, ended=(EndedSession(NOW_MS, "d0"),)))])
    ledger.commit(sessions.sweep([row.ref], NOW_MS + 1))
    assert state.users[row.ref].ended == ()


def test_who_may_not_sign_in_is_refused_and_signed_out(
    ledger: Ledger, sessions: Sessions, state: State
) -> None:
    sign_in(ledger, sessions)
    until_ms = NOW_MS + HOUR_MS
    ledger.commit(impose(state, USER, "sign_in", "Spam.", until_ms, NOW_MS, by=OPERATOR))
    assert who(sessions, "d1") is None
    with pytest.raises(Refusal, match="quarantined") as refused:
        sign_in(ledger, sessions, "d2")
    assert refused.value.facts == {"reason": "Spam.", "until_ms": until_ms}
    sign_in(ledger, sessions, "d2", at_ms=until_ms)
    assert who(sessions, "d2", until_ms) == USER
    assert who(sessions, "d1", until_ms) is None


def test_sessions_that_are_over_leave_the_row(ledger: Ledger, sessions: Sessions, state: State) -> None:
    sign_in(ledger, sessions)
    sign_in(ledger, sessions, "d2", at_ms=NOW_MS + HOUR_MS)
    now_ms = NOW_MS + TERMS.users.idle_ms
    swept = sessions.sweep([user_ref(USER), "users/unknown"], now_ms)
    assert swept == [SessionsEnded(user_ref(USER), ("d1",), now_ms, by=GATEWAY)]
    ledger.commit(swept)
    assert digests(state) == ["d2"]
    assert sessions.sweep(state.users.refs, now_ms) == []


def test_a_sign_in_says_by_whom(sessions: Sessions) -> None:
    (event,) = sessions.sign_in(USER, PROFILE, "d1", "Firefox", NOW_MS, ends=None)
    assert getattr(event, "by", None) == user_actor(USER)
