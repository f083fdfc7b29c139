"""The tabs of a listing. Invariant: its pages have the tabs that their visitor may open, and no others."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from core.rows import Listing
from kinds.kind import Kind, PartName
from kinds.registry import kind_of
from languages.texts import Text
from pages.tally_words import TALLY_WORDS
from people.permissions import Right


class Tab(NamedTuple):
    """A tab: the right that opens it, and the part that a kind must have."""

    title: Text
    right: Right
    of: PartName | None = None


TABS: Mapping[str, Tab] = {
    "overview": Tab(Text("Overview"), "see"),
    "votes": Tab(Text("Votes"), "see", "tally"),
    "profile": Tab(Text("Profile"), "edit"),
    "keys": Tab(Text("API keys"), "keys", "keys"),
    "webhook": Tab(Text("Webhook"), "webhook", "webhook"),
    "owners": Tab(Text("Owners"), "own", "hand_over"),
    "leave": Tab(Text("Leave"), "leave", "co_owners"),
    "danger": Tab(Text("Danger zone"), "remove"),
}
"""The tabs in their order. Their names are the ends of their paths; the overview is where the paths begin."""


def tab_values(row: Listing, at: str, allowed: frozenset[Right]) -> Mapping[str, Any]:
    """Return the values of the head of every page under a tab."""
    kind, here = kind_of(row.ref), f"/{row.ref}/manage"
    tabs = [
        (name, _title(kind, name), here if name == "overview" else f"{here}/{name}")
        for name, tab in TABS.items()
        if tab.right in allowed and kind.has(tab.of)
    ]
    return {"row": row, "kind": kind, "at": at, "tabs": tabs, "rights": allowed, "here": here}


def tab_title(row: Listing, at: str) -> Text:
    return Text("{listing} - {tab}", listing=row.profile.name, tab=_title(kind_of(row.ref), at))


def _title(kind: Kind, name: str) -> Text:
    tab = TABS[name]
    return TALLY_WORDS[kind.tally].many if tab.of == "tally" and kind.tally is not None else tab.title
