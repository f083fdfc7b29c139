"""A sign-in that is under way, as a browser keeps it in a sealed cookie."""

from typing import NamedTuple

import msgspec

from chatplatform.authorization import SignIn
from web.cookies import SIGN_IN_SECONDS
from web.sealed_values import ValueSeal, is_fresh

_PURPOSE = b"votegate sign-in cookie"


class SignInUnderWay(NamedTuple):
    """A request for authorization, the path to go to after it, and when it began (Unix milliseconds)."""

    request: SignIn
    return_to: str
    began_ms: int


class SignInSeal:
    """Seals sign-ins into cookies, and opens them."""

    def __init__(self, secret: bytes) -> None:
        self._seal = ValueSeal(secret, _PURPOSE)

    def sealed(self, under_way: SignInUnderWay, nonce: bytes) -> str:
        """Return the cookie's value. `nonce` is 12 random bytes, new each time."""
        return self._seal.sealed(msgspec.msgpack.encode(under_way), nonce)

    def opened(self, value: str | None, now_ms: int) -> SignInUnderWay | None:
        """Return the sign-in of a cookie's value; None if there is none, or it began too long ago."""
        plain = self._seal.opened(value)
        if plain is None:
            return None
        under_way = msgspec.msgpack.decode(plain, type=SignInUnderWay)
        return under_way if is_fresh(under_way.began_ms, now_ms, SIGN_IN_SECONDS) else None
