"""listings/owners.py: the owner stays the owner until the successor accepts."""

import pytest

from core.actors import OPERATOR, user_actor
from core.clock import MS_PER_DAY
from core.events import CoOwnerSaved, ListingSaved
from core.ledger import Ledger
from core.rows import Listing
from core.state import State
from languages.refusals import Refusal
from listings import owners
from tests.support.co_owners import co_owner
from tests.support.committed_rows import a_listing
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, OWNER, SERVER_PROFILE, SERVER_REF, USER

MOST = 4
"""Co-owners and invitations of one bot together."""

BY_OWNER, BY_SUCCESSOR = user_actor(OWNER), user_actor(USER)
WEEK_MS = 7 * MS_PER_DAY


def offered(ledger: Ledger, ref: str = BOT_REF) -> Listing:
    row = ledger.state.listings[ref]
    ledger.commit(owners.offer(row, USER, NOW_MS + 10, by=BY_OWNER))
    return ledger.state.listings[ref]


def accept(ledger: Ledger, successor: str = USER, after_ms: int = 1) -> Listing:
    row = ledger.state.listings[BOT_REF]
    ledger.commit(
        owners.accept_offer(row, successor, "new", NOW_MS + 10 + after_ms, by=user_actor(successor))
    )
    return ledger.state.listings[BOT_REF]


def test_an_offer_changes_nothing_until_the_successor_accepts(ledger: Ledger) -> None:
    a_listing(ledger)
    row = offered(ledger)
    assert (row.owner_id, row.extra_owners, row.asked) == (OWNER, (), (USER,))
    row = accept(ledger)
    assert (row.owner_id, row.extra_owners, row.asked) == (USER, (OWNER,), ())
    assert [act.action for act in row.audit_log][-2:] == ["hand_over_offered", "handed_over"]


@pytest.mark.parametrize(("after_ms", "is_late"), [(WEEK_MS - 1, False), (WEEK_MS, True)])
def test_an_offer_lapses_after_7_days(ledger: Ledger, after_ms: int, is_late: bool) -> None:
    a_listing(ledger)
    offered(ledger)
    if is_late:
        with pytest.raises(Refusal, match="hand_over"):
            accept(ledger, after_ms=after_ms)
    else:
        assert accept(ledger, after_ms=after_ms).owner_id == USER


def test_nobody_but_the_successor_accepts(ledger: Ledger) -> None:
    a_listing(ledger)
    offered(ledger)
    with pytest.raises(Refusal, match="hand_over"):
        accept(ledger, OTHER_USER)


@pytest.mark.parametrize(
    ("by", "action"), [(BY_OWNER, "hand_over_withdrawn"), (BY_SUCCESSOR, "hand_over_declined")]
)
def test_an_offer_is_withdrawn_or_declined(ledger: Ledger, state: State, by: str, action: str) -> None:
    a_listing(ledger)
    row = offered(ledger)
    ledger.commit(owners.end_offer(row, NOW_MS + 11, by=user_actor(by.removeprefix("users/"))))
    row = state.listings[BOT_REF]
    assert (row.owner_id, row.hand_over, row.audit_log[-1].action) == (OWNER, None, action)
    with pytest.raises(Refusal, match="hand_over"):
        owners.end_offer(row, NOW_MS + 12, by=BY_OWNER)
    with pytest.raises(Refusal, match="hand_over"):
        accept(ledger)


def test_an_owner_inherits_nothing(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    with pytest.raises(Refusal, match="owns_already"):
        owners.offer(state.listings[BOT_REF], OWNER, NOW_MS, by=BY_OWNER)


def test_a_new_owner_says_alone_who_else_owns_it(ledger: Ledger) -> None:
    a_listing(ledger)
    for each in (co_owner(USER), co_owner(OTHER_USER, joined=False)):
        ledger.commit([CoOwnerSaved(BOT_REF, each, NOW_MS)])
    offered(ledger)
    row = accept(ledger)
    assert (row.owner_id, row.extra_owners, row.invited) == (USER, (OWNER,), ())


def test_a_former_owner_goes_where_there_is_no_room(ledger: Ledger) -> None:
    a_listing(ledger)
    others = [str(10**17 + number) for number in range(MOST)]
    ledger.commit([CoOwnerSaved(BOT_REF, co_owner(user), NOW_MS) for user in others])
    offered(ledger)
    assert [*accept(ledger).extra_owners] == others


def test_a_server_is_handed_over_whole(ledger: Ledger, state: State) -> None:
    a_listing(ledger, SERVER_REF)
    ledger.commit([ListingSaved(SERVER_REF, OWNER, SERVER_PROFILE, "approved", NOW_MS + 1)])
    row = offered(ledger, SERVER_REF)
    ledger.commit(owners.accept_offer(row, USER, "new", NOW_MS + 11, by=BY_SUCCESSOR))
    row = state.listings[SERVER_REF]
    assert (row.owner_id, row.extra_owners) == (USER, ())


def test_the_operator_sets_an_owner_at_once_and_the_former_one_is_none(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    row = state.listings[BOT_REF]
    ledger.commit(owners.hand_over(row, USER, NOW_MS + 1, by=OPERATOR))
    row = state.listings[BOT_REF]
    assert (row.owner_id, row.co_owners, row.audit_log[-1].action) == (USER, (), "handed_over")
