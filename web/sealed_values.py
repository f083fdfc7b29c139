"""Values that a browser keeps for us. Invariant: only a value that was sealed here, for its purpose, opens.

    base64url( nonce 12s | ciphertext | tag 16s )

The cipher is AES-256-GCM (NIST SP 800-38D). Its key is derived by HKDF-SHA256 (RFC 5869) from a secret of
the deployment, for one purpose alone. Nonces are random, which is safe for 2^32 values with one secret:
40 a second for three years. Nothing is kept here, so a value survives a restart, and another node of a fleet
opens it.
"""

import binascii
from base64 import b64decode, urlsafe_b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32
NONCE_BYTES = 12
MOST_CHARACTERS = 4_096
"""No browser keeps a cookie that is longer (RFC 6265bis, 5.6)."""


class ValueSeal:
    """Seals values for one purpose, and opens them.

    Args:
        secret: bytes that all nodes of a deployment share, and nobody else knows.
    """

    def __init__(self, secret: bytes, purpose: bytes) -> None:
        self._purpose = purpose
        self._cipher = AESGCM(HKDF(SHA256(), KEY_BYTES, None, purpose).derive(secret))

    def sealed(self, plain: bytes, nonce: bytes) -> str:
        """Return the value of a cookie. `nonce` is 12 random bytes, new each time."""
        return _text(nonce + self._cipher.encrypt(nonce, plain, self._purpose))

    def opened(self, value: str | None) -> bytes | None:
        """Return the sealed bytes; None for a value that was not sealed here for this purpose."""
        sealed = _bytes(value) if value is not None else None
        if sealed is None:
            return None
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], self._purpose)
        except (InvalidTag, ValueError):
            return None


def is_fresh(sealed_ms: int, now_ms: int, seconds: int) -> bool:
    """Return true if a value is younger than that. The clock of another node may be ahead of this one."""
    return abs(now_ms - sealed_ms) < seconds * 1_000


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
