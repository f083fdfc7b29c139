"""The rules for search engines. Invariant: no page for people who sign in is a search result.

`/robots.txt` (RFC 9309) names the paths that a robot must not fetch. Pages of people also say `noindex`,
because a robot that may not fetch a page may still list its address.
"""

from handlers.reply import Reply
from pages.page import Page, PageCall
from web.pages import NO_VARY

HIDDEN = ("/me", "/review", "/signin", "/signout", "/debug", "/manage")
HIDDEN_OF_KINDS = ("new", "*/manage", "*/download")


def show(page: PageCall) -> Reply:
    of_kinds = (f"/{kind}/{each}" for each in HIDDEN_OF_KINDS for kind in page.call.tools.kinds)
    rules = "\n".join(("User-agent: *", *(f"Disallow: {path}" for path in (*HIDDEN, *of_kinds))))
    headers = {"cache-control": "public, max-age=3600", **NO_VARY}
    text = f"{rules}\nSitemap: {page.site.addresses.public_url}/sitemap.xml\n"
    return Reply(200, text.encode(), headers, content_type="text/plain; charset=utf-8")


ROBOTS = Page[None](path="/robots.txt", visitors="anyone", show=show, has_json=False, kept=())
