"""Pages and numbers of listings and their deliveries."""

from bisect import bisect_left
from itertools import takewhile

from core.rows import Delivery, DeliveryState, Listing, Review, WebhookEvent
from core.state import State
from search.paging import ListPage, page_of, rows_behind, rows_from


def page(
    state: State, prefix: str, *, after: str | None, review: Review | None, limit: int
) -> ListPage[Listing]:
    """Return a page of the listings of a kind, ordered by their ids as text."""
    behind = rows_behind(state.listings.refs, prefix + (after or ""))
    rows = (state.listings[ref] for ref in takewhile(lambda ref: ref.startswith(prefix), behind))
    wanted = (row for row in rows if review is None or row.state == review)
    return page_of(wanted, limit, lambda row: row.id)


def deliveries_page(
    state: State,
    ref: str,
    *,
    after: str | None,
    limit: int,
    only: DeliveryState | None = None,
    kind: WebhookEvent | None = None,
) -> ListPage[Delivery]:
    """Return a page of the deliveries of a listing, newest first.

    A cursor is `<queued_ms>-<id>`. The time finds the place when the delivery of that id is no longer kept.

    Args:
        only: the state of the deliveries; None for any.
        kind: the event that they are about; None for any.
    """
    kept = state.deliveries.newest_first(ref)
    start = 0
    if after is not None:
        queued_ms, _, last_id = after.partition("-")
        older = (index for index, row in enumerate(kept) if row.queued_ms < int(queued_ms))
        behind = (index + 1 for index, row in enumerate(kept) if row.id == last_id)
        start = next(behind, next(older, len(kept)))
    wanted = (
        row for row in rows_from(kept, start) if only in {None, row.state} and kind in {None, row.event}
    )
    return page_of(wanted, limit, lambda row: f"{row.queued_ms}-{row.id}")


def count_of(state: State, prefix: str) -> int:
    """Return the number of listings of a kind, whose refs begin with `prefix`, such as "bots/"."""
    refs = state.listings.refs
    behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the first text after all that begin so
    return bisect_left(refs, behind) - bisect_left(refs, prefix)
