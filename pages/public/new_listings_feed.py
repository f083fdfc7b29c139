"""The newest listings of a kind as RSS 2.0 (rssboard.org), for feed readers.

Invariant: it is well-formed XML for every name and text.
"""

from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from core.rows import Listing
from handlers.reply import Reply
from languages.language_names import DEFAULT_LANGUAGE
from pages.page import Page, PageCall
from pages.public.lists import CACHED, listed_ms, path_of, shown_in_lists
from search.catalogue import IndexKey
from search.list_orders import ListOrder
from web.pages import tagged
from web.vote_badges import in_xml

LISTED = 50
RSS = "application/rss+xml; charset=utf-8"


async def show(page: PageCall) -> Reply:
    """Return the feed. It is the same for all visitors, so its own texts are English."""
    kind, listings = page.call.listing_kind, page.call.state.listings
    order = ListOrder(IndexKey(kind.prefix), "newest")
    found, _ = await page.site.public.keeper.page(order, None, LISTED)
    url, name = page.site.addresses.public_url, page.site.brand.name
    page.shown.update(found.rows)
    items = "".join(_item(page, listings.peek(ref)) for ref in found.rows if ref in listings)
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>\n'
        f"<title>{_text(f'{name}: {kind.nouns.newest.english}')}</title>\n"
        f"<link>{_text(f'{url}/{kind}')}</link>\n"
        f"<description>{_text(f'{kind.nouns.newest.english} on {name}')}</description>\n"
        f"<language>{DEFAULT_LANGUAGE}</language>\n"
        f'<atom:link href="{_text(f"{url}/{kind}.rss")}" rel="self" type="application/rss+xml"/>\n'
        f"{items}</channel></rss>\n"
    )
    return tagged(page.visit.request, body.encode(), CACHED, RSS)


def _item(page: PageCall, row: Listing) -> str:
    at = format_datetime(datetime.fromtimestamp(listed_ms(row) / 1_000, UTC), usegmt=True)
    address = _text(page.site.addresses.public_url + path_of(page, row))
    return (
        f"<item><title>{_text(row.profile.name)}</title><link>{address}</link>"
        f"<guid>{address}</guid><pubDate>{at}</pubDate>"
        f"<description>{_text(shown_in_lists(row).text)}</description></item>\n"
    )


def _text(text: str) -> str:
    return escape(in_xml(text), {'"': "&quot;"})


NEW_LISTINGS = Page[None](path="/{kind}.rss", visitors="anyone", show=show, has_json=False, kept=())
