"""Descriptions of pages for search engines: schema.org in JSON-LD."""

from collections.abc import Mapping
from typing import Any

from core.rows import Listing
from kinds.kind import PlatformObject
from kinds.registry import kind_of
from pages.page import PageCall
from pages.public.lists import icon_of, path_of
from pages.public.rating_views import rating_thing

Thing = Mapping[str, Any]
TYPES: Mapping[PlatformObject | None, str] = {"application": "SoftwareApplication", "server": "Organization"}
"""The types of listings by the object of the chat platform that they stand for. Profiles are
persons, and others a CreativeWork."""
_CONTEXT = {"@context": "https://schema.org"}


def site_things(page: PageCall) -> list[Thing]:
    """Return the site with its search."""
    url, first = page.site.addresses.public_url, page.call.tools.kinds[0]
    search = {
        "@type": "SearchAction",
        "target": {
            "@type": "EntryPoint",
            "urlTemplate": f"{url}/{first}?q={{search_term_string}}",
        },
        "query-input": "required name=search_term_string",
    }
    site = {"@type": "WebSite", "name": page.site.brand.name, "url": f"{url}/"}
    return [{**_CONTEXT, **site, "potentialAction": search}]


def listing_things(page: PageCall, row: Listing, text: str) -> list[Thing]:
    """Return a listing with its short text, and its path from the first page."""
    url, kind = page.site.addresses.public_url, kind_of(row.ref)
    icon, address = icon_of(page, row), url + path_of(page, row)
    about: dict[str, Any] = {
        **_CONTEXT,
        "@type": "Person" if kind.is_of_user else TYPES.get(kind.known_as, "CreativeWork"),
        "name": row.profile.name,
        "description": text,
        "url": address,
    }
    if icon is not None:
        about["image"] = icon
    about |= rating_thing(page, row)
    if about["@type"] == "SoftwareApplication":
        about["applicationCategory"] = "CommunicationApplication"
        about["operatingSystem"] = "Any"
    return [about, _way((kind.nouns.many.english, f"{url}/{kind}"), (row.profile.name, address))]


def _way(*steps: tuple[str, str]) -> Thing:
    items = [
        {"@type": "ListItem", "position": number, "name": name, "item": address}
        for number, (name, address) in enumerate(steps, 1)
    ]
    return {**_CONTEXT, "@type": "BreadcrumbList", "itemListElement": items}
