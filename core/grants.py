"""Which key opens which listing. Law: grants are made of the listings' rows, and of nothing else."""

from collections.abc import Mapping

from core.rows import KeyGrant, Listing


class Grants:
    def __init__(self) -> None:
        self._by_digest: dict[str, KeyGrant] = {}
        self.by_digest: Mapping[str, KeyGrant] = self._by_digest
        self.keys = 0

    def add(self, row: Listing) -> None:
        self.keys += len(row.keys)
        for key in row.keys:
            self._by_digest[key.digest] = KeyGrant(row.ref, key.id, None)
            if key.old_digest is not None:
                self._by_digest[key.old_digest] = KeyGrant(row.ref, key.id, key.old_until_ms)

    def remove(self, row: Listing) -> None:
        self.keys -= len(row.keys)
        for key in row.keys:
            self._by_digest.pop(key.digest, None)
            if key.old_digest is not None:
                self._by_digest.pop(key.old_digest, None)
