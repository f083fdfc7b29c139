"""Cookies. Invariant: this module alone names them, no script reads one, and no other host gets one.

`__Host-` makes browsers refuse a cookie unless it is Secure, has Path=/ and no Domain (RFC 6265bis, 4.1.3.2).
Only for people's pages over plain http, if a deployment asks for them, there is neither. SameSite is Lax:
with Strict, a link from an alert to a page would show the sign-in to a user who is signed in, and the chat
platform could not send a browser back. But for that way back no GET changes anything, so Lax gives nothing
away.
"""

from collections.abc import Mapping
from typing import NamedTuple

SIGN_IN_SECONDS = 600
"""How long a sign-in may take at the chat platform."""
NOTICE_SECONDS = 60
"""The time in which a page may still say the notice of an action."""
LANGUAGE_SECONDS = 31_536_000
"""How long a browser keeps the choice of a language: a year."""
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


class Cookie(NamedTuple):
    """A cookie of ours. Without `seconds` it ends with the browser."""

    name: str
    attributes: str
    seconds: int | None = None

    def opened(self, value: str) -> str:
        """Return the `Set-Cookie` that gives a browser the value."""
        lasting = f"; Max-Age={self.seconds}" if self.seconds is not None else ""
        return f"{self.name}={value}; {self.attributes}{lasting}"

    def cleared(self) -> str:
        return f"{self.name}=; {self.attributes}; Max-Age=0"

    def value(self, headers: Mapping[str, str]) -> str | None:
        """Return the value that a browser sent; the first one counts."""
        for pair in headers.get("Cookie", "").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.name:
                return value
        return None


def _cookie(purpose: str, seconds: int | None = None, *, is_secure: bool = True) -> Cookie:
    if is_secure:
        return Cookie(f"__Host-votegate-{purpose}", "Path=/; Secure; HttpOnly; SameSite=Lax", seconds)
    return Cookie(f"votegate-{purpose}", "Path=/; HttpOnly; SameSite=Lax", seconds)


OPERATOR = _cookie("operator")
"""The operator's session."""
OPERATOR_NOTICE = _cookie("operator-notice", NOTICE_SECONDS)


class PeopleCookies(NamedTuple):
    """The cookies of people: a session, a sign-in under way, the language that they chose, and the notice of
    their last action."""

    session: Cookie
    sign_in: Cookie
    language: Cookie
    notice: Cookie
    are_secure: bool


def people_cookies(session_seconds: int, *, are_secure: bool) -> PeopleCookies:
    """Return the cookies.

    Args:
        session_seconds: how long a session lasts at most.
        are_secure: false for a site on plain http.
    """
    return PeopleCookies(
        _cookie("session", session_seconds, is_secure=are_secure),
        _cookie("signin", SIGN_IN_SECONDS, is_secure=are_secure),
        _cookie("language", LANGUAGE_SECONDS, is_secure=are_secure),
        _cookie("notice", NOTICE_SECONDS, is_secure=are_secure),
        are_secure,
    )


def keeps_cookies(headers: Mapping[str, str]) -> bool:
    """Tell whether the browser will keep a Secure cookie: over https, and from this machine.

    A browser sends `Sec-Fetch-Site` to such addresses alone (Fetch Metadata, 4). A proxy that serves https
    says so, for a browser without that header.
    """
    if "Sec-Fetch-Site" in headers or headers.get("X-Forwarded-Proto", "").lower() == "https":
        return True
    return is_on_this_machine(headers.get("Host", ""))


def is_on_this_machine(host: str) -> bool:
    """Return true if a `Host` names the browser's own machine, which browsers trust without https."""
    host = host.lower()
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    return name in _LOCAL or name.endswith(".localhost")
