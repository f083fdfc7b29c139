"""What search engines are told. Law: pages of people are nobody's search results.

`/robots.txt` (RFC 9309) names what not to fetch; pages of people say `noindex` besides, because a robot that
may not fetch a page may still list its address.
"""

from handlers.reply import Reply
from web.pages import Shown
from web.people.people_audience import PersonVisit

HIDDEN = (
    *("/me", "/review", "/signin", "/signout", "/bots/new", "/bots/*/manage", "/servers/*/manage"),
    *("/debug", "/manage"),
)
_LINES = ("User-agent: *", *(f"Disallow: {path}" for path in HIDDEN), "")
_TEXT = "\n".join(_LINES).encode()


def robots(_: PersonVisit) -> Shown:
    headers = {"cache-control": "public, max-age=3600"}
    return Reply(200, _TEXT, headers, content_type="text/plain; charset=utf-8")
