"""The listings with the most votes of a month, for everybody. Invariant: a page shows its JSON.

    /bots/ranking            the present month, by a redirect
    /bots/ranking/2026-11    a month: the present one, or one of those before it that are kept

A listing keeps its votes of the newest `MONTHS_KEPT` months. An older month, or a future one, is not found.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta

from actions.views import Count, KindName, Success, View
from core.clock import month_of
from core.vote_counts import KEPT, MONTHS
from handlers.reply import Reply
from languages.refusals import Refusal
from languages.texts import Text
from pages.page import AnyPage, Page, PageCall, Shown
from pages.public.lists import ABOUT, CACHED, PublicCard, cards
from search.catalogue import IndexKey
from search.list_orders import ListOrder
from web.pages import see_other

MONTHS_KEPT = KEPT[MONTHS]
RANKED = 100
"""The listings of a ranking."""
_MONTH = re.compile("([0-9]{4})-(0[1-9]|1[0-2])")


class RankedListing(View):
    """A listing in a ranking. Listings with equal votes have the same place."""

    place: Annotated[int, Meta(ge=1)]
    votes: Annotated[Count, Meta(description="The votes of the month of the ranking.")]
    listing: PublicCard


class PublicRanking(Success):
    """The 100 listings with the most votes of a month. Listings without votes have no place."""

    kind: KindName
    month: Annotated[str, Meta(description="The year and the month (UTC), such as 2026-11.")]
    listings: tuple[RankedListing, ...]


def month_name(month: int) -> str:
    """Return a month as paths name it."""
    return f"{1970 + month // 12:04}-{month % 12 + 1:02}"


def month_named(text: str) -> int | None:
    """Return the month that a path names; None if it names none."""
    found = _MONTH.fullmatch(text)
    return (int(found[1]) - 1970) * 12 + int(found[2]) - 1 if found is not None else None


async def show(page: PageCall) -> Shown[PublicRanking]:
    """Show the ranking of the month in the path. Raises Refusal."""
    kind, now = page.call.listing_kind, month_of(page.call.now_ms)
    month = month_named(page.call.ids[0])
    if month is None or not now - MONTHS_KEPT < month <= now:
        raise Refusal("no_such_path")
    order = ListOrder(IndexKey(kind.prefix), "month", month if month < now else None)
    found, _ = await page.site.public.keeper.page(order, None, RANKED)
    ranked = _ranked(page, found.rows, month)
    shown = PublicRanking(kind=kind.plural, month=month_name(month), listings=ranked)

    async def html() -> Mapping[str, Any]:
        near = {"older": month - 1, "newer": month + 1}
        links = {name: each for name, each in near.items() if now - MONTHS_KEPT < each <= now}
        return {
            "kind": kind,
            "is_now": month == now,
            "links": {name: (month_name(each), _path(page, each)) for name, each in links.items()},
            "canonical": _path(page, month),
            "about": ABOUT,
            "is_complete": page.site.public.catalogue.is_complete,
        }

    title = Text("{kind}: ranking of {month}", kind=kind.nouns.many, month=month_name(month))
    return Shown(shown, title, html, cached=CACHED)


def to_present(page: PageCall) -> Reply:
    """Redirect to the ranking of the present month."""
    return see_other(_path(page, month_of(page.call.now_ms)))


def _path(page: PageCall, month: int) -> str:
    return f"/{page.call.listing_kind}/ranking/{month_name(month)}"


def _ranked(page: PageCall, refs: Sequence[str], month: int) -> tuple[RankedListing, ...]:
    counts = page.call.state.vote_counts
    found, place, last = list[RankedListing](), 0, None
    for number, card in enumerate(cards(page, refs), start=1):
        votes = counts.in_month(f"{card.kind}/{card.id}", month)
        if votes != last:
            place, last = number, votes
        if votes:
            found.append(RankedListing(place=place, votes=votes, listing=card))
    return tuple(found)


RANKINGS: tuple[AnyPage, ...] = (
    Page(path="/{kind}/ranking", of="tally", visitors="anyone", show=to_present, has_json=False),
    Page(
        path="/{kind}/ranking/{month}",
        of="tally",
        template="ranking",
        visitors="anyone",
        show=show,
        kept=(),
    ),
)
