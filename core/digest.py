"""An incremental digest of many listings. Law: equal states have equal digests, whatever led to them.

The digest is the sum of one BLAKE2b digest for each listing. So only listings that changed since the last
time are hashed again. They are hashed in slices, because a listing may have a million voters.
`core/canonical.py` says which bytes are hashed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator

SLICE_BYTES = 128 << 10
ROW_COST_BYTES = 8 << 10
"""The time that it takes to encode a listing's row, as bytes that are hashed in the same time."""

Parts = Callable[[str], Iterator[bytes] | None]
"""The bytes to hash of a listing, in canonical order; None for a listing that is gone."""


class Digest:
    def __init__(self, parts_of: Parts) -> None:
        self._parts_of = parts_of
        self._changed: dict[str, int] = {}
        """By ref, the number of the listing's last change among all changes."""
        self._changes = 0
        self._of: dict[str, int] = {}
        self._sum = 0

    def changed(self, ref: str) -> None:
        self._changes += 1
        self._changed[ref] = self._changes

    def all_changed(self, refs: Iterable[str]) -> None:
        self._changes += 1
        changed = dict.fromkeys(refs, self._changes)
        self._changed = {**self._changed, **changed} if self._changed else changed

    def refresh(self) -> Iterator[None]:
        """Hash the listings that have changed until now; yield between slices of about 0.1 ms.

        A listing that changes while it is hashed is left to the next refresh. One refresh may run beside
        another, and may be given up.
        """
        left = SLICE_BYTES
        for ref in list(self._changed):
            change = self._changed.get(ref)
            if change is None:
                continue
            hashed = hashlib.blake2b(digest_size=16)
            parts = self._parts_of(ref)
            left -= ROW_COST_BYTES
            for part in parts or ():
                hashed.update(part)
                left -= len(part)
                if left <= 0:
                    left = SLICE_BYTES
                    yield
            if self._changed.get(ref) != change:
                continue
            del self._changed[ref]
            digest = int.from_bytes(hashed.digest(), "big") if parts is not None else 0
            self._sum += digest - self._of.pop(ref, 0)
            if digest:
                self._of[ref] = digest

    def value(self) -> str:
        """Return the digest as of now (hex, 128 bits)."""
        for _ in self.refresh():
            pass
        return f"{self._sum % (1 << 128):032x}"
