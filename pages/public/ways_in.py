"""The links that add a bot, join a server or use a template, and the number of members."""

from urllib.parse import urlencode

from core.rows import Listing
from kinds.registry import kind_of
from listings.invites import check_of, public_invite
from pages.page import PageCall

INVITE_SCOPE = urlencode({"scope": "bot applications.commands"})


def invite_url(page: PageCall, row: Listing) -> str | None:
    """Return the URL that adds a bot to a server, joins a server, or makes one of a template; None for a
    server without a valid invite."""
    kind, addresses = kind_of(row.ref), page.site.addresses
    if kind.known_as == "application":
        return f"{addresses.authorize_url}?client_id={row.id}&{INVITE_SCOPE}"
    if kind.known_as == "template":
        return f"{addresses.template_url}/{row.id}"
    code = public_invite(row)
    return f"{addresses.invite_url}/{code}" if code is not None else None


def member_count(row: Listing) -> int | None:
    """Return the approximate number of members of a server; None if the platform has not said."""
    known = check_of(row)
    return known.members if known is not None else None
