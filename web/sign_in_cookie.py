"""A sign-in that is under way, as a browser keeps it. Law: what was not sealed here for this is no sign-in.

    base64url( nonce 12s | ciphertext | tag 16s )

The cipher is AES-256-GCM (NIST SP 800-38D). Its key is derived by HKDF-SHA256 (RFC 5869) from a secret of
the deployment, for this purpose alone. Nonces are random, which is safe for 2^32 sign-ins with one secret:
40 a second for three years. The browser keeps all there is, so a sign-in survives a restart, and may end at
another node of a fleet.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode
from typing import NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from chatplatform.authorization import SignIn
from web.cookies import SIGN_IN_SECONDS

KEY_BYTES = 32
NONCE_BYTES = 12
MOST_CHARACTERS = 4_096
"""No browser keeps a cookie that is longer (RFC 6265bis, 5.6)."""
_PURPOSE = b"votegate sign-in cookie"


class SignInUnderWay(NamedTuple):
    """A request for authorization, the path to go to after it, and when it began (Unix milliseconds)."""

    request: SignIn
    return_to: str
    began_ms: int


class SignInSeal:
    """Seals sign-ins into cookies, and opens them.

    Args:
        secret: bytes that all nodes of a deployment share, and nobody else knows.
    """

    def __init__(self, secret: bytes) -> None:
        self._cipher = AESGCM(HKDF(SHA256(), KEY_BYTES, None, _PURPOSE).derive(secret))

    def sealed(self, under_way: SignInUnderWay, nonce: bytes) -> str:
        """Return the cookie's value. `nonce` is 12 random bytes, new each time."""
        plain = msgspec.msgpack.encode(under_way)
        return _text(nonce + self._cipher.encrypt(nonce, plain, _PURPOSE))

    def opened(self, value: str | None, now_ms: int) -> SignInUnderWay | None:
        """Return the sign-in of a cookie's value; None if there is none, or it began too long ago."""
        sealed = _bytes(value) if value is not None else None
        if sealed is None:
            return None
        try:
            plain = self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], _PURPOSE)
        except (InvalidTag, ValueError):
            return None
        under_way = msgspec.msgpack.decode(plain, type=SignInUnderWay)
        # The clock of another node may be ahead of this one.
        is_fresh = abs(now_ms - under_way.began_ms) < SIGN_IN_SECONDS * 1_000
        return under_way if is_fresh else None


def _text(sealed: bytes) -> str:
    return urlsafe_b64encode(sealed).rstrip(b"=").decode()


def _bytes(value: str) -> bytes | None:
    """Return the bytes of a text; None if it is not the one way to write them."""
    if len(value) > MOST_CHARACTERS:
        return None
    try:
        sealed = b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return sealed if _text(sealed) == value else None
