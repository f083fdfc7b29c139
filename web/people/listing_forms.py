"""Profiles as posted forms. Law: what was typed goes to the API as it is, and comes back when it is refused.

The lengths and the characters of a field are the business of `listings/forms.py`. The browser checks none: it
counts other characters than we do.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
from msgspec.structs import asdict

from actions.listing_kinds import Kind
from core.rows import BotProfile, Listing, ServerProfile
from languages.texts import Text, Words
from listings.fields import BotCategory, ServerCategory
from web.form_posts import FormPost

CATEGORIES: Mapping[str, Text] = {
    "Moderation": Text("Moderation"),
    "Utility": Text("Utility"),
    "Fun & Games": Text("Fun & Games"),
    "Music": Text("Music"),
    "Economy": Text("Economy"),
    "Roleplay": Text("Roleplay"),
    "Technology": Text("Technology"),
    "Art & Design": Text("Art & Design"),
    "Virtual Assistants": Text("Virtual Assistants"),
    "Social Media Integration": Text("Social Media Integration"),
    "Anime & Manga": Text("Anime & Manga"),
    "Other": Text("Other"),
    "Gaming": Text("Gaming"),
    "Anime": Text("Anime"),
    "Public": Text("Public"),
    "Community": Text("Community"),
    "Art": Text("Art"),
    "Programming": Text("Programming"),
    "Science": Text("Science"),
    "Education": Text("Education"),
    "Language": Text("Language"),
}
"""The categories of bots and servers, by their names in the API."""
CHOICES: Mapping[Kind, Mapping[str, Text]] = {
    "bots": {name: CATEGORIES[name] for name in get_args(BotCategory)},
    "servers": {name: CATEGORIES[name] for name in get_args(ServerCategory)},
}
LABELS: Mapping[str, Text] = {
    "id": Text("Application ID"),
    "name": Text("Name"),
    "short_description": Text("Short description"),
    "description": Text("Description"),
    "categories": Text("Categories"),
    "category": Text("Category"),
    "keywords": Text("Keywords"),
    "extra_owners": Text("Co-owners"),
    "support_invite": Text("Support"),
}
"""The fields of profiles by their names in the API, which are their names in the forms, too."""


def bot_profile(form: FormPost) -> dict[str, Any]:
    """Return the fields of a bot's profile but for its owners."""
    return {
        "name": form.text("name"),
        "short_description": form.text("short_description"),
        "description": form.get("description", ""),
        "categories": form.texts("categories"),
        "support_invite": form.text("support_invite") or None,
    }


def server_profile(form: FormPost) -> dict[str, Any]:
    """Return the fields of a server's profile."""
    return {
        "name": form.text("name"),
        "description": form.get("description", ""),
        "keywords": form.lines("keywords"),
        "category": form.text("category"),
    }


PROFILES: Mapping[Kind, Callable[[FormPost], dict[str, Any]]] = {
    "bots": bot_profile,
    "servers": server_profile,
}


def written(profile: BotProfile | ServerProfile) -> dict[str, Any]:
    """Return the fields of a profile as the API takes them: what a form shows that changes it."""
    return asdict(profile)


def version_of(row: Listing) -> str:
    """Return what tells the version saved last from others, for a form that is drawn from it."""
    return hashlib.blake2b(msgspec.json.encode(written(row.latest)), digest_size=8).hexdigest()


def edit_name(kind: Kind) -> str:
    """Return the name of the endpoint that changes a listing."""
    return "editBot" if kind == "bots" else "editServer"


def by_field(fields: Mapping[str, Words]) -> dict[str, Words]:
    """Return what is wrong by the fields of a form: an entry of a list is named in the reason."""
    found: dict[str, Words] = {}
    for name, reason in fields.items():
        outer, _, entry = name.partition(".")
        at_entry = Text("entry {number} {reason}", number=int(entry) + 1, reason=reason) if entry else reason
        found.setdefault(outer, at_entry)
    return found
