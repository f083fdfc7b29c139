"""The state as chunks of a file, copied while it changes. Invariant: no step takes longer than a millisecond.

Rows are exact as of the start position. Votes are copied leaf by leaf while more of them arrive, so some may
be newer than the start position. Replaying the journal over those changes nothing, because events carry
results.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from core.packing import PackedRow
from core.row_copy import Rows
from core.rows import Listing
from core.state import State
from core.user_rows import UserRow
from core.vote_port import copy_votes
from snapshot.files import (
    CooldownsChunk,
    CountsChunk,
    DeliveriesChunk,
    FleetChunk,
    LeavesChunk,
    ListingsChunk,
    PackedChunk,
    PartsChunk,
    UsersChunk,
    still_packed,
)

DELIVERIES_PER_CHUNK = 64
PARTS_PER_CHUNK = 256
COOLDOWNS_PER_CHUNK = 4_096
COUNTS_PER_CHUNK = 256
Copied = (
    FleetChunk
    | CooldownsChunk
    | ListingsChunk
    | PackedChunk
    | DeliveriesChunk
    | UsersChunk
    | CountsChunk
    | LeavesChunk
    | PartsChunk
)


class StateCopy:
    """The chunks of a state as it is now, except the last. `rows` counts their rows so far.

    It is a context, because the state sets changing rows aside while the copy is under way.
    """

    def __init__(self, state: State) -> None:
        self.rows = 0
        self._state = state
        self._copy = state.copy_rows()
        self._fleet = state.fleet.row
        self._cooldowns = list(state.cooldowns.items())
        self._orphans_counts = state.unlisted_counts()

    def __enter__(self) -> "StateCopy":
        return self

    def __exit__(self, *_: object) -> None:
        self._state.end_copy(self._copy)

    def __iter__(self) -> Iterator[Copied]:
        for chunk in self._chunks():
            self.rows += len(chunk.rows)
            yield chunk

    def _chunks(self) -> Iterator[Copied]:
        if self._fleet.labels:
            yield FleetChunk([self._fleet])
        for start in range(0, len(self._cooldowns), COOLDOWNS_PER_CHUNK):
            yield CooldownsChunk(self._cooldowns[start : start + COOLDOWNS_PER_CHUNK])
        for slice_ in self._copy.slices():
            yield from self._of_rows(slice_)
        for start in range(0, len(self._orphans_counts), COUNTS_PER_CHUNK):
            yield CountsChunk(self._orphans_counts[start : start + COUNTS_PER_CHUNK])
        yield from self._votes()
        parts = self._parts()
        while few := list(islice(parts, PARTS_PER_CHUNK)):
            yield PartsChunk(few)

    @staticmethod
    def _of_rows(slice_: Sequence[Rows]) -> Iterator[Copied]:
        if listings := [rows.row for rows in slice_ if isinstance(rows.row, Listing)]:
            yield ListingsChunk(listings)
        if packed := [rows.row for rows in slice_ if isinstance(rows.row, PackedRow)]:
            yield still_packed(packed)
        if users := [rows.row for rows in slice_ if isinstance(rows.row, UserRow)]:
            yield UsersChunk(users)
        if counts := [(rows.row.ref, rows.counts) for rows in slice_ if rows.row and rows.counts]:
            yield CountsChunk(counts)
        deliveries = [delivery for rows in slice_ for delivery in rows.deliveries]
        for start in range(0, len(deliveries), DELIVERIES_PER_CHUNK):
            yield DeliveriesChunk(deliveries[start : start + DELIVERIES_PER_CHUNK])

    def _votes(self) -> Iterator[LeavesChunk]:
        """Yield votes without a listing first, because the listing may arrive during the copy."""
        early: set[str] = set()
        for leaves in copy_votes(self._state.votes, self._state.listings.unlisted):
            early.update(ref for ref, _ in leaves)
            yield LeavesChunk(leaves)
        for leaves in copy_votes(self._state.votes, self._state.listings.refs):
            yield LeavesChunk([row for row in leaves if row[0] not in early] if early else leaves)

    def _parts(self) -> Iterator[tuple[str, int, dict[int, int]]]:
        several = self._state.votes.several
        for ref in list(several):
            for user in list(several.get(ref, ())):
                counts = several.get(ref, {}).get(user)
                if counts is not None:
                    yield ref, user, dict(counts)
