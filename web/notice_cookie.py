"""Notices: the outcome of an action, said by the page that comes after it.

Invariant: a notice is said once, by the page to which its action led, and no address makes one. The answer to
the form brings it in a sealed cookie. The page that says it takes the cookie away. After a minute, no page
says it.
"""

from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from core.clock import Clock
from handlers.request import Request
from languages.texts import Text
from web.cookies import NOTICE_SECONDS, Cookie
from web.pages import Notice
from web.sealed_values import NONCE_BYTES, ValueSeal, is_fresh

LONGEST = 800
"""The characters of a notice that is not one of our texts. With more, a browser might drop the cookie."""
_PURPOSE = b"votegate notice "


class _Sealed(NamedTuple):
    """A notice on its way to the page at `path`. `is_ours` is true for a `Text`, which has no values."""

    at_ms: int
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
        self._cookie = cookie
        self._seal = ValueSeal(secret, _PURPOSE + cookie.name.encode())
        self._clock = clock
        self._random = random
        self.taken = cookie.cleared()
        """The `Set-Cookie` of the page that says a notice."""

    def given(self, notice: Notice, to: str) -> str:
        """Return the `Set-Cookie` that brings a notice to the page at an address."""
        said, path = notice.text, urlsplit(to).path
        words, is_ours = (said.english, True) if isinstance(said, Text) else (said[:LONGEST], False)
        sealed = _Sealed(self._clock.now_ms(), path, words, is_ours, notice.is_problem)
        return self._cookie.opened(
            self._seal.sealed(msgspec.msgpack.encode(sealed), self._random(NONCE_BYTES))
        )

    def of(self, request: Request) -> Notice | None:
        """Return the notice that the page for a request says; None if there is none."""
        plain = self._seal.opened(self._cookie.value(request.headers)) if request.method == "GET" else None
        if plain is None:
            return None
        sealed = msgspec.msgpack.decode(plain, type=_Sealed)
        if sealed.path != request.path or not is_fresh(sealed.at_ms, self._clock.now_ms(), NOTICE_SECONDS):
            return None
        return Notice(Text(sealed.words) if sealed.is_ours else sealed.words, sealed.is_problem)
