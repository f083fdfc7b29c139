"""people/quarantine.py: imposing, lifting and keeping quarantines."""

import pytest

from core.actors import OPERATOR, user_actor
from core.events import (
    EndingsForgotten,
    Event,
    RatingSet,
    ReminderSet,
    SessionsEnded,
    UserDropped,
    UserSlotsSet,
)
from core.ledger import Ledger
from core.state import State
from core.user_rows import Naming, QuarantinedAct, Rating, Role, UserRow, user_ref
from languages.refusals import Invalid, Refusal
from people.quarantine import (
    MOST_CHARACTERS,
    REMEMBERED_MS,
    after_erasure,
    impose,
    lift,
    refuse_quarantined,
    sweep_users,
)
from tests.support.memory_nodes import DIGESTS, Node, meet
from tests.support.people import signed_in
from tests.support.sample_rows import BOT_REF, HOUR_MS, NOW_MS, OTHER_USER, OWNER, USER
from tests.support.slots_set import role_set
from votes.rules import erase_user

UNTIL_MS = NOW_MS + HOUR_MS


def nobody_is_named(_: str) -> bool:
    return False


def forbid(
    state: State, act: QuarantinedAct = "vote", reason: str = "Bought votes.", until_ms: int | None = UNTIL_MS
) -> list[Event]:
    return impose(state, USER, act, reason, until_ms, NOW_MS, by=user_actor(OWNER))


def test_an_act_is_forbidden_until_its_end_and_no_other_act(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    with pytest.raises(Refusal, match="quarantined") as refused:
        refuse_quarantined(state, USER, "vote", UNTIL_MS - 1)
    assert refused.value.facts["reason"] == "Bought votes."
    refuse_quarantined(state, USER, "vote", UNTIL_MS)
    refuse_quarantined(state, USER, "submit", NOW_MS)
    refuse_quarantined(state, OWNER, "vote", NOW_MS)


def test_one_without_an_end_holds_until_it_is_lifted(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state, until_ms=None))
    with pytest.raises(Refusal, match="quarantined"):
        refuse_quarantined(state, USER, "vote", NOW_MS + 10_000 * HOUR_MS)
    ledger.commit(lift(state, USER, "vote", UNTIL_MS, by=OPERATOR))
    refuse_quarantined(state, USER, "vote", UNTIL_MS)


def test_a_new_one_takes_the_place_of_the_old_one(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    ledger.commit(forbid(state, reason="Again.", until_ms=None))
    (quarantine,) = state.users[user_ref(USER)].quarantines
    assert (quarantine.reason, quarantine.until_ms, quarantine.by) == ("Again.", None, user_actor(OWNER))


def test_there_is_nothing_to_lift_where_nothing_holds(ledger: Ledger, state: State) -> None:
    with pytest.raises(Refusal, match="quarantine"):
        lift(state, USER, "vote", NOW_MS, by=OPERATOR)
    ledger.commit(forbid(state))
    with pytest.raises(Refusal, match="quarantine"):
        lift(state, USER, "submit", NOW_MS, by=OPERATOR)
    with pytest.raises(Refusal, match="quarantine"):
        lift(state, USER, "vote", UNTIL_MS, by=OPERATOR)


def test_nobody_decides_about_a_quarantine_of_their_own(ledger: Ledger, state: State) -> None:
    own = user_actor(USER)
    with pytest.raises(Refusal, match="own_quarantine"):
        impose(state, USER, "vote", "", None, NOW_MS, by=own)
    ledger.commit(forbid(state))
    with pytest.raises(Refusal, match="own_quarantine"):
        lift(state, USER, "vote", NOW_MS, by=own)


@pytest.mark.parametrize(
    ("reason", "until_ms", "wrong"),
    [
        ("", UNTIL_MS, {"reason"}),
        ("x" * (MOST_CHARACTERS + 1), UNTIL_MS, {"reason"}),
        ("Why.", NOW_MS, {"until"}),
        ("", NOW_MS - 1, {"reason", "until"}),
    ],
)
def test_every_wrong_field_is_named(state: State, reason: str, until_ms: int, wrong: set[str]) -> None:
    with pytest.raises(Invalid) as refused:
        forbid(state, reason=reason, until_ms=until_ms)
    assert set(refused.value.faults) == wrong


def erased(state: State, now_ms: int = NOW_MS, mark: str = "") -> list[Event]:
    events = erase_user(USER, {user_ref(USER)}, mark, now_ms=now_ms, by=OPERATOR)
    return [*events, *after_erasure(state, USER, now_ms)]


def test_an_erasure_lifts_no_quarantine_and_leaves_nothing_else(ledger: Ledger, state: State) -> None:
    ledger.commit([signed_in(USER, "d1")])
    ledger.commit(forbid(state))
    ledger.commit(forbid(state, "submit", until_ms=NOW_MS + 1))
    before = state.users[user_ref(USER)].quarantine("vote", NOW_MS)
    ledger.commit(erased(state, NOW_MS + 1))
    assert before is not None
    assert state.users[user_ref(USER)] == UserRow(user_ref(USER), NOW_MS + 1, quarantines=(before,))


def test_an_erasure_of_who_is_under_no_quarantine_leaves_no_row(ledger: Ledger, state: State) -> None:
    ledger.commit([signed_in(USER, "d1")])
    ledger.commit(forbid(state))
    ledger.commit(erased(state, UNTIL_MS))
    assert not state.users


def test_the_row_of_an_erased_user_goes_when_the_quarantine_is_over(ledger: Ledger, state: State) -> None:
    ledger.commit([signed_in(OTHER_USER, "d2")])
    ledger.commit(forbid(state))
    ledger.commit(erased(state))
    refs = [user_ref(USER), user_ref(OTHER_USER), "users/unknown"]
    assert sweep_users(state, refs, UNTIL_MS - 1, nobody_is_named) == []
    ledger.commit(sweep_users(state, refs, UNTIL_MS, nobody_is_named))
    assert list(state.users) == [user_ref(OTHER_USER)]


def test_in_a_fleet_every_node_keeps_the_quarantine_of_an_erased_user() -> None:
    a, b = Node("a"), Node("b", now_ms=NOW_MS + HOUR_MS)
    b.ledger.commit([signed_in(USER, "d1")])
    b.ledger.commit(forbid(b.state, until_ms=None))
    a.hear(b)
    a.ledger.commit(erased(a.state, mark=DIGESTS.user(USER)))
    meet(a, b)
    row = b.state.users[user_ref(USER)]
    assert (row.profile, row.sessions) == (None, ())
    assert row.quarantine("vote", NOW_MS) is not None


def test_in_a_fleet_a_lifted_quarantine_is_remembered_for_a_while() -> None:
    node, away = Node("a"), Node("b")
    node.ledger.commit(forbid(node.state, until_ms=None))
    away.hear(node)
    lifted_ms = NOW_MS + HOUR_MS
    node.ledger.commit(lift(node.state, USER, "vote", lifted_ms, by=OPERATOR))
    assert sweep_users(node.state, [user_ref(USER)], lifted_ms + REMEMBERED_MS - 1, nobody_is_named) == []
    meet(node, away)
    refuse_quarantined(away.state, USER, "vote", lifted_ms)
    for each in (node, away):
        each.ledger.commit(
            sweep_users(each.state, [user_ref(USER)], lifted_ms + REMEMBERED_MS, nobody_is_named)
        )
        assert not each.state.users


def test_in_a_fleet_the_end_of_a_role_is_remembered() -> None:
    node = Node("a")
    roles: list[Role | None] = ["moderator", None]
    for role in roles:
        node.ledger.commit([role_set(user_ref(USER), role, NOW_MS)])
    assert sweep_users(node.state, [user_ref(USER)], NOW_MS + 2 * REMEMBERED_MS, nobody_is_named) == []


def test_an_account_that_holds_nothing_any_more_is_dropped(ledger: Ledger, state: State) -> None:
    refs = [user_ref(USER)]
    ledger.commit([signed_in(USER, "d1")])
    assert sweep_users(state, refs, NOW_MS, nobody_is_named) == []
    ledger.commit([SessionsEnded(user_ref(USER), ("d1",), NOW_MS)])
    assert sweep_users(state, refs, NOW_MS, lambda user: user == USER) == []
    ledger.commit(sweep_users(state, refs, NOW_MS, nobody_is_named))
    assert not state.users


def test_an_account_with_a_choice_or_a_review_is_kept(ledger: Ledger, state: State) -> None:
    ref = user_ref(USER)
    kept: list[Event] = [
        UserSlotsSet(ref, NOW_MS, naming=Naming(NOW_MS)),
        RatingSet(ref, Rating(BOT_REF, NOW_MS, 5), NOW_MS),
        ReminderSet(ref, BOT_REF, NOW_MS, is_on=True),
    ]
    for event in kept:
        ledger.commit([signed_in(USER, "d1"), SessionsEnded(ref, ("d1",), NOW_MS), event])
        assert sweep_users(state, [ref], NOW_MS, nobody_is_named) == []
        ledger.commit([UserDropped(ref)])


def test_in_a_fleet_an_account_that_holds_nothing_is_remembered_for_a_while() -> None:
    node, ref = Node("a"), user_ref(USER)
    node.ledger.commit([signed_in(USER, "d1")])
    node.ledger.commit([SessionsEnded(ref, ("d1",), NOW_MS)])
    node.ledger.commit([EndingsForgotten(ref, NOW_MS + HOUR_MS)])
    assert sweep_users(node.state, [ref], NOW_MS + REMEMBERED_MS, nobody_is_named) == []
    node.ledger.commit(sweep_users(node.state, [ref], NOW_MS + REMEMBERED_MS + HOUR_MS, nobody_is_named))
    assert not node.state.users


def test_an_erased_moderator_is_struck_out_of_it(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    ledger.commit(erase_user(OWNER, {user_ref(USER)}, now_ms=NOW_MS, by=OPERATOR))
    (quarantine,) = state.users[user_ref(USER)].quarantines
    assert (quarantine.by, quarantine.reason) == ("erased", "Bought votes.")
