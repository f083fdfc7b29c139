"""The texts of direct messages, in English. Each says what happened, why, and on which page to go on.

Names and reasons are shown as text, and never as markup.
"""

import hashlib
from typing import assert_never

from core import rows
from core.rows import Listing, OwnerMessage
from kinds.registry import kind_of
from webhook.chat import plain_line, shown_as_text, utf16_units

NAME_UNITS, MOST_UNITS = 256, 2_000  # UTF-16 code units
NONCE_BYTES = 12  # the platform takes 25 characters


def message_text(listing: Listing, message: OwnerMessage, public_url: str) -> str:
    """Return the text for the owner of a listing."""
    named = _named(listing)
    page = f"<{public_url}/{listing.ref}/manage>"  # the brackets keep the platform from drawing the page
    again = f"You can edit it and send it again: {page}"
    match message.decision:
        case "approved":
            return f"Your {named} was approved: it is listed, and users can vote for it.\n{page}"
        case "change_agreed":
            return f"The change of your {named} was agreed to: everybody sees it.\n{page}"
        case "denied":
            head, foot = f"Your {named} was denied.", again
        case "withdrawn":
            head, foot = f"The approval of your {named} was withdrawn: it is not listed any more.", again
        case "change_refused":
            foot = f"The previous version is listed. You can change it again: {page}"
            head = f"The change of your {named} was refused."
        case _:
            assert_never(message.decision)
    lines = filter(None, map(plain_line, (message.reason or "").splitlines()))
    room = MOST_UNITS - utf16_units(f"{head}\n\n\n\n{foot}")
    reason = shown_as_text("\n".join(lines), room)
    return "\n\n".join(part for part in (head, reason, foot) if part)


def reminder_text(listing: Listing, public_url: str) -> str:
    """Return the text for a user who may vote for the listing again."""
    return (
        f"You can vote for the {_named(listing)} again: <{public_url}/{listing.ref}/vote>\n\n"
        f"You have asked to be reminded. You can turn that off: <{public_url}/me/reminders/{listing.ref}>"
    )


def _named(listing: Listing) -> str:
    name = shown_as_text(plain_line(listing.profile.name) or listing.id, NAME_UNITS)
    return f"{kind_of(listing.ref).singular} {name}"


def reminder_nonce(user_ref: str, listing: str, ends_ms: int) -> str:
    """Return the same text for every attempt at the reminder of this end, and for no other message."""
    return _nonce(f"reminder {user_ref} {listing} {ends_ms}")


def nonce_of(ref: str, message: OwnerMessage) -> str:
    """Return the same text for every attempt at a message, and for no other message."""
    stamp = message.stamp or rows.UNSTAMPED
    return _nonce(f"{ref} {message.decided_ms} {stamp.ms} {stamp.node}")


def _nonce(about: str) -> str:
    return hashlib.blake2b(about.encode(), digest_size=NONCE_BYTES).hexdigest()
