"""The state as chunks of a snapshot file, copied while it changes, in steps of at most a millisecond.

Rows are exact as of the start position. Votes are copied leaf by leaf while more of them arrive, so some may
be newer than the start position. Replaying the journal over those changes nothing, because events carry
results.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from core.changes import Changes
from core.packing import PackedRow, unpack_user
from core.row_copy import Rows
from core.rows import Listing
from core.state import State
from core.user_rows import USERS
from core.vote_table import copy_votes
from snapshot.files import (
    BaseChunk,
    ChangedChunk,
    ChangedVotesChunk,
    CooldownsChunk,
    Copied,
    CountsChunk,
    DeliveriesChunk,
    FleetChunk,
    LeavesChunk,
    ListingsChunk,
    PartsChunk,
    VotesGoneChunk,
    VotesOfNodes,
    packed_users,
    still_packed,
)

DELIVERIES_PER_CHUNK = 64
PARTS_PER_CHUNK = 256
COOLDOWNS_PER_CHUNK = 4_096
COUNTS_PER_CHUNK = 256
VOTES_PER_CHUNK = 256
LISTINGS_PER_CHUNK = 256


class StateCopy:
    """The chunks of a state as it is now, except the last. `rows` counts their rows so far.

    With `changes`, they are those of a part behind the file with the salt `base`. It is a context, because
    the state sets changing rows aside while the copy is under way.
    """

    def __init__(self, state: State, changes: Changes | None = None, base: bytes = b"") -> None:
        self.rows = 0
        self._state = state
        self._changes = changes
        self._base = base
        self._copy = state.copy_rows(changes)
        self._fleet = state.fleet.row
        self._cooldowns = list(state.cooldowns.items())
        self._orphans_counts = state.unlisted_counts() if changes is None else []

    def __enter__(self) -> "StateCopy":
        return self

    def __exit__(self, *_: object) -> None:
        self._state.end_copy(self._copy)

    def __iter__(self) -> Iterator[Copied]:
        for chunk in self._chunks():
            self.rows += len(chunk.rows)
            yield chunk

    def _chunks(self) -> Iterator[Copied]:
        if self._changes is not None:
            yield BaseChunk([self._base])
        if self._fleet.labels:
            yield FleetChunk([self._fleet])
        for start in range(0, len(self._cooldowns), COOLDOWNS_PER_CHUNK):
            yield CooldownsChunk(self._cooldowns[start : start + COOLDOWNS_PER_CHUNK])
        for slice_ in self._copy.slices():
            yield from self._of_rows(slice_)
        for start in range(0, len(self._orphans_counts), COUNTS_PER_CHUNK):
            yield CountsChunk(self._orphans_counts[start : start + COUNTS_PER_CHUNK])
        yield from self._votes() if self._changes is None else self._changed_votes(self._changes)

    def _of_rows(self, slice_: Sequence[Rows]) -> Iterator[Copied]:
        if self._changes is not None:
            yield ChangedChunk([(rows.ref, rows.kept) for rows in slice_])
        else:
            slice_ = [rows for rows in slice_ if rows.row is not None]
        if listings := [rows.row for rows in slice_ if isinstance(rows.row, Listing)]:
            yield ListingsChunk(listings)
        still = [rows.row for rows in slice_ if isinstance(rows.row, PackedRow)]
        if packed := [row for row in still if not row.ref.startswith(USERS)]:
            yield still_packed(packed)
        if users := [row for row in still if row.ref.startswith(USERS)]:
            yield packed_users([unpack_user(row.content) for row in users])
        if counts := [(rows.ref, rows.counts) for rows in slice_ if rows.counts]:
            yield CountsChunk(counts)
        deliveries = [delivery for rows in slice_ for delivery in rows.deliveries]
        for start in range(0, len(deliveries), DELIVERIES_PER_CHUNK):
            yield DeliveriesChunk(deliveries[start : start + DELIVERIES_PER_CHUNK])

    def _votes(self) -> Iterator[LeavesChunk | PartsChunk]:
        """Yield votes without a listing first, because the listing may arrive during the copy."""
        early: set[str] = set()
        for leaves in copy_votes(self._state.votes, self._state.listings.unlisted):
            early.update(ref for ref, _ in leaves)
            yield LeavesChunk(leaves)
        for leaves in copy_votes(self._state.votes, self._state.listings.refs):
            yield LeavesChunk([row for row in leaves if row[0] not in early] if early else leaves)
        several = self._state.votes.several
        parts = (part for ref in list(several) for part in self._parts(ref, list(several.get(ref, ()))))
        while few := list(islice(parts, PARTS_PER_CHUNK)):
            yield PartsChunk(few)

    def _changed_votes(self, changes: Changes) -> Iterator[VotesGoneChunk | ChangedVotesChunk | PartsChunk]:
        gone = iter(sorted(changes.gone))
        while few := list(islice(gone, LISTINGS_PER_CHUNK)):
            yield VotesGoneChunk(few)
        rows, parts, size = list[tuple[str, bytes, bytes]](), list[VotesOfNodes](), 0
        for ref, noted in changes.votes.items():
            for start in range(0, len(noted), VOTES_PER_CHUNK):  # they may be millions: sorted in pieces
                some = sorted({*noted[start : start + VOTES_PER_CHUNK]})
                rows.append((ref, *self._state.votes.changed(ref, some)))
                parts += self._parts(ref, some)
                size += len(some)
                if size >= VOTES_PER_CHUNK or len(rows) >= LISTINGS_PER_CHUNK:
                    yield from _with_parts(rows, parts)
                    rows, parts, size = [], [], 0
        yield from _with_parts(rows, parts)

    def _parts(self, ref: str, users: Iterable[int]) -> Iterator[VotesOfNodes]:
        """Yield the counts by node of those who have voted at several nodes."""
        several = self._state.votes.several
        for user in users if ref in several else ():
            counts = several.get(ref, {}).get(user)
            if counts is not None:
                yield ref, user, dict(counts)


def _with_parts(
    rows: list[tuple[str, bytes, bytes]], parts: list[VotesOfNodes]
) -> Iterator[ChangedVotesChunk | PartsChunk]:
    yield ChangedVotesChunk(rows)
    if parts:
        yield PartsChunk(parts)
