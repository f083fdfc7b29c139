"""The debug endpoints together: the inside of the process, for operators. Law: no secret is ever shown.

Each part stands in a module of its own, with the types of its answers. A page that shows the same calls the
part's `view`.
"""

from dataclasses import dataclass

from metrics.scraping import Scraping
from operators.all_webhooks import DebugWebhooks
from operators.data_folder import DebugDisk
from operators.finding_subjects import DebugFind
from operators.journal_pages import DebugJournal
from operators.limiter_use import DebugLimiter
from operators.listing_inside import DebugListings
from operators.logged_errors import DebugErrors
from operators.overview import DebugOverview
from operators.process import DebugProcess
from operators.user_inside import DebugUsers


@dataclass(frozen=True)
class Operators:
    """The objects that answer the operator: one of a gateway."""

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
    scraping: Scraping
