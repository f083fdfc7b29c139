"""Listings as everybody may see them. Law: a view holds what is public, and is the same for all visitors."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

from msgspec import Meta

from actions.views import Count, KindName, Moment, Snowflake, Success, View
from core.clock import Clock, month_of
from core.rows import Listing
from core.state import State
from kinds.registry import kind_of
from listings.list_orders import VoteTotals
from web.people.listing_icons import ListingIcons

INVITE_SCOPE = "bot applications.commands"


class PublicCard(View):
    """A listing in a list. A server's text is its description."""

    kind: KindName
    id: Snowflake
    name: str
    text: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    votes: Annotated[Count, Meta(description="Of all time.")]
    votes_this_month: Annotated[Count, Meta(description="Since the first of the month, UTC.")]
    listed_at: Moment
    icon_url: str | None


class PublicList(Success):
    """A part of a list. `total` counts the listings of the whole list; null for a search."""

    kind: KindName
    category: str | None
    keyword: str | None
    sort: str
    q: str | None
    total: Count | None
    listings: tuple[PublicCard, ...]
    next: str | None


class PublicHome(Success):
    """What is popular this month, and what is new."""

    popular_bots: tuple[PublicCard, ...]
    new_bots: tuple[PublicCard, ...]
    popular_servers: tuple[PublicCard, ...]
    new_servers: tuple[PublicCard, ...]


class PublicViews:
    """Makes the views of one gateway.

    Args:
        authorize_url: the chat platform's page at which a bot is added to a server.
    """

    def __init__(
        self, state: State, votes: VoteTotals, icons: ListingIcons, authorize_url: str, clock: Clock
    ) -> None:
        self._listings = state.listings
        self._votes = votes
        self._icons = icons
        self._authorize_url = authorize_url
        self._clock = clock

    def cards(self, refs: Iterable[str]) -> tuple[PublicCard, ...]:
        """Return the listings that are there; packed ones stay packed."""
        month = month_of(self._clock.now_ms())
        rows = (self._listings.peek(ref) for ref in refs if ref in self._listings)
        return tuple(self._card(row, month) for row in rows)

    def listing(self, row: Listing) -> Mapping[str, Any]:
        """Return a listing as its JSON: profile, counts, votes, times and addresses."""
        kind, profile = kind_of(row.ref), row.profile
        written = {kind.shown[name].public or name: getattr(profile, name) for name in kind.in_order}
        links = {kind.shown[name].public or name for name in kind.shown if kind.shown[name].widget == "url"}
        counts = row.counts
        pushed = {
            "server_count": counts.server_count if counts is not None else None,
            "command_count": counts.command_count if counts is not None else None,
            "counts_updated_at": counts.at_ms if counts is not None else None,
        }
        return {
            "success": True,
            "kind": kind.plural,
            "id": row.id,
            **{name: value for name, value in written.items() if name not in links},
            **(pushed if kind.stats is not None else {}),
            "votes": self._votes.total(row.ref),
            "votes_this_month": self._votes.in_month(row.ref, month_of(self._clock.now_ms())),
            "listed_at": _listed_ms(row),
            "updated_at": row.updated_ms,
            "icon_url": self._icons.url(row.ref),
            **({"invite_url": self._invite_url(row.id)} if kind.is_a("application") else {}),
            **{name: value for name, value in written.items() if name in links},
            "state": row.state,
        }

    def votes(self, row: Listing) -> int:
        return self._votes.total(row.ref)

    def _invite_url(self, bot_id: str) -> str:
        return f"{self._authorize_url}?{urlencode({'client_id': bot_id, 'scope': INVITE_SCOPE})}"

    def _card(self, row: Listing, month: int) -> PublicCard:
        text, categories, keywords = shown_in_lists(row)
        return PublicCard(
            kind=kind_of(row.ref).plural,
            id=row.id,
            name=row.profile.name,
            text=text,
            categories=categories,
            keywords=keywords,
            votes=self._votes.total(row.ref),
            votes_this_month=self._votes.in_month(row.ref, month),
            listed_at=_listed_ms(row),
            icon_url=self._icons.url(row.ref),
        )


class InLists(NamedTuple):
    """The part of a profile that a list shows."""

    text: str
    categories: tuple[str, ...]
    keywords: tuple[str, ...]


def shown_in_lists(row: Listing) -> InLists:
    kind, profile = kind_of(row.ref), row.profile
    return InLists(kind.summary(profile), kind.values(profile, "category"), kind.values(profile, "keyword"))


def _listed_ms(row: Listing) -> int:
    """Return the time since which everybody sees it."""
    return row.created_ms if row.decided_ms is None else row.decided_ms
