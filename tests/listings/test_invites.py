"""listings/invites.py: what an answer about an invite changes, and what visitors get."""

import pytest

from core.actors import GATEWAY, OPERATOR
from core.events import ListingSaved
from core.ledger import Ledger
from core.rows import InviteCheck, InviteProblem, Listing
from kinds.servers import ServerProfile
from listings.invites import check_of, checked, is_due, public_invite
from tests.support.sample_rows import NOW_MS, OWNER, SERVER_REF

DAY_MS = 86_400_000
VALID = InviteCheck("abc", NOW_MS, None, 1_250, 180)


def saved(ledger: Ledger, invite: str | None, at: int = 0) -> Listing:
    profile = ServerProfile("A server", "", (), "Gaming", invite=invite)
    ledger.commit([ListingSaved(SERVER_REF, OWNER, profile, "approved", NOW_MS + at, by=OPERATOR)])
    return ledger.state.listings[SERVER_REF]


def answered(ledger: Ledger, check: InviteCheck) -> Listing:
    ledger.commit(checked(ledger.state, SERVER_REF, check, check.at_ms, by=GATEWAY))
    return ledger.state.listings[SERVER_REF]


def broken(problem: InviteProblem = "gone", at: int = 1) -> InviteCheck:
    return InviteCheck("abc", NOW_MS + at, problem)


def test_an_invite_that_was_never_asked_about_is_given_to_visitors(ledger: Ledger) -> None:
    row = saved(ledger, "abc")
    assert (public_invite(row), check_of(row)) == ("abc", None)


def test_a_server_without_an_invite_gives_none(ledger: Ledger) -> None:
    assert public_invite(saved(ledger, None)) is None


@pytest.mark.parametrize("problem", ["gone", "elsewhere", "expires"])
def test_an_invite_that_is_not_valid_is_given_to_nobody(ledger: Ledger, problem: InviteProblem) -> None:
    saved(ledger, "abc")
    assert public_invite(answered(ledger, VALID)) == "abc"
    assert public_invite(answered(ledger, broken(problem))) is None
    assert public_invite(answered(ledger, VALID)) == "abc"


def test_the_owner_is_told_once_that_the_invite_broke(ledger: Ledger) -> None:
    saved(ledger, "abc")
    for check in (VALID, broken(at=1), broken(at=2), VALID, broken("expires", at=3)):
        row = answered(ledger, check)
    acts = [(act.by, act.about) for act in row.audit_log if act.action == "invite_broken"]
    assert acts == [(GATEWAY, "gone"), (GATEWAY, "expires")]


def test_a_new_invite_is_unknown_until_it_is_asked_about(ledger: Ledger) -> None:
    saved(ledger, "abc")
    answered(ledger, broken())
    row = saved(ledger, "def", at=2)
    assert (public_invite(row), check_of(row)) == ("def", None)
    assert is_due(row, NOW_MS + 2, DAY_MS)


def test_an_answer_about_an_invite_that_was_replaced_changes_nothing(ledger: Ledger) -> None:
    before = saved(ledger, "def")
    assert checked(ledger.state, SERVER_REF, broken(), NOW_MS + 1, by=GATEWAY) == []
    assert ledger.state.listings[SERVER_REF] == before


def test_an_invite_is_due_a_day_after_the_last_answer(ledger: Ledger) -> None:
    row = saved(ledger, "abc")
    assert is_due(row, NOW_MS, DAY_MS)
    row = answered(ledger, VALID)
    assert not is_due(row, NOW_MS + DAY_MS - 1, DAY_MS)
    assert is_due(row, NOW_MS + DAY_MS, DAY_MS)
    assert not is_due(saved(ledger, None), NOW_MS + DAY_MS, DAY_MS)
