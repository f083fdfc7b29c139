"""The headers of pages. Invariant: a page runs our scripts alone, and nobody frames it.

It talks to us alone. An audience may name origins for pictures, and for the targets of forms. Scripts may set
markup by one policy of trusted types, that of htmx (`static/site.js`): it takes the markup of our templates.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType


def page_headers(
    images: Iterable[str] = (), forms: Iterable[str] = (), varies: Iterable[str] = ()
) -> Mapping[str, str]:
    """Return the headers of pages. `cache-control` and `vary` keep one with a session out of every cache.

    Args:
        images: the origins of others whose pictures the pages show.
        forms: the origins of others to which a form may lead. A browser asks this of a redirect, too.
        varies: further headers of requests that a page depends on.
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
            "vary": ", ".join(("Cookie", "HX-Request", *varies)),
        }
    )


def _content_policy(images: Iterable[str], forms: Iterable[str]) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            " ".join(("img-src 'self'", *images)),
            "connect-src 'self'",
            " ".join(("form-action 'self'", *forms)),
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types votegate",  # stays last: see with_trusted_types
        )
    )


def with_trusted_types(policy: str, *names: str) -> str:
    """Return the content policy of a page on which scripts may make these policies of trusted types, too."""
    return " ".join((policy, *names))


PAGE_HEADERS = page_headers()
"""The headers of pages that show and ask nothing of others."""
