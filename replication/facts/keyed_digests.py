"""Keyed digests in place of users' ids: they tell nothing to anybody without the fleet's secret.

The digests are BLAKE2b, keyed with the secret that also digests API keys; all nodes of a fleet share it. They
stand for users in Redis, and for erased users in memory and on disk.
"""

import hashlib
from dataclasses import dataclass, field

DIGEST_BYTES = 16


@dataclass(frozen=True)
class KeyedDigests:
    secret: bytes = field(repr=False)
    """At most 64 bytes."""

    def user(self, user: str) -> str:
        """Return the digest of an erased user."""
        return self._digest(b"vg erased user", user)

    def vote(self, ref: str, user: str) -> str:
        """Return the digest of a user's vote for a listing."""
        return self._digest(b"vg vote claim", f"{ref}/{user}")

    @property
    def fleet(self) -> str:
        """A proof of the secret: the same at all nodes that have it."""
        return self._digest(b"vg fleet", "")

    def _digest(self, purpose: bytes, text: str) -> str:
        return hashlib.blake2b(
            text.encode(), key=self.secret, digest_size=DIGEST_BYTES, person=purpose
        ).hexdigest()
