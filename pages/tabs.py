"""The tabs of a listing. Invariant: its pages have the tabs that their visitor may open, and no others."""

from collections.abc import Mapping
from typing import Any

from core.rows import Listing
from kinds.registry import kind_of
from languages.texts import Text
from people.permissions import Right

TABS: Mapping[str, Text] = {
    "overview": Text("Overview"),
    "votes": Text("Votes"),
    "profile": Text("Profile"),
    "keys": Text("API keys"),
    "webhook": Text("Webhook"),
    "owners": Text("Owners"),
    "leave": Text("Leave"),
    "danger": Text("Danger zone"),
}


def tab_values(row: Listing, at: str, allowed: frozenset[Right]) -> Mapping[str, Any]:
    """Return the values of the head of every page under a tab."""
    here = f"/{row.ref}/manage"
    return {"row": row, "kind": kind_of(row.ref), "at": at, "rights": allowed, "here": here}


def tab_title(row: Listing, at: str) -> Text:
    return Text("{listing} - {tab}", listing=row.profile.name, tab=TABS[at])
