"""web/people/user_names.py: only who has signed in here has a name."""

from core.actors import user_actor
from core.events import UserSignedIn
from core.ledger import Ledger
from core.user_rows import UserProfile, UserSession, user_ref
from tests.support.sample_rows import NOW_MS, OTHER_USER, OWNER, USER
from web.people.user_names import names_of


def test_users_have_the_names_they_signed_in_with(ledger: Ledger) -> None:
    for user, profile in ((USER, UserProfile("ada", "Ada L.")), (OWNER, UserProfile("ben"))):
        session = UserSession(user, "Firefox", NOW_MS, NOW_MS)
        ledger.commit([UserSignedIn(user_ref(user), profile, session, (), by=user_actor(user))])
    assert names_of(ledger.state, (USER, OWNER, OTHER_USER)) == {USER: "Ada L.", OWNER: "ben"}
