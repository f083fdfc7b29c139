"""The headers of pages. Law: a page runs our scripts alone, talks to us alone, and is framed by nobody."""

from collections.abc import Mapping
from types import MappingProxyType

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types votegate",
    )
)
PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-security-policy": CONTENT_POLICY,
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        "cache-control": "no-store",
        "vary": "Cookie, HX-Request",
    }
)
"""`cache-control` and `vary` keep a page with a session out of every cache."""
