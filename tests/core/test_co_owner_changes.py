"""core/co_owner_changes.py: who has left stays away."""

from msgspec.structs import replace

from core.actors import user_actor
from core.co_owner_changes import joined_co_owners, with_co_owner, without_co_owners, without_user
from core.rows import Listing, Revocation, Stamp
from core.striking import actors_of, without_actor
from tests.support.co_owners import co_owner
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, "approved", NOW_MS, NOW_MS)
STAMP = Stamp(NOW_MS + 5, "a.1")
INVITED, JOINED = co_owner(USER, joined=False), co_owner(USER)


def test_an_acceptance_takes_the_place_of_its_invitation() -> None:
    row = with_co_owner(with_co_owner(ROW, INVITED, None), JOINED, STAMP)
    assert row.co_owners == (replace(JOINED, stamp=STAMP),)


def test_outside_of_a_fleet_nothing_is_remembered_of_who_has_left() -> None:
    row = replace(ROW, co_owners=(JOINED, co_owner(OTHER_USER)))
    assert without_co_owners(row, (JOINED.id,), None) == replace(ROW, co_owners=(co_owner(OTHER_USER),))
    left = without_co_owners(row, (JOINED.id,), STAMP)
    assert left.revoked == (Revocation(STAMP.ms, JOINED.id),)


def test_of_two_nodes_the_later_word_on_an_invitation_stands_unless_it_has_ended() -> None:
    later = replace(JOINED, stamp=STAMP)
    assert (
        joined_co_owners((INVITED,), (later,), ()) == joined_co_owners((later,), (INVITED,), ()) == (later,)
    )
    assert joined_co_owners((INVITED,), (later,), {JOINED.id}) == ()


def test_an_erased_user_is_no_co_owner_and_one_who_joined_later_is() -> None:
    later = replace(JOINED, stamp=STAMP)
    assert without_user((JOINED, co_owner(OTHER_USER)), user_actor(USER), None) == (co_owner(OTHER_USER),)
    assert without_user((later,), user_actor(USER), STAMP.ms - 1) == (later,)
    assert without_user((later,), user_actor(USER), STAMP.ms) == ()


def test_a_row_names_its_co_owners_those_who_are_invited_and_their_heirs() -> None:
    row = replace(ROW, co_owners=(INVITED,))
    assert actors_of(row) == {user_actor(USER)}
    assert without_actor(row, user_actor(USER), None) == ROW
