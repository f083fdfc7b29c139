"""The similar listings on the page of a listing."""

from core.clock import month_of
from core.rows import Listing
from pages.page import PageCall
from pages.public.lists import PublicCard, cards
from ratelimit.address import address_key

SIMILAR = 4


async def similar_to(page: PageCall, row: Listing) -> tuple[PublicCard, ...]:
    """Return the listings most similar to a listing; none if it is not public."""
    if not row.is_public:
        return ()
    asker, month = address_key(page.visit.request.address), month_of(page.call.now_ms)
    return cards(page, await page.site.public.similar.of(row, SIMILAR, month, asker))
