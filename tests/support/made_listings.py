"""Listings of the kinds that are not the chat platform's, under the ids of the documents."""

from collections.abc import Sequence

from core.events import Event, ListingReviewed, ListingSaved
from core.rows import Listing
from kinds.registry import KINDS
from tests.support.gateways import OWNER, Client, ThreadGateway

MADE = [kind for kind in KINDS if kind.is_of_user or not kind.has_snowflakes]
MADE_IDS = {kind.plural: kind.id.sample for kind in MADE}
MADE_ROWS = [Listing(kind.ref(kind.id.sample), OWNER, kind.sample, 0, 0) for kind in MADE]
THEME = {
    "owner_id": OWNER,
    "name": "Sunset",
    "primary": "#1a1033",
    "secondary": "#ff7a59",
    "categories": ["Dark"],
}
"""The form of a theme."""


def list_made(gateway: ThreadGateway, owner: str = OWNER, *, is_approved: bool = False) -> None:
    """Submit the sample of each kind, and approve it if that is wanted."""
    ledger, now_ms = gateway.gateway.ledger, gateway.clock.now_ms()
    events: Sequence[Event] = [
        ListingSaved(row.ref, owner, row.profile, "in_review", now_ms) for row in MADE_ROWS
    ]
    if is_approved:
        events = [*events, *(ListingReviewed(row.ref, "approved", None, now_ms) for row in MADE_ROWS)]
    gateway.on_loop(lambda: ledger.commit(events))


def approved_theme(gateway: Client) -> str:
    """Submit a theme and approve it. Return its path in the management API."""
    here = f"/manage/themes/{gateway.done('POST', '/manage/themes', THEME)['id']}"
    gateway.done("POST", f"{here}/approve", {})
    return here
