"""The texts of direct messages, in English. Each says what happened, why, and on which page to go on.

Names and reasons are shown as text, and never as markup.
"""

import hashlib
from typing import NamedTuple, assert_never

from core import rows
from core.rows import Listing, OwnerMessage
from kinds.registry import kind_of
from webhook.chat import plain_line, shown_as_text, utf16_units

NAME_UNITS, MOST_UNITS = 256, 2_000  # UTF-16 code units
NONCE_BYTES = 12  # the platform takes 25 characters


class Message(NamedTuple):
    """A message. All attempts at it have the same nonce, under which the platform posts it once."""

    text: str
    nonce: str


def owner_message(listing: Listing, message: OwnerMessage, public_url: str) -> Message:
    """Return the message to the owner of a listing."""
    stamp = message.stamp or rows.UNSTAMPED
    about = f"{listing.ref} {message.decided_ms} {stamp.ms} {stamp.node}"
    return Message(_owner_text(listing, message, public_url), _nonce(about))


def reminder_message(user_ref: str, listing: Listing, ends_ms: int, public_url: str) -> Message:
    """Return the message to a user who may vote for the listing again, since the cooldown ended."""
    text = (
        f"You can vote for the {_named(listing)} again: <{public_url}/{listing.ref}/vote>\n\n"
        f"You have asked to be reminded. You can turn that off: <{public_url}/me/reminders/{listing.ref}>"
    )
    return Message(text, _nonce(f"reminder {user_ref} {listing.ref} {ends_ms}"))


def _owner_text(listing: Listing, message: OwnerMessage, public_url: str) -> str:
    named = _named(listing)
    page = f"<{public_url}/{listing.ref}/manage>"  # the brackets keep the platform from drawing the page
    again = f"You can edit it and send it again: {page}"
    match message.decision:
        case "approved":
            return f"Your {named} was approved: it is listed, and everybody can find it.\n{page}"
        case "change_agreed":
            return f"Your change to the {named} was approved: everybody sees it.\n{page}"
        case "denied":
            head, foot = f"Your {named} was denied.", again
        case "withdrawn":
            head, foot = f"The approval of your {named} was withdrawn: it is not listed any more.", again
        case "change_refused":
            foot = f"The previous version is listed. You can change it again: {page}"
            head = f"Your change to the {named} was refused."
        case _:
            assert_never(message.decision)
    lines = filter(None, map(plain_line, (message.reason or "").splitlines()))
    room = MOST_UNITS - utf16_units(f"{head}\n\n\n\n{foot}")
    reason = shown_as_text("\n".join(lines), room)
    return "\n\n".join(part for part in (head, reason, foot) if part)


def _named(listing: Listing) -> str:
    name = shown_as_text(plain_line(listing.profile.name) or listing.id, NAME_UNITS)
    return f"{kind_of(listing.ref).singular} {name}"


def _nonce(about: str) -> str:
    return hashlib.blake2b(about.encode(), digest_size=NONCE_BYTES).hexdigest()
