"""The pages of one listing. Law: a page has the tabs that its visitor may open, and no others."""

from collections.abc import Mapping
from typing import Any

from core.rows import Listing
from kinds.registry import kind_of
from languages.texts import Text
from people.permissions import Right
from ratelimit.bucket import Decision
from web.pages import Page
from web.people.listing_access import Access

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


def tab_page(
    access: Access,
    at: str,
    values: Mapping[str, Any],
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    limits: Decision | None = None,
    *,
    template: str | None = None,
) -> Page:
    """Return the page of a tab, or one that stands under it.

    Args:
        at: the name of the tab: its template is `people/manage_<at>.html`.
        template: the name of another one in that folder.
    """
    row = access.row
    shown = {**tab_values(row, at, access.rights), **values}
    page = f"people/{template or f'manage_{at}'}.html"
    return Page(page, tab_title(row, at), shown, status, headers or {}, limits)


def tab_values(row: Listing, at: str, allowed: frozenset[Right]) -> Mapping[str, Any]:
    """Return the values of the head of every page under a tab."""
    here = f"/{row.ref}/manage"
    return {"row": row, "kind": kind_of(row.ref), "at": at, "rights": allowed, "here": here}


def tab_title(row: Listing, at: str) -> Text:
    return Text("{listing} - {tab}", listing=row.profile.name, tab=TABS[at])
