"""Co-owners in the row of a listing: co-owners who have left stay away."""

from msgspec.structs import replace

from core.actors import user_actor
from core.audit_log import actors_of, without_actor
from core.rows import Listing, Reviewed, Revocation, Stamp
from core.sharing import joined
from tests.support.co_owners import co_owner
from tests.support.sample_rows import BOT_PROFILE, BOT_REF, NOW_MS, OTHER_USER, OWNER, USER

ROW = Listing(BOT_REF, OWNER, BOT_PROFILE, NOW_MS, NOW_MS, Reviewed("approved", NOW_MS))
STAMP = Stamp(NOW_MS + 5, "a.1")
INVITED, JOINED = co_owner(USER, joined=False), co_owner(USER)


def test_the_later_change_of_an_invitation_wins_unless_it_has_ended() -> None:
    later = replace(JOINED, stamp=STAMP)
    one, other = replace(ROW, co_owners=(INVITED,)), replace(ROW, co_owners=(later,))
    assert joined(one, other).co_owners == joined(other, one).co_owners == (later,)
    ended = replace(ROW, revoked=(Revocation(STAMP.ms, JOINED.id),))
    assert joined(joined(one, other), ended).co_owners == ()


def test_an_erased_user_is_no_co_owner_and_one_who_joined_later_is() -> None:
    later = replace(JOINED, stamp=STAMP)
    row = replace(ROW, co_owners=(JOINED, co_owner(OTHER_USER)))
    assert without_actor(row, user_actor(USER), None).co_owners == (co_owner(OTHER_USER),)
    joined_later = replace(ROW, co_owners=(later,))
    assert without_actor(joined_later, user_actor(USER), STAMP.ms - 1) == joined_later
    assert without_actor(joined_later, user_actor(USER), STAMP.ms) == ROW


def test_a_row_names_its_co_owners_those_who_are_invited_and_their_heirs() -> None:
    row = replace(ROW, co_owners=(INVITED,))
    assert actors_of(row) == {user_actor(USER)}
    assert without_actor(row, user_actor(USER), None) == ROW
