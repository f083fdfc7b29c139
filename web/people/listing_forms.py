"""Profiles as posted forms. Law: what was typed goes to the API as it is, and comes back when it is refused.

The lengths and the characters of a field are the business of `listings/forms.py`. The browser checks none: it
counts other characters than we do.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, get_args

import msgspec
from msgspec.structs import asdict

from core.rows import BotProfile, Listing, ServerProfile
from handlers.manage_listings import Kind
from listings.fields import BotCategory, ServerCategory
from web.form_posts import FormPost

CHOICES: Mapping[Kind, tuple[str, ...]] = {"bots": get_args(BotCategory), "servers": get_args(ServerCategory)}
LABELS: Mapping[str, str] = {
    "id": "Application ID",
    "name": "Name",
    "short_description": "Short description",
    "description": "Description",
    "categories": "Categories",
    "category": "Category",
    "keywords": "Keywords",
    "extra_owners": "Extra owners",
    "support_invite": "Support",
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
    """Return what tells the present profile from others, for a form that is drawn from it. Owners are no part
    of it: the form leaves them as they are."""
    fields = {name: value for name, value in written(row.profile).items() if name != "extra_owners"}
    return hashlib.blake2b(msgspec.json.encode(fields), digest_size=8).hexdigest()


def owners_of(row: Listing) -> dict[str, Any]:
    """Return the owners of a listing, as the API takes them."""
    extra = {"extra_owners": row.profile.extra_owners} if isinstance(row.profile, BotProfile) else {}
    return {"owner_id": row.owner_id, **extra}


def edit_name(kind: Kind) -> str:
    """Return the name of the endpoint that changes a listing."""
    return "editBot" if kind == "bots" else "editServer"


def by_field(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what is wrong by the fields of a form: an entry of a list is named in the reason."""
    found: dict[str, str] = {}
    for name, reason in fields.items():
        outer, _, entry = name.partition(".")
        found.setdefault(outer, f"entry {int(entry) + 1} {reason}" if entry else reason)
    return found
