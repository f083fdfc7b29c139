"""Names for what Redis and memory may not know by name. Law: a mark tells nothing but to a fleet.

Marks are BLAKE2b keyed with the secret that digests API keys, which all nodes of a fleet have in common.
"""

import hashlib
from dataclasses import dataclass, field

MARK_BYTES = 16


@dataclass(frozen=True)
class Marks:
    secret: bytes = field(repr=False)
    """At most 64 bytes."""

    def user(self, user: str) -> str:
        """Stands for a user who was erased."""
        return self._mark(b"vg erased user", user)

    def vote(self, ref: str, user: str) -> str:
        """Stands for a user's vote for a listing."""
        return self._mark(b"vg vote claim", f"{ref}/{user}")

    @property
    def fleet(self) -> str:
        """The same at all nodes that have the same secret."""
        return self._mark(b"vg fleet", "")

    def _mark(self, purpose: bytes, text: str) -> str:
        return hashlib.blake2b(
            text.encode(), key=self.secret, digest_size=MARK_BYTES, person=purpose
        ).hexdigest()
