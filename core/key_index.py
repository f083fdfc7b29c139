"""The index of API keys. Invariant: grants come from rows of approved listings, and from nothing else.

So the keys of a bot are refused while its approval is withdrawn, and accepted again once it is approved.
"""

from collections.abc import Mapping

from core.rows import KeyGrant, Listing


class KeyIndex:
    def __init__(self) -> None:
        self._grants: dict[str, KeyGrant] = {}
        self.grants: Mapping[str, KeyGrant] = self._grants
        """By the digest of the key's value."""
        self.count = 0
        """The number of keys, whatever the number of their values."""

    def add(self, row: Listing) -> None:
        self.count += len(row.keys)
        for key in row.keys if row.state == "approved" else ():
            self._grants[key.digest] = KeyGrant(row.ref, key.id, None)
            if key.old_digest is not None:
                self._grants[key.old_digest] = KeyGrant(row.ref, key.id, key.old_until_ms)

    def remove(self, row: Listing) -> None:
        self.count -= len(row.keys)
        for key in row.keys:
            self._grants.pop(key.digest, None)
            if key.old_digest is not None:
                self._grants.pop(key.old_digest, None)
