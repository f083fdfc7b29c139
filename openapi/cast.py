"""The cast of the examples: one bot, one server, their owner, a user who has voted, and a node of a fleet."""

from msgspec.structs import replace

from core.actors import OPERATOR, user_actor
from core.rows import (
    Attempt,
    AuditEntry,
    BotCounts,
    BotLimits,
    BotProfile,
    CoOwner,
    Delivery,
    Key,
    Listing,
    OwnerMessage,
    PendingChange,
    Policy,
    Reviewed,
    ServerProfile,
    Suspension,
    Webhook,
)
from core.user_rows import Quarantine, UserProfile, UserRow, UserSession, user_ref

BOT = "123456789012345678"
SERVER = "423456789012345678"
OWNER = "223456789012345678"
CO_OWNER = "523456789012345678"
USER = "323456789012345678"
STRANGER = "623456789012345678"
MODERATOR = "723456789012345678"
KEY_ID = "0f4c81b2a95d3e6f7a8b9c0d"
CO_OWNER_ID = "1d5e92c3ba4e607f8a9bacbd"
DELIVERY_ID = "5ac0de95b1f04c7c8e2d3a41"
KEY = "vg_3q2-7wEjRWeJq83vASNFZ4mrze8BI0VniavN7wEjRWc"
SESSION_ID = "4f1d0c9a7b3e5826"
NOW_MS = 1_750_000_000_000
DAY_MS = 86_400_000
SERVER_COUNT = 1_200
DIGEST = "9f86d081884c7d659a2feaa0c55ad015"

ATTEMPT = Attempt(NOW_MS, 84, 204, None, "")
REFUSED = Attempt(NOW_MS, 2, 500, "http_500", "Internal Server Error")

PRODUCTION_KEY = Key(
    KEY_ID, "production", "1f3c5a7e" * 8, "1f3c5a7e", NOW_MS - DAY_MS, makers=(user_actor(OWNER),)
)
SIGNED_WITH = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD7U+tTLFsZJA="
WEBHOOK = Webhook("https://example.com/votes", NOW_MS - DAY_MS, "a-secret-of-yours", secret=SIGNED_WITH)
SUSPENDED = replace(
    WEBHOOK, failed=10, suspension=Suspension(NOW_MS - 60_000, "http_500", 1, NOW_MS), token=None
)
CHAT_WEBHOOK = Webhook(
    "https://discord.com/api/webhooks/723456789012345678/a-secret", NOW_MS, language="pt-BR"
)
DELIVERED = Delivery(
    DELIVERY_ID, f"bots/{BOT}", USER, False, NOW_MS, None, delivered=True, attempts=(ATTEMPT,)
)
PENDING = replace(DELIVERED, next_attempt_ms=NOW_MS + 5_002, delivered=False, attempts=(REFUSED,))
TESTED = replace(DELIVERED, test=True)

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
    created_ms=NOW_MS - 2 * DAY_MS,
    updated_ms=NOW_MS - 2 * DAY_MS,
    review=Reviewed("approved", NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS),
    counts=BotCounts(SERVER_COUNT, 42, NOW_MS),
    actual=SERVER_COUNT,
    limits=BotLimits(Policy(10, 7_200)),
    webhook=WEBHOOK,
    co_owners=(CoOwner(CO_OWNER_ID, user_actor(CO_OWNER), NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS),),
    keys=(PRODUCTION_KEY,),
    audit_log=(
        AuditEntry(NOW_MS - 2 * DAY_MS, user_actor(OWNER), "submitted"),
        AuditEntry(NOW_MS - DAY_MS, OPERATOR, "approved"),
        AuditEntry(NOW_MS, user_actor(OWNER), "key_issued", "production"),
    ),
    message=OwnerMessage(
        user_actor(OWNER),
        "approved",
        None,
        NOW_MS - DAY_MS,
        None,
        made=1,
        tries=1,
        delivered=True,
        last=Attempt(NOW_MS - DAY_MS, 182, 200, None, ""),
    ),
)
_RENAMED = replace(APPROVED_BOT.profile, name="Example bot, renamed")
CHANGED_BOT = replace(APPROVED_BOT, change=PendingChange(_RENAMED, False, user_actor(OWNER), NOW_MS, NOW_MS))
APPROVED_SERVER = Listing(
    f"servers/{SERVER}",
    OWNER,
    ServerProfile("Example server", "A place to talk about bots", ("bots", "talk"), "Community"),
    created_ms=NOW_MS - 2 * DAY_MS,
    updated_ms=NOW_MS - 2 * DAY_MS,
    review=Reviewed("approved", NOW_MS - 2 * DAY_MS, NOW_MS - DAY_MS),
    webhook=WEBHOOK,
)

USER_SESSION = UserSession(SESSION_ID * 4, "Firefox on Linux", NOW_MS - DAY_MS, NOW_MS)
QUARANTINE = Quarantine("vote", "You voted from many accounts.", OPERATOR, NOW_MS, NOW_MS + 7 * DAY_MS)
SIGNED_IN = UserRow(
    user_ref(USER),
    NOW_MS - 30 * DAY_MS,
    UserProfile("ada", "Ada", locale="en-GB"),
    (USER_SESSION,),
    quarantines=(QUARANTINE,),
)
APPOINTED = UserRow(user_ref(MODERATOR), NOW_MS, UserProfile("grace", "Grace"), role="moderator")
