"""listings/owners.py: nobody gets rights by being named."""

from itertools import count

import pytest
from msgspec.structs import replace

from core.actors import ERASED, OPERATOR, Actor, user_actor
from core.ledger import Ledger
from core.rows import Key, Listing, Reviewed
from core.state import State
from languages.refusals import Refusal
from listings import owners
from tests.support.co_owners import co_owner
from tests.support.committed_rows import a_listing
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

MOST = 4
"""Co-owners and invitations of one bot together."""

BY_OWNER, BY_USER = user_actor(OWNER), user_actor(USER)
IDS = count()
ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))


def row_of(state: State) -> Listing:
    return state.listings[BOT_REF]


def invite(ledger: Ledger, user: str = USER) -> None:
    row, now_ms = row_of(ledger.state), NOW_MS + next(IDS)
    ledger.commit(owners.invite(row, user, f"id {now_ms}", now_ms, by=BY_OWNER))


def join(ledger: Ledger, user: str = USER) -> None:
    events = owners.accept_invitation(row_of(ledger.state), user, NOW_MS + next(IDS), by=user_actor(user))
    ledger.commit(events)


def part(ledger: Ledger, user: str, by: Actor) -> None:
    ledger.commit(owners.end_co_owner(row_of(ledger.state), user, NOW_MS + next(IDS), by=by))


def actions(state: State) -> list[str]:
    return [
        act.action
        for act in row_of(state).audit_log
        if act.action != "submitted" and act.action != "approved"
    ]


def test_an_invited_user_owns_the_bot_once_they_accept(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    invite(ledger)
    assert (row_of(state).extra_owners, row_of(state).invited) == ((), (USER,))
    join(ledger)
    assert (row_of(state).extra_owners, row_of(state).invited) == ((USER,), ())
    assert actions(state) == ["co_owner_invited", "co_owner_joined"]


@pytest.mark.parametrize(
    ("joins", "by", "action"),
    [
        (False, BY_USER, "invitation_declined"),
        (False, BY_OWNER, "invitation_withdrawn"),
        (True, BY_USER, "co_owner_left"),
        (True, BY_OWNER, "co_owner_removed"),
    ],
)
def test_either_side_ends_it(ledger: Ledger, state: State, joins: bool, by: Actor, action: str) -> None:
    a_listing(ledger)
    invite(ledger)
    if joins:
        join(ledger)
    part(ledger, USER, by)
    assert (row_of(state).co_owners, actions(state)[-1]) == ((), action)
    with pytest.raises(Refusal, match="extra_owner"):
        part(ledger, USER, by)
    with pytest.raises(Refusal, match="invitation"):
        join(ledger)


def test_there_is_room_for_so_many_invitations_and_co_owners(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    users = [str(10**17 + number) for number in range(MOST)]
    for user in users:
        invite(ledger, user)
    join(ledger, users[0])
    invite(ledger, users[1])  # an invitation takes its place only once
    assert len(row_of(state).co_owners) == MOST
    with pytest.raises(Refusal, match="too_many_owners"):
        invite(ledger, USER)
    part(ledger, users[2], user_actor(users[2]))
    invite(ledger, USER)


def test_the_owner_needs_no_invitation(ledger: Ledger) -> None:
    a_listing(ledger)
    with pytest.raises(Refusal, match="owns_already"):
        invite(ledger, OWNER)


def test_what_was_done_already_is_no_event(ledger: Ledger, state: State) -> None:
    a_listing(ledger)
    invite(ledger)
    assert owners.invite(row_of(state), USER, "again", NOW_MS, by=BY_OWNER) == []
    join(ledger)
    assert owners.accept_invitation(row_of(state), USER, NOW_MS, by=BY_USER) == []


def test_who_was_invited_twice_by_two_nodes_leaves_whole() -> None:
    twice = (co_owner(USER), replace(co_owner(USER, joined=False), id="another"))
    row = replace(ROW, co_owners=twice)
    assert (row.extra_owners, row.invited, row.asked) == ((USER,), (), ())
    (ended,) = owners.end_co_owner(row, USER, NOW_MS, by=BY_USER)
    assert {*getattr(ended, "ids", ())} == {each.id for each in twice}


def key(name: str, *makers: Actor) -> Key:
    return Key(name, name, name, name, NOW_MS, makers=makers)


def test_keys_of_others_are_those_that_no_present_owner_made() -> None:
    gone = user_actor(OTHER_USER)
    keys = (
        key("of the owner", BY_OWNER),
        key("of a co-owner", BY_USER),
        key("of the operator", OPERATOR),
        key("of one who is gone", gone),
        key("of one who is erased", ERASED),
        key("rotated with overlap", BY_OWNER, gone),
        key("of nobody"),
    )
    row = replace(ROW, keys=keys, co_owners=(co_owner(USER), co_owner(OTHER_USER, joined=False)))
    found = [each.name for each in owners.keys_of_others(row)]
    assert found == ["of one who is gone", "of one who is erased", "rotated with overlap"]
