"""The ways into a listing for a visitor: the address that adds a bot or joins a server, and its members."""

from urllib.parse import urlencode

from core.rows import Listing
from kinds.registry import kind_of
from listings.invites import check_of, public_invite
from pages.page import PageCall

INVITE_SCOPE = "bot applications.commands"


def invite_url(page: PageCall, row: Listing) -> str | None:
    """Return the chat platform's page that adds a bot to a server, or that joins a server whose invite is
    valid; None if there is none."""
    kind, addresses = kind_of(row.ref), page.site.addresses
    if kind.known_as == "application":
        query = urlencode({"client_id": row.id, "scope": INVITE_SCOPE})
        return f"{addresses.authorize_url}?{query}"
    code = public_invite(row)
    return f"{addresses.invite_url}/{code}" if code is not None else None


def member_count(row: Listing) -> int | None:
    """Return how many people are on a server, approximately; None if the platform has not said."""
    known = check_of(row)
    return known.members if known is not None else None
