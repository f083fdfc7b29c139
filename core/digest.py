"""An incremental digest of many listings. Invariant: equal states have equal digests, whatever led to them.

The digest is the sum of one BLAKE2b digest for each listing. So only listings that changed since the last
time are hashed again. They are hashed in slices, because a listing may have a million voters.
`Canonical` says which bytes are hashed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec
from msgspec.structs import replace

from core import sharing
from core.delivery_table import DeliveryTable
from core.fleet_table import FleetTable
from core.listing_table import ListingTable
from core.user_rows import USERS
from core.user_table import UserTable
from core.vote_counts import VoteCounts
from core.vote_table import VotesView, leaves_of

SLICE_BYTES = 128 << 10
ROW_COST_BYTES = 8 << 10
"""The time that it takes to encode a listing's row, as bytes that are hashed in the same time."""

AT_ONCE = 10_000
"""The refs that are listed at once."""

_row_bytes = msgspec.json.Encoder(order="deterministic").encode

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
        for ref in self._changed_now():
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

    def _changed_now(self) -> Iterator[str]:
        """Yield the refs that have changed until now, some at a time: a list of a million would take 50 ms.
        Refs that the caller does not take out go to the end."""
        rest = len(self._changed)
        while rest > 0 and (some := [*islice(self._changed, min(rest, AT_ONCE))]):
            yield from some
            rest -= len(some)
            for ref in some:
                if (change := self._changed.pop(ref, None)) is not None:
                    self._changed[ref] = change

    def value(self) -> str:
        """Return the digest as of now (hex, 128 bits)."""
        for _ in self.refresh():
            pass
        return f"{self._sum % (1 << 128):032x}"


@dataclass(frozen=True)
class Canonical:
    """The canonical bytes of a listing and of all that hangs on it, or of a user.

    Invariant: equal contents have equal bytes. A node's own digest is of `whole`. The digest that nodes of a
    fleet compare is of `shared`.
    """

    _listings: ListingTable
    _deliveries: DeliveryTable
    _votes: VotesView
    _vote_counts: VoteCounts
    _users: UserTable
    _fleet: FleetTable

    def whole(self, ref: str) -> Iterator[bytes] | None:
        """Return everything that this node keeps of the listing or user; None if it keeps no such one."""
        if ref.startswith(USERS):
            user = self._users.get(ref)
            return iter((_row_bytes(user),)) if user is not None else None
        return self._whole(ref) if ref in self._listings else None

    def shared(self, ref: str) -> Iterator[bytes] | None:
        """Return the part that all nodes of the fleet have in common: row, votes and counts.

        Endings of sessions are no part of it: each node forgets them by its own clock.
        """
        if ref.startswith(USERS):
            user = self._users.get(ref)
            return iter((_row_bytes(replace(user, ended=())),)) if user is not None else None
        return self._shared(ref) if ref in self._listings else None

    def _whole(self, ref: str) -> Iterator[bytes]:
        yield _row_bytes(self._listings.peek(ref))
        deliveries = self._deliveries.newest_first(ref)
        yield from map(_row_bytes, sorted(deliveries, key=lambda row: row.id))
        yield from self._vote_bytes(ref)

    def _shared(self, ref: str) -> Iterator[bytes]:
        row = sharing.shared(self._listings.peek(ref), self._fleet.label)
        yield _row_bytes(replace(row, keys=tuple(sorted(row.keys, key=lambda key: key.id))))
        yield from self._vote_bytes(ref)

    def _vote_bytes(self, ref: str) -> Iterator[bytes]:
        # Where leaves end is history. All users come first, then all votes, so that no cut shows.
        only = self._votes.only_leaf(ref)
        for leaf in leaves_of(self._votes, ref) if only is None else (only,):
            yield leaf[: len(leaf) // 2]
        at_one_node = len(self._fleet.numbers) < 2
        for leaf in leaves_of(self._votes, ref) if only is None else (only,):
            packed = leaf[len(leaf) // 2 :]
            yield packed if at_one_node else self._votes.without_nodes(packed)
        yield self._vote_counts.canonical(ref)
