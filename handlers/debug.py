"""The debug endpoints together: the inside of the process, for operators. Law: no secret is ever shown.

Each part stands in a module of its own, with the types of its answers. A page that shows the same calls the
part's `view`.
"""

from dataclasses import dataclass

from handlers.debug_disk import DebugDisk
from handlers.debug_errors import DebugErrors
from handlers.debug_find import DebugFind
from handlers.debug_journal import DebugJournal
from handlers.debug_limiter import DebugLimiter
from handlers.debug_listing import DebugListings
from handlers.debug_overview import DebugOverview
from handlers.debug_process import DebugProcess
from handlers.debug_user import DebugUsers
from handlers.debug_webhooks import DebugWebhooks


@dataclass(frozen=True)
class Debug:
    """The parts of the debug endpoints."""

    process: DebugProcess
    overview: DebugOverview
    disk: DebugDisk
    find: DebugFind
    listings: DebugListings
    users: DebugUsers
    webhooks: DebugWebhooks
    limiter: DebugLimiter
    errors: DebugErrors
    journal: DebugJournal
