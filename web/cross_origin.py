"""Protection from forms of other sites. Invariant: a cookie counts on forms of our pages alone.

The rule is Tornado's `cross_origin_protection`, with two additions: the scheme counts, and so does the
cookie. A browser says where a request comes from:

    Sec-Fetch-Site: same-origin or none    ours, or typed by the user     allowed
    Sec-Fetch-Site: anything else          another site                   refused
    no such header, but an Origin          allowed if scheme, host and port are ours
    neither header                         no browser of today            allowed without a cookie

The origin of people's pages is that of `web.public_url`, whatever `Host` says. Operators' pages have no
address in the settings: theirs is the `Host`, over https or on this machine. A browser keeps their cookie
there alone.

It is not Tornado's own switch, because that one would look at the JSON endpoints too: they ignore cookies, so
a caller from another site needs a key of their own.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from web.cookies import is_on_this_machine

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_PORTS = {"http": 80, "https": 443}


class WebOrigin(NamedTuple):
    """An origin (RFC 6454), with its port also where that is the default."""

    scheme: str
    host: str
    port: int


OwnOrigins = Callable[[Mapping[str, str]], Iterable[WebOrigin]]
"""Takes the headers of a request; returns the origins of our pages."""


def web_origin(url: str) -> WebOrigin | None:
    """Return the origin of an http or https URL; None for anything else."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in _PORTS or not parts.hostname:
        return None
    return WebOrigin(parts.scheme, parts.hostname, port if port is not None else _PORTS[parts.scheme])


def origin_of_site(public_url: str) -> OwnOrigins:
    """Return the origins of pages whose URL the settings have."""
    own = web_origin(public_url)
    return lambda _: (own,) if own is not None else ()


def origins_of_host(headers: Mapping[str, str]) -> list[WebOrigin]:
    """Return the origins at which a browser finds pages of this `Host` and keeps a Secure cookie for them."""
    host = headers.get("Host", "")
    schemes = ("https", "http") if is_on_this_machine(host) else ("https",)
    return [own for scheme in schemes if (own := web_origin(f"{scheme}://{host}")) is not None]


def is_from_here(headers: Mapping[str, str], own: OwnOrigins, *, has_cookie: bool) -> bool:
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
    sent = web_origin(origin)
    return sent is not None and sent in own(headers)
