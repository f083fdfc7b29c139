"""The cookie of the operator's session. Law: no script reads it, and no other host or plain http gets it.

`__Host-` makes browsers refuse the cookie unless it is Secure, has Path=/ and no Domain (RFC 6265bis,
4.1.3.2).
SameSite is Lax: with Strict, a link from an alert to a page would show the sign-in to whoever is signed in.
No GET changes anything, so Lax gives nothing away.
"""

from collections.abc import Mapping

NAME = "__Host-votegate-operator"
_ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


def session_cookie(value: str) -> str:
    """Return the `Set-Cookie` that opens a session. It ends with the browser, or with the session."""
    return f"{NAME}={value}; {_ATTRIBUTES}"


def cleared_cookie() -> str:
    return f"{NAME}=; {_ATTRIBUTES}; Max-Age=0"


def session_value(headers: Mapping[str, str]) -> str | None:
    """Return the value of the session's cookie; the first one counts."""
    for pair in headers.get("Cookie", "").split(";"):
        name, _, value = pair.strip().partition("=")
        if name == NAME:
            return value
    return None


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
