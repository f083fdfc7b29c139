"""people/quarantine.py: what is forbidden to whom, why, and until when."""

import pytest

from core.actors import OPERATOR, user_actor
from core.events import Event
from core.ledger import Ledger
from core.refusals import Conflict, Invalid, NotFound, Quarantined
from core.state import State
from core.user_rows import QuarantinedAct, user_ref
from people.quarantine import MOST_CHARACTERS, impose, lift, refuse_quarantined
from tests.support.sample_rows import HOUR_MS, NOW_MS, OWNER, USER
from votes.rules import erase_user

UNTIL_MS = NOW_MS + HOUR_MS


def forbid(
    state: State, act: QuarantinedAct = "vote", reason: str = "Bought votes.", until_ms: int | None = UNTIL_MS
) -> list[Event]:
    return impose(state, USER, act, reason, until_ms, NOW_MS, by=user_actor(OWNER))


def test_an_act_is_forbidden_until_its_end_and_no_other_act(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    with pytest.raises(Quarantined) as refused:
        refuse_quarantined(state, USER, "vote", UNTIL_MS - 1)
    assert (refused.value.act, refused.value.reason) == ("vote", "Bought votes.")
    refuse_quarantined(state, USER, "vote", UNTIL_MS)
    refuse_quarantined(state, USER, "submit", NOW_MS)
    refuse_quarantined(state, OWNER, "vote", NOW_MS)


def test_one_without_an_end_holds_until_it_is_lifted(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state, until_ms=None))
    with pytest.raises(Quarantined):
        refuse_quarantined(state, USER, "vote", NOW_MS + 10_000 * HOUR_MS)
    ledger.commit(lift(state, USER, "vote", UNTIL_MS, by=OPERATOR))
    refuse_quarantined(state, USER, "vote", UNTIL_MS)


def test_a_new_one_takes_the_place_of_the_old_one(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    ledger.commit(forbid(state, reason="Again.", until_ms=None))
    (quarantine,) = state.users[user_ref(USER)].quarantines
    assert (quarantine.reason, quarantine.until_ms, quarantine.by) == ("Again.", None, user_actor(OWNER))


def test_there_is_nothing_to_lift_where_nothing_holds(ledger: Ledger, state: State) -> None:
    with pytest.raises(NotFound, match="quarantine"):
        lift(state, USER, "vote", NOW_MS, by=OPERATOR)
    ledger.commit(forbid(state))
    with pytest.raises(NotFound, match="quarantine"):
        lift(state, USER, "submit", NOW_MS, by=OPERATOR)
    with pytest.raises(NotFound, match="quarantine"):
        lift(state, USER, "vote", UNTIL_MS, by=OPERATOR)


def test_nobody_decides_about_a_quarantine_of_their_own(ledger: Ledger, state: State) -> None:
    own = user_actor(USER)
    with pytest.raises(Conflict, match="own_quarantine"):
        impose(state, USER, "vote", "", None, NOW_MS, by=own)
    ledger.commit(forbid(state))
    with pytest.raises(Conflict, match="own_quarantine"):
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
    assert set(refused.value.fields) == wrong


def test_an_erased_moderator_is_struck_out_of_it(ledger: Ledger, state: State) -> None:
    ledger.commit(forbid(state))
    ledger.commit(erase_user(OWNER, {user_ref(USER)}, now_ms=NOW_MS, by=OPERATOR))
    (quarantine,) = state.users[user_ref(USER)].quarantines
    assert (quarantine.by, quarantine.reason) == ("erased", "Bought votes.")
