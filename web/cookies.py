"""Cookies. Law: no script reads one, and no other host or plain http gets it.

`__Host-` makes browsers refuse the cookie unless it is Secure, has Path=/ and no Domain (RFC 6265bis,
4.1.3.2).
SameSite is Lax: with Strict, a link from an alert to a page would show the sign-in to whoever is signed in.
No GET changes anything, so Lax gives nothing away.
"""

from collections.abc import Mapping
from typing import NamedTuple

_LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Cookie(NamedTuple):
    """A cookie of ours."""

    name: str
    attributes: str

    def opened(self, value: str) -> str:
        """Return the `Set-Cookie` that gives a browser the value. It ends with the browser."""
        return f"{self.name}={value}; {self.attributes}"

    def cleared(self) -> str:
        return f"{self.name}=; {self.attributes}; Max-Age=0"

    def value(self, headers: Mapping[str, str]) -> str | None:
        """Return the value that a browser sent; the first one counts."""
        for pair in headers.get("Cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.name:
                return value
        return None


def cookie(what: str) -> Cookie:
    """Return the cookie for a purpose."""
    return Cookie(f"__Host-votegate-{what}", "Path=/; Secure; HttpOnly; SameSite=Lax")


OPERATOR = cookie("operator")
"""The operator's session."""


def keeps_cookies(headers: Mapping[str, str]) -> bool:
    """Tell whether the browser will keep a Secure cookie: over https, and from this machine.

    A browser sends `Sec-Fetch-Site` to such addresses alone (Fetch Metadata, 4). A proxy that serves https
    says so, for a browser without that header.
    """
    if "Sec-Fetch-Site" in headers or headers.get("X-Forwarded-Proto", "").lower() == "https":
        return True
    host = headers.get("Host", "").lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name in _LOCAL or name.endswith(".localhost")
