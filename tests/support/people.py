"""Terms of sessions, and a sign-in, for tests of people."""

from core.actors import user_actor
from core.events import UserSignedIn
from core.user_rows import UserProfile, UserSession, user_ref
from people.user_sessions import SessionTerms, Terms
from tests.support.sample_rows import DAY_MS, HOUR_MS, NOW_MS

TERMS = Terms(SessionTerms(14 * DAY_MS, 90 * DAY_MS), SessionTerms(12 * HOUR_MS, 7 * DAY_MS))
"""The default terms."""


def signed_in(user: str, digest: str, at_ms: int = NOW_MS) -> UserSignedIn:
    """Return the event of a sign-in whose session has this digest."""
    session = UserSession(digest, "Firefox on Linux", at_ms, at_ms)
    return UserSignedIn(user_ref(user), UserProfile("ada", "Ada"), session, by=user_actor(user))
