"""Rows of the bot, the server and the user that the examples of the OpenAPI document show."""

from core.actors import user_actor
from core.rows import Key, Listing, Reviewed
from core.user_rows import UserProfile, UserRow, UserSession, user_ref
from kinds.bots import BotProfile
from kinds.servers import SERVERS, ServerProfile
from openapi.examples import BOT, DAY_MS, KEY_ID, NOW_MS, OWNER, QUARANTINE, SESSION_ID, USER

CO_OWNER_ID = "1d5e92c3ba4e607f8a9bacbd"
KEY = "vg_3q2-7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWc"
PRODUCTION_KEY = Key(
    KEY_ID, "production", "1f3c5a7e" * 8, "1f3c5a7e", NOW_MS - DAY_MS, makers=(user_actor(OWNER),)
)
APPROVED_BOT = Listing(
    f"bots/{BOT}",
    OWNER,
    BotProfile(
        "Example bot",
        "Counts what happens on your server",
        "A bot that counts what happens on your server, and tells you **once a week**.",
        ("Utility", "Fun & Games"),
        "https://example.com/support",
    ),
    NOW_MS - 2 * DAY_MS,
    NOW_MS - 2 * DAY_MS,
    Reviewed("approved", NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS),
    keys=(PRODUCTION_KEY,),
)
APPROVED_SERVER = Listing(
    f"servers/{SERVERS.id.sample}",
    OWNER,
    ServerProfile("Example server", "A place to talk about bots", ("bots", "talk"), "Community"),
    NOW_MS - 2 * DAY_MS,
    NOW_MS - 2 * DAY_MS,
    Reviewed("approved", NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS),
)
SIGNED_IN = UserRow(
    user_ref(USER),
    NOW_MS - 30 * DAY_MS,
    UserProfile("ada", "Ada", locale="en-GB"),
    (UserSession(SESSION_ID * 4, "Firefox on Linux", NOW_MS - DAY_MS, NOW_MS),),
    quarantines=(QUARANTINE,),
)
