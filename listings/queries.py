"""Pages and numbers of listings. Law: a cursor names the last row shown; rows may come and go meanwhile."""

from bisect import bisect_left, bisect_right

from core.rows import Delivery, DeliveryState, Listing, Review, WebhookEvent
from core.state import State


def page(
    state: State, prefix: str, *, after: str | None, review: Review | None, limit: int
) -> tuple[list[Listing], str | None]:
    """Return up to `limit` listings of a kind, ordered by their ids as text, and the next cursor or None."""
    start = bisect_right(state.listings.refs, prefix + (after or ""))
    found: list[Listing] = []
    for index in range(start, len(state.listings.refs)):
        listing = state.listings.get(state.listings.refs[index])
        if listing is None or not listing.ref.startswith(prefix):
            break
        if review is not None and listing.state != review:
            continue
        if len(found) == limit:
            return found, found[-1].id
        found.append(listing)
    return found, None


def deliveries_page(
    state: State,
    ref: str,
    *,
    after: str | None,
    limit: int,
    only: DeliveryState | None = None,
    kind: WebhookEvent | None = None,
) -> tuple[list[Delivery], str | None]:
    """Return up to `limit` deliveries of a listing, newest first, and the next cursor or None.

    `only` leaves out those in any other state, and `kind` those of any other event. A cursor is
    `<queued_ms>-<id>`. The time finds the place when the delivery of that id is no longer kept and older
    ones, still pending, are.
    """
    kept = state.deliveries.newest_first(ref)
    start = 0
    if after is not None:
        queued_ms, _, last_id = after.partition("-")
        older = (index for index, row in enumerate(kept) if row.queued_ms < int(queued_ms))
        behind = (index + 1 for index, row in enumerate(kept) if row.id == last_id)
        start = next(behind, next(older, len(kept)))
    found = [row for row in kept[start:] if only in {None, row.state} and kind in {None, row.event}]
    shown = found[:limit]
    return shown, f"{shown[-1].queued_ms}-{shown[-1].id}" if len(found) > limit else None


def count_of(state: State, prefix: str) -> int:
    """Return the number of listings of a kind, whose refs begin with `prefix`, such as "bots/"."""
    refs = state.listings.refs
    behind = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the first text after all that begin so
    return bisect_left(refs, behind) - bisect_left(refs, prefix)
