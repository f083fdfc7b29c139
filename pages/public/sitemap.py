"""The sitemap for search engines: an index, and parts of `PART` addresses each (sitemaps.org, 0.9).

Invariant: a part is sent in pieces, so the event loop never waits for a whole one.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from xml.sax.saxutils import escape

from handlers.reply import Reply
from languages.refusals import Refusal
from pages.page import AnyPage, Page, PageCall
from pages.public.lists import Wanted, path_of
from search.catalogue import IndexKey
from web.pages import NO_VARY

PART = 10_000
"""The addresses of a part. The protocol allows 50,000."""
PIECE = 500
"""The addresses that are written at once: below a millisecond."""
HEADERS = {"cache-control": "public, max-age=3600", **NO_VARY}
XML = "application/xml; charset=utf-8"
_NUMBER = re.compile(r"([1-9][0-9]{0,4})(?:\.xml)?")
_HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def show_index(page: PageCall) -> Reply:
    """Return the addresses of the parts."""
    url = page.site.addresses.public_url
    paths = ["/sitemap/pages.xml"]
    for kind in page.call.tools.kinds:
        listed = len(page.site.public.catalogue.refs_of(IndexKey(kind.prefix)))
        paths += [f"/sitemap/{kind}/{number}.xml" for number in range(1, -(-listed // PART) + 1)]
    entries = "".join(f"<sitemap><loc>{escape(url + path)}</loc></sitemap>\n" for path in paths)
    body = f'<sitemapindex xmlns="{_NAMESPACE}">\n{entries}</sitemapindex>\n'
    return Reply(200, _HEAD + body.encode(), HEADERS, content_type=XML)


def show_pages(page: PageCall) -> Reply:
    """Return the addresses of the first page, of the lists, and of the lists by category."""
    paths = ["/"]
    for kind in page.call.tools.kinds:
        paths.append(f"/{kind}")
        keys = [IndexKey(kind.prefix, category=each) for each in kind.categories]
        listed = [key.category for key in keys if page.site.public.catalogue.refs_of(key)]
        paths += [Wanted(kind, category=each).address() for each in listed]
    return _stream(page, iter(paths))


def show_part(page: PageCall) -> Reply:
    """Return the addresses of a part of a kind's listings. Raises Refusal."""
    refs = page.site.public.catalogue.refs_of(IndexKey(page.call.listing_kind.prefix))
    number = _NUMBER.fullmatch(page.visit.request.params[-1])
    first = (int(number[1]) - 1) * PART if number is not None else len(refs)
    if first >= len(refs):
        raise Refusal("no_such_path")
    listings, some = page.call.state.listings, refs[first : first + PART]
    page.shown.update(some)
    if page.call.listing_kind.slug is None:
        return _stream(page, (f"/{ref}" for ref in some))
    return _stream(page, (path_of(page, listings.peek(ref)) for ref in some if ref in listings))


def _stream(page: PageCall, paths: Iterator[str]) -> Reply:
    url = page.site.addresses.public_url

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield _HEAD + f'<urlset xmlns="{_NAMESPACE}">\n'.encode()
        while piece := [*islice(paths, PIECE)]:
            yield "".join(f"<url><loc>{escape(url + path)}</loc></url>\n" for path in piece).encode()
        yield b"</urlset>\n"

    return Reply(200, b"", HEADERS, content_type=XML, stream=pieces())


SITEMAP: tuple[AnyPage, ...] = (
    Page(path="/sitemap.xml", visitors="anyone", show=show_index, has_json=False, kept=()),
    Page(path="/sitemap/pages.xml", visitors="anyone", show=show_pages, has_json=False, kept=()),
    Page(path="/sitemap/{kind}/{part}", visitors="anyone", show=show_part, has_json=False, kept=()),
)
