"""core/user_changes.py: the row of a user after an event, and two rows of one user joined.

Their invariants, after any sequence of events, are in test_state_invariants.py and in
tests/replication/test_merge_laws.py.
"""

import msgspec
from msgspec.structs import replace

from core.actors import ERASED, OPERATOR, user_actor
from core.events import QuarantineSet, SessionSeen, SessionsEnded, UserEvent, UserSignedIn, UserSlotsSet
from core.rows import Stamp
from core.user_changes import (
    ENDED_KEPT,
    SETTLED_KEPT,
    changed_user,
    has_acted,
    joined_users,
    without_actor,
    without_endings,
)
from core.user_rows import (
    AnsweredReport,
    EndedSession,
    Quarantine,
    UserProfile,
    UserRow,
    UserSession,
    user_ref,
)
from tests.support.sample_rows import NOW_MS, OTHER_USER, USER
from tests.support.slots_set import naming_set, notices_read, role_set

REF = user_ref(USER)
PROFILE = UserProfile("ada", "Ada")
FIRST = UserSession("d1", "Firefox", NOW_MS, NOW_MS)
SECOND = UserSession("d2", "Chrome", NOW_MS + 1, NOW_MS + 1)
SIGNED_IN = UserSignedIn(REF, PROFILE, FIRST)
QUARANTINE = Quarantine("vote", "Why.", user_actor(OTHER_USER), NOW_MS)


def after(*events: UserEvent, row: UserRow | None = None, stamp: Stamp | None = None) -> UserRow:
    for event in events:
        row = changed_user(row, event, stamp)
    assert row is not None
    return row


def test_the_first_sign_in_makes_the_row() -> None:
    assert after(SIGNED_IN) == UserRow(REF, NOW_MS, PROFILE, (FIRST,))


def test_a_sign_in_ends_sessions_and_takes_the_profile_as_it_is_now() -> None:
    profile = UserProfile("ada", "Ada L.", "abc")
    row = after(SIGNED_IN, UserSignedIn(REF, profile, SECOND, ends=("d1",)))
    assert (row.profile, row.sessions, row.first_ms) == (profile, (SECOND,), NOW_MS)
    assert row.ended == ()


def test_use_moves_the_time_of_a_session_that_is_there() -> None:
    row = after(SIGNED_IN, SessionSeen(REF, "d1", NOW_MS + 5))
    assert row.sessions[0].seen_ms == NOW_MS + 5
    assert after(SessionSeen(REF, "d9", NOW_MS + 9), row=row) == row
    assert changed_user(None, SessionSeen(REF, "d1", NOW_MS), None) is None


def test_an_ending_without_a_row_makes_none() -> None:
    assert changed_user(None, SessionsEnded(REF, ("d1",), NOW_MS), None) is None


def test_outside_of_a_fleet_a_row_remembers_no_endings_but_older_ones() -> None:
    older = replace(after(SIGNED_IN), ended=(EndedSession(NOW_MS, "d0"),))
    row = after(SessionsEnded(REF, ("d1",), NOW_MS), row=older)
    assert (row.sessions, row.ended) == ((), older.ended)


def test_endings_from_before_a_time_are_forgotten() -> None:
    row = replace(after(SIGNED_IN), ended=(EndedSession(5, "d2"), EndedSession(6, "d3")))
    assert without_endings(row, 6).ended == (EndedSession(6, "d3"),)
    assert without_endings(row, 5) == row


def test_a_row_remembers_the_newest_endings() -> None:
    row = after(SIGNED_IN)
    for number in range(ENDED_KEPT + 1):
        stamp = Stamp(NOW_MS + number, "a.1")
        row = after(SessionsEnded(REF, (f"e{number}",), NOW_MS), row=row, stamp=stamp)
    assert [each.digest for each in row.ended] == [f"e{number}" for number in range(1, ENDED_KEPT + 1)]


def test_a_role_and_a_quarantine_make_a_row_of_a_user_who_never_signed_in() -> None:
    row = after(role_set(REF, "moderator", NOW_MS))
    assert row == UserRow(REF, NOW_MS, role="moderator")
    assert after(role_set(REF, None, NOW_MS), row=row).role is None
    assert after(QuarantineSet(REF, QUARANTINE, NOW_MS)).quarantines == (QUARANTINE,)


def test_in_a_fleet_each_part_has_the_stamp_of_its_change() -> None:
    stamp = Stamp(NOW_MS + 7, "a.1")
    row = after(SIGNED_IN, QuarantineSet(REF, QUARANTINE, NOW_MS), stamp=stamp)
    row = after(SessionsEnded(REF, ("d1",), NOW_MS), row=row, stamp=stamp)
    assert (row.known_stamps.profile, row.known_stamps.role) == (stamp, Stamp())
    assert row.quarantines[0].stamp == stamp
    assert row.ended == (EndedSession(stamp.ms, "d1"),)


def test_two_rows_become_one_with_the_latest_of_each_part() -> None:
    early, late = Stamp(1, "a.1"), Stamp(2, "b.1")
    one = after(SIGNED_IN, stamp=late)
    one = after(role_set(REF, "moderator", NOW_MS), row=one, stamp=early)
    other = after(UserSignedIn(REF, UserProfile("old"), SECOND), stamp=early)
    other = after(role_set(REF, None, NOW_MS), row=other, stamp=late)
    row = joined_users(one, other)
    assert (row.profile, row.role, row.first_ms) == (PROFILE, None, NOW_MS)
    assert row.sessions == (FIRST, SECOND)


def test_a_session_that_one_of_two_nodes_has_ended_is_over() -> None:
    one = after(SIGNED_IN)
    other = after(SessionsEnded(REF, ("d1",), NOW_MS), row=one, stamp=Stamp(NOW_MS, "a.1"))
    assert joined_users(one, other).sessions == joined_users(other, one).sessions == ()


def test_the_later_of_two_quarantines_for_an_action_holds() -> None:
    lifted = Quarantine("vote", "Why.", OPERATOR, NOW_MS, NOW_MS + 1)
    one = after(QuarantineSet(REF, QUARANTINE, NOW_MS), stamp=Stamp(1, "a.1"))
    other = after(QuarantineSet(REF, lifted, NOW_MS), stamp=Stamp(2, "a.1"))
    assert [each.until_ms for each in joined_users(one, other).quarantines] == [NOW_MS + 1]


def test_an_erased_actor_loses_the_name_in_earlier_entries() -> None:
    row = after(QuarantineSet(REF, QUARANTINE, NOW_MS))
    actor = user_actor(OTHER_USER)
    assert has_acted(row, actor)
    assert without_actor(row, actor, NOW_MS - 1) == row
    assert [each.by for each in without_actor(row, actor, NOW_MS).quarantines] == [ERASED]
    assert not has_acted(without_actor(row, actor, None), actor)
    assert without_actor(row, OPERATOR, None) is row


def test_notices_are_read_up_to_the_latest_time() -> None:
    row = after(SIGNED_IN, notices_read(REF, NOW_MS + 5), notices_read(REF, NOW_MS + 3))
    assert row.read_ms == NOW_MS + 5
    assert changed_user(None, notices_read(REF, NOW_MS), None) is None
    assert joined_users(after(SIGNED_IN), row).read_ms == NOW_MS + 5


def test_the_later_of_two_choices_about_a_name_holds() -> None:
    allowed = after(SIGNED_IN, naming_set(REF, True, NOW_MS), stamp=Stamp(1, "a.1"))
    refused = after(naming_set(REF, False, NOW_MS), row=allowed, stamp=Stamp(2, "b.1"))
    assert allowed.lets_name
    assert not refused.lets_name
    assert joined_users(allowed, refused) == joined_users(refused, allowed) == refused
    assert joined_users(after(SIGNED_IN), allowed).lets_name
    assert changed_user(None, naming_set(REF, True, NOW_MS), None) is None


def test_a_row_without_a_choice_has_the_bytes_of_older_versions() -> None:
    assert b"naming" not in msgspec.json.encode(after(SIGNED_IN))
    assert b"naming" in msgspec.json.encode(after(SIGNED_IN, naming_set(REF, True, NOW_MS)))


def test_of_each_listing_the_latest_settled_report_is_remembered_and_of_these_the_newest() -> None:
    def settled(number: int, at_ms: int) -> UserEvent:
        return UserSlotsSet(REF, at_ms, settled=AnsweredReport(at_ms, f"bots/{number}"))

    row = after(SIGNED_IN, *(settled(number, NOW_MS + number) for number in range(SETTLED_KEPT + 1)))
    assert [each.listing for each in row.settled] == [f"bots/{number + 1}" for number in range(SETTLED_KEPT)]
    again = after(settled(1, NOW_MS + 99), settled(2, NOW_MS), row=row)
    assert (again.settled[0].listing, again.settled[-1]) == ("bots/2", AnsweredReport(NOW_MS + 99, "bots/1"))
    assert joined_users(row, again).settled == again.settled
    assert changed_user(None, settled(1, NOW_MS), None) is None
