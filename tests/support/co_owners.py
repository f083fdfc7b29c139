"""Co-owners for tests: rows, and users who accept through the API."""

from core.actors import user_actor
from core.rows import CoOwner
from tests.support.gateways import Client
from tests.support.sample_rows import NOW_MS


def co_owner(user: str, *, joined: bool = True) -> CoOwner:
    """Return a co-owner who has accepted, or an invited user."""
    return CoOwner(f"of {user}", user_actor(user), NOW_MS, NOW_MS if joined else None)


def let_join(gateway: Client, bot: str, *users: str) -> None:
    """Invite the users to own the bot, and accept for them."""
    for user in users:
        one = f"/manage/bots/{bot}/extra-owners/{user}"
        gateway.done("PUT", one, {})
        gateway.done("POST", f"{one}/accept", {})
