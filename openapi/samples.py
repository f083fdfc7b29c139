"""The ids and numbers of the examples: one bot, one server, their owner, and a user who has voted."""

from core.actors import OPERATOR
from core.user_rows import Quarantine

BOT = "123456789012345678"
SERVER = "423456789012345678"
OWNER = "223456789012345678"
CO_OWNER = "523456789012345678"
USER = "323456789012345678"
STRANGER = "623456789012345678"
KEY_ID = "0f4c81b2a95d3e6f7a8b9c0d"
DELIVERY_ID = "5ac0de95b1f04c7c8e2d3a41"
SESSION_ID = "4f1d0c9a7b3e5826"
NOW_MS = 1_750_000_000_000
DAY_MS = 86_400_000
SERVER_COUNT = 1_200
QUARANTINE = Quarantine("vote", "You voted from many accounts.", OPERATOR, NOW_MS, NOW_MS + 7 * DAY_MS)
