"""Cookies, values that they seal, and the notice that one brings from a form to the next page.

Invariants: this module alone names cookies, no script reads one, and no other host gets one. Only a value
that was sealed here, for its purpose, opens. A notice is said once, by the page to which its action led.

`__Host-` makes browsers refuse a cookie unless it is Secure, has Path=/ and no Domain (RFC 6265bis, 4.1.3.2).
Only for people's pages over plain http, if a deployment asks for them, there is neither. SameSite is Lax:
with Strict, a link from an alert to a page would show the sign-in to a user who is signed in, and the chat
platform could not send a browser back. But for that way back no GET changes anything, so Lax gives nothing
away.

    sealed value = base64url( nonce 12s | ciphertext | tag 16s )

The cipher is AES-256-GCM (NIST SP 800-38D). Its key is derived by HKDF-SHA256 (RFC 5869) from a secret of
the deployment, for one purpose alone. Nonces are random, which is safe for 2^32 values with one secret:
40 a second for three years. Nothing is kept here, so a value survives a restart, and another node of a fleet
opens it.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.clock import Clock
from handlers.request import Request
from handlers.route import OUR_COOKIES
from languages.refusals import Refusal
from languages.texts import Text
from web.pages import Notice

T = TypeVar("T")
SIGN_IN_SECONDS = 600
"""The time that a sign-in may take at the chat platform."""
NOTICE_SECONDS = 60
"""The time in which a page may still show the notice of an action."""
PREFERENCE_SECONDS = 31_536_000
"""The time for which a browser keeps the choice of a theme or a language: a year."""
LOOKS = ("auto", "light", "dark")
"""The themes that a visitor can choose. The first one follows the system, and needs no cookie."""
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
        sent = headers.get("Cookie", "")
        if self.name not in sent:  # saves the usual stranger nearly all of it
            return None
        for pair in sent.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self.name:
                return value
        return None


def _cookie(purpose: str, seconds: int | None = None, *, is_secure: bool = True) -> Cookie:
    if is_secure:
        return Cookie(f"__Host-{OUR_COOKIES}{purpose}", "Path=/; Secure; HttpOnly; SameSite=Lax", seconds)
    return Cookie(f"{OUR_COOKIES}{purpose}", "Path=/; HttpOnly; SameSite=Lax", seconds)


def look_cookie(*, are_secure: bool) -> Cookie:
    """Return the cookie of the theme that a browser chose, for the pages of people and of the operator."""
    return _cookie("look", PREFERENCE_SECONDS, is_secure=are_secure)


def look_of(cookie: Cookie, headers: Mapping[str, str]) -> str | None:
    """Return the theme that the visitor chose here; None to follow the system."""
    chosen = cookie.value(headers)
    return chosen if chosen in LOOKS[1:] else None


def look_kept(cookie: Cookie, look: str | None) -> str:
    """Return the `Set-Cookie` that keeps a theme. Raises Refusal for one that nobody can choose."""
    if look not in LOOKS:
        raise Refusal("unreadable_form")
    return cookie.opened(look) if look != LOOKS[0] else cookie.cleared()


OPERATOR = _cookie("operator")
"""The operator's session."""
OPERATOR_NOTICE = _cookie("operator-notice", NOTICE_SECONDS)


class PeopleCookies(NamedTuple):
    """The cookies of people: a session, a sign-in under way, the language and the look that they chose, and
    the notice of their last action."""

    session: Cookie
    sign_in: Cookie
    language: Cookie
    look: Cookie
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
        _cookie("language", PREFERENCE_SECONDS, is_secure=are_secure),
        look_cookie(are_secure=are_secure),
        _cookie("notice", NOTICE_SECONDS, is_secure=are_secure),
        are_secure,
    )


def keeps_cookies(headers: Mapping[str, str]) -> bool:
    """Return true if the browser will keep a Secure cookie: over https, and from this machine.

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


KEY_BYTES = 32
NONCE_BYTES = 12
MOST_CHARACTERS = 4_096
"""No browser keeps a cookie that is longer (RFC 6265bis, 5.6)."""


class ValueSeal(Generic[T]):
    """Seals values of a type for one purpose, and opens them while they are fresh.

    Args:
        kind: the type of the values.
        secret: bytes that all nodes of a deployment share, and nobody else knows.
        seconds: the age up to which a value opens.
        random: returns the given number of random bytes.
    """

    def __init__(
        self, kind: type[T], secret: bytes, purpose: bytes, seconds: int, random: Callable[[int], bytes]
    ) -> None:
        self._purpose = purpose
        self._cipher = AESGCM(HKDF(SHA256(), KEY_BYTES, None, purpose).derive(secret))
        self._decoder: msgspec.msgpack.Decoder[tuple[int, T]] = msgspec.msgpack.Decoder(
            tuple[int, kind]  # type: ignore[valid-type]
        )
        self._fresh_ms = seconds * 1_000
        self._random = random

    def sealed(self, value: T, now_ms: int) -> str:
        """Return the value of a cookie."""
        nonce, plain = self._random(NONCE_BYTES), msgspec.msgpack.encode((now_ms, value))
        return _text(nonce + self._cipher.encrypt(nonce, plain, self._purpose))

    def opened(self, text: str | None, now_ms: int) -> T | None:
        """Return the sealed value; None for one that is too old, or was not sealed here for this purpose."""
        sealed = _bytes(text) if text is not None else None
        if sealed is None:
            return None
        try:
            plain = self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], self._purpose)
        except (InvalidTag, ValueError):
            return None
        at_ms, value = self._decoder.decode(plain)
        # The clock of the node that sealed it may be ahead of this one.
        return value if abs(now_ms - at_ms) < self._fresh_ms else None


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _bytes(value: str) -> bytes | None:
    """Return the bytes of a text; None if it is not the only spelling of them."""
    if len(value) > MOST_CHARACTERS:
        return None
    try:
        sealed = b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return sealed if _text(sealed) == value else None


LONGEST = 800
"""The characters of a notice that is not one of our texts. With more, a browser might drop the cookie."""
_PURPOSE = b"votegate notice "


class _Sealed(NamedTuple):
    """A notice on its way to the page at `path`. `is_ours` is true for a `Text`, which has no values."""

    path: str
    words: str
    is_ours: bool
    is_problem: bool


class Notices:
    """Gives notices to browsers, and takes them back, for the pages of one audience.

    Args:
        secret: bytes that all nodes of a deployment share, and nobody else knows.
        random: returns the given number of random bytes.
    """

    def __init__(self, cookie: Cookie, secret: bytes, clock: Clock, random: Callable[[int], bytes]) -> None:
        self.cookie = cookie
        purpose = _PURPOSE + cookie.name.encode()
        self._seal = ValueSeal(_Sealed, secret, purpose, NOTICE_SECONDS, random)
        self._clock = clock
        self.taken = cookie.cleared()
        """The `Set-Cookie` of the page that says a notice."""

    def given(self, notice: Notice, to: str) -> str:
        """Return the `Set-Cookie` that brings a notice to the page at an address."""
        said, path = notice.text, urlsplit(to).path
        words, is_ours = (said.english, True) if isinstance(said, Text) else (said[:LONGEST], False)
        sealed = _Sealed(path, words, is_ours, notice.is_problem)
        return self.cookie.opened(self._seal.sealed(sealed, self._clock.now_ms()))

    def of(self, request: Request) -> Notice | None:
        """Return the notice that the page for a request says; None if there is none."""
        if request.method != "GET":
            return None
        sealed = self._seal.opened(self.cookie.value(request.headers), self._clock.now_ms())
        if sealed is None or sealed.path != request.path:
            return None
        return Notice(Text(sealed.words) if sealed.is_ours else sealed.words, sealed.is_problem)
