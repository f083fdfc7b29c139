"""The conditions on the page of a server's listing, checked again when its owner asks. Law: the page shows
the check that is in the listing, and a check changes nothing but that.
"""

from core.clock import Clock
from core.ledger import Ledger
from core.rows import Listing
from listings.eligibility import check
from web.pages import Shown
from web.people.listing_access import ListingAccess
from web.people.people_audience import PersonVisit, done
from web.people.server_checking import ServerChecking


class ServerCheckPages:
    """The pages.

    Args:
        grace_ms: how long a listing may fail before it is hidden.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        access: ListingAccess,
        checking: ServerChecking,
        grace_ms: int,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._access = access
        self._checking = checking
        self._grace_ms = grace_ms

    async def check(self, visit: PersonVisit) -> Shown:
        access = self._access.of(visit, "servers", "edit")
        ref, user_id = access.row.ref, access.person.id
        now = await self._checking.check(user_id, access.row.id)
        state = self._ledger.state
        events = check(state, ref, now, self._clock.now_ms(), self._grace_ms, by=visit.request.by)
        await self._ledger.durable(self._ledger.commit(events))
        return done(f"/{ref}/manage#conditions", "checked")

    def hides_ms(self, row: Listing) -> int | None:
        """Return when a listing is hidden that fails; None for one that passes, or is hidden already."""
        known = row.eligibility
        if known is None or known.failing_ms is None or known.hidden_ms is not None:
            return None
        return known.failing_ms + self._grace_ms

    def bot_link(self, row: Listing) -> str | None:
        """Return where the owner of a server adds the bot that sees what is unknown."""
        known = row.eligibility
        is_unknown = known is not None and any(each.outcome == "unknown" for each in known.checks)
        return self._checking.bot_link(row.id) if is_unknown else None
