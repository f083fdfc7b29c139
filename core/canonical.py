"""The canonical bytes of a listing and of all that hangs on it, or of a user.

Law: equal contents have equal bytes.

A node's own digest is of `whole`; the digest that nodes of a fleet compare is of `shared`.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from core import sharing
from core.delivery_table import DeliveryTable
from core.fleet_table import FleetTable
from core.listing_table import ListingTable
from core.user_rows import USERS
from core.user_table import UserTable
from core.vote_counts import VoteCounts
from core.vote_port import VotesView, leaves_of

_row_bytes = msgspec.json.Encoder(order="deterministic").encode


class Canonical:
    def __init__(
        self,
        listings: ListingTable,
        deliveries: DeliveryTable,
        votes: VotesView,
        vote_counts: VoteCounts,
        users: UserTable,
        fleet: FleetTable,
    ) -> None:
        self._listings = listings
        self._deliveries = deliveries
        self._votes = votes
        self._vote_counts = vote_counts
        self._users = users
        self._fleet = fleet

    def whole(self, ref: str) -> Iterator[bytes] | None:
        """Return everything that this node keeps of the listing or user; None if it keeps no such one."""
        if ref.startswith(USERS):
            return self._user(ref)
        return self._whole(ref) if ref in self._listings else None

    def shared(self, ref: str) -> Iterator[bytes] | None:
        """Return the part that all nodes of the fleet have in common: row, votes and counts."""
        if ref.startswith(USERS):
            return self._shared_user(ref)
        return self._shared(ref) if ref in self._listings else None

    def _user(self, ref: str) -> Iterator[bytes] | None:
        row = self._users.get(ref)
        return iter((_row_bytes(row),)) if row is not None else None

    def _shared_user(self, ref: str) -> Iterator[bytes] | None:
        """Leave endings of sessions out: each node forgets them by its own clock."""
        row = self._users.get(ref)
        return iter((_row_bytes(replace(row, ended=())),)) if row is not None else None

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
        for leaf in leaves_of(self._votes, ref):
            yield leaf[: len(leaf) // 2]
        at_one_node = len(self._fleet.numbers) < 2
        for leaf in leaves_of(self._votes, ref):
            packed = leaf[len(leaf) // 2 :]
            yield packed if at_one_node else self._votes.without_nodes(packed)
        yield self._vote_counts.canonical(ref)
