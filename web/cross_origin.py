"""Protection from forms of other sites. Law: a cookie counts on forms of our pages alone.

The rule is Tornado's `cross_origin_protection`, with one more. A browser says where a request comes from:

    Sec-Fetch-Site: same-origin or none    ours, or typed by the user     allowed
    Sec-Fetch-Site: anything else          another site                   refused
    no such header, but an Origin          allowed if its host is ours
    neither header                         no browser of today            allowed without a cookie

It is not Tornado's own switch, because that one would look at the JSON endpoints too: they ignore cookies, so
whoever calls them from another site needs a key of their own.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_from_here(headers: Mapping[str, str], *, has_cookie: bool) -> bool:
    """Tell whether a request that changes something comes from one of our pages.

    Args:
        has_cookie: true if the sender is known by a cookie.
    """
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = headers.get("Origin")
    if origin is None:
        return not has_cookie
    host = headers.get("Host")
    return host is not None and _host(origin) == host.lower()


def _host(origin: str) -> str | None:
    """Return the host and port of an origin (RFC 6454); None for what is no address of a page."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in {"http", "https"} else None
