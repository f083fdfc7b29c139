"""Listings, users, times and rows for tests."""

from core.events import Event, ListingReviewed, ListingSaved, VoteCast
from core.rows import Attempt, Webhook
from kinds.bots import BotProfile
from kinds.servers import ServerProfile
from tests.support.slots_set import webhook_saved

BOT_REF = "bots/111111111111111111"
OTHER_REF = "bots/222222222222222222"
SERVER_REF = "servers/333333333333333333"
OWNER = "444444444444444444"
USER = "555555555555555555"
OTHER_USER = "666666666666666666"

NOW_MS = 1_750_000_000_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

BOT_PROFILE = BotProfile("Test bot", "A bot for the tests", "A longer description", ("Utility",))
SERVER_PROFILE = ServerProfile("Test server", "A server for the tests", ("tests",), "Gaming")
DELIVERED = Attempt(NOW_MS, 12, 204, None, "")
REFUSED = Attempt(NOW_MS, 3, None, "refused", "")
SECRET = "whsec_" + "A" * 43 + "="
OLD_SECRET = "whsec_" + "B" * 42 + "A="


def listed(ref: str = BOT_REF, url: str | None = None, token: str | None = None) -> list[Event]:
    """Return the events of an approved listing, with a webhook if there is a URL."""
    events: list[Event] = [
        ListingSaved(ref, OWNER, BOT_PROFILE, "in_review", NOW_MS),
        ListingReviewed(ref, "approved", None, NOW_MS),
    ]
    return events if url is None else [*events, webhook_saved(ref, Webhook(url, NOW_MS, token))]


def voted(user: int, count: int = 1, at_ms: int = NOW_MS, ref: str = BOT_REF) -> VoteCast:
    return VoteCast(ref, str(user), count, at_ms)
