"""Protection from other sites: of forms, of pages and their scripts, and of links.

Invariants: a cookie counts on forms of our pages alone. A page runs our scripts alone, and nobody frames it.
A link leads to https or to a path of ours, and the way back from a sign-in stays on this host.

The rule for forms is Tornado's `cross_origin_protection`, with two additions: the scheme counts, and so does
the cookie. A browser says where a request comes from:

    Sec-Fetch-Site: same-origin or none    ours, or typed by the user     allowed
    Sec-Fetch-Site: anything else          another site                   refused
    no such header, but an Origin          allowed if scheme, host and port are ours
    neither header                         no browser of today            allowed without a cookie

The origin of people's pages is that of `web.public_url`, whatever `Host` says. Operators' pages have no
address in the settings: theirs is the `Host`, over https or on this machine. A browser keeps their cookie
there alone. Tornado's own switch would look at the JSON endpoints too: they ignore cookies, so a caller from
another site needs a key of their own.

Scripts may set markup by one policy of trusted types, that of htmx (`static/site.js`): it takes the markup of
our templates.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import unquote, urlsplit, urlunsplit

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
    """Return the origins of pages of this `Host` for which a browser keeps a Secure cookie."""
    host = headers.get("Host", "")
    schemes = ("https", "http") if is_on_this_machine(host) else ("https",)
    return [own for scheme in schemes if (own := web_origin(f"{scheme}://{host}")) is not None]


def is_from_here(headers: Mapping[str, str], own: OwnOrigins, *, has_cookie: bool) -> bool:
    """Return true if a request that changes something comes from one of our pages.

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


def page_headers(
    images: Iterable[str] = (), forms: Iterable[str] = (), varies: Iterable[str] = ()
) -> Mapping[str, str]:
    """Return the headers of pages. `cache-control` and `vary` keep one with a session out of every cache.

    Args:
        images: the origins of others that the pages show pictures of.
        forms: the origins of others to which a form may lead. Browsers check the redirect, too.
        varies: further request headers that a page depends on.
    """
    return MappingProxyType(
        {
            "content-security-policy": _content_policy(images, forms),
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
            "cache-control": "no-store",
            "vary": ", ".join(("Accept-Encoding", "Cookie", "HX-Request", *varies)),
        }
    )


def _content_policy(images: Iterable[str], forms: Iterable[str]) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            " ".join(("img-src 'self'", *images)),
            "media-src 'self'",
            "connect-src 'self'",
            "manifest-src 'self'",
            " ".join(("form-action 'self'", *forms)),
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types votegate",  # stays last: see with_trusted_types
        )
    )


def with_style(policy: str, source: str) -> str:
    """Return the content policy of a page that carries the styles of this source."""
    return policy.replace("style-src 'self'", f"style-src 'self' {source}")


def with_trusted_types(policy: str, *names: str) -> str:
    """Return the content policy of a page on which scripts may make these policies of trusted types, too."""
    return " ".join((policy, *names))


PAGE_HEADERS = page_headers()
"""The headers of pages that load nothing from other sites and lead to none."""


_OWN_PATH = re.compile(r"/(?![/\\])[^\s\\\x00-\x1f]*")
_ON_THIS_MACHINE = re.compile(r"http://(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?/[^\s\\\x00-\x1f]*")
_MAIL_TO = re.compile(r"mailto:[^\s\\?&\x00-\x1f]*")
_WRITTEN_OUT = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*")
"""A path with a query as RFC 3986 writes it: browsers change nothing of it but dot segments."""
LONGEST_WAY_BACK = 1_024
"""The longest way back that has room in a cookie."""
NOWHERE = "#"


def link(address: str) -> str:
    """Return an address that may be in a link, else one that leads nowhere.

    Plain http leads to this machine alone, where a stand-in for the chat platform may be.
    """
    is_ours = _OWN_PATH.fullmatch(address) is not None
    is_safe = address.startswith("https://") or _ON_THIS_MACHINE.fullmatch(address) is not None
    is_mail = _MAIL_TO.fullmatch(address) is not None
    return address if is_ours or is_safe or is_mail else NOWHERE


def way_back(wanted: str, home: str) -> str:
    """Return the page that a visitor wanted before the sign-in; `home` if the text names no such page.

    The text comes from an address or a form. It must be a path at or below `home` that browsers and servers
    read alike: without empty and dot segments, however they are written. The pages of the sign-in and the
    sign-out are no way back.
    """
    if len(wanted) > LONGEST_WAY_BACK or not _WRITTEN_OUT.fullmatch(wanted):
        return home
    _, _, path, query, _ = urlsplit(f"//host{wanted}")
    plain, top = unquote(path), home.rstrip("/")
    *folders, last = plain.split("/")[1:]
    if {"", ".", ".."} & {*folders} or last in {".", ".."} or "\\" in plain:
        return home
    below = plain.removeprefix(top)
    if not path.startswith(top) or below[:1] not in {"", "/"} or below.startswith("/sign"):
        return home
    return urlunsplit(("", "", path, query, ""))
