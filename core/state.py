"""The state as a whole: copied, loaded and compared. Law: a copy that is loaded is an equal state.

What the tables are and how they change is in `core/tables.py`.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from core.copying import RowCopy, Rows
from core.digest import Digest
from core.rows import Delivery, FleetRow, Listing
from core.sharing import shared
from core.tables import Tables
from core.votes import Votes, leaves_of


class State(Tables):
    def __init__(self, votes: Votes, deliveries_kept: int) -> None:
        """`deliveries_kept` finished ones a listing."""
        super().__init__(votes, deliveries_kept)
        self._copy: RowCopy | None = None
        self._one: dict[str, str] = {}
        """While it is loaded: refs of listings by themselves, so that one string serves for all tables."""
        self._digest = Digest()
        self._shared_digest = Digest()

    def _changing(self, ref: str) -> None:
        self._digest.changed(ref)
        if self._fleet.label:
            self._shared_digest.changed(ref)
        if self._copy is not None:
            self._copy.changing(ref)

    def _all_shared(self) -> None:
        self._shared_digest.all_changed(self._listings)

    # -- snapshots -------------------------------------------------------------------------------------

    def copy_rows(self) -> RowCopy:
        """A copy of all rows as they are now, to be ended by `end_copy`; one at a time."""
        self._copy = RowCopy(self._refs, self._rows_of)
        return self._copy

    def _rows_of(self, ref: str) -> Rows:
        return Rows(self._listings.as_it_is(ref), tuple(self._deliveries.of(ref)))

    def end_copy(self, copy: RowCopy) -> None:
        if self._copy is copy:  # one given up may be ended late, when another is under way
            self._copy = None

    def load(self, rows: Iterable[Listing | Delivery]) -> None:
        """Takes rows as a copy gave them; `loaded` has to follow the last ones."""
        for row in rows:
            if isinstance(row, Listing):
                self._listings.put(row)
                self._one[row.ref] = row.ref
                self._grants.add(row)
            else:
                self._deliveries.load(row)

    def load_packed(
        self, refs: Sequence[str], rows: Sequence[bytes], keys: int, at_once: Sequence[str]
    ) -> None:
        """The same for packed listings, of which those `at_once` are unpacked now."""
        self._listings.load(refs, rows, keys)
        self._one.update(zip(refs, refs, strict=True))
        for ref in at_once:
            self._listings[ref]

    def load_votes(self, leaves: Iterable[tuple[str, bytes]]) -> None:
        """Takes leaves, each behind those of its listing that came before it."""
        one = self._one
        leaves = [(one.get(ref, ref), leaf) for ref, leaf in leaves]
        self._votes.load(leaves)
        for ref in {ref for ref, _ in leaves}.difference(one):
            self._maybe_ghost(ref)

    def load_parts(self, parts: Iterable[tuple[str, int, dict[int, int]]]) -> None:
        """Takes counts of users who voted at several nodes; all leaves come before them."""
        for ref, user, counts in parts:
            for node, count in counts.items():
                self._votes.put(ref, user, count, 0, node)

    def load_fleet(self, row: FleetRow) -> None:
        self._fleet.load(row)

    def loaded(self) -> None:
        self._one.clear()
        self._refs[:] = sorted(self._listings)
        self._digest.all_changed(self._refs)
        if self.fleet.label:
            self._shared_digest.all_changed(self._refs)

    # -- the digest ------------------------------------------------------------------------------------

    def digest(self) -> str:
        """A digest of all listings and what hangs on them, equal for equal states (hex, 128 bits)."""
        return self._digest.value(self._digested)

    def refresh_digest(self) -> Iterator[None]:
        """Does nearly all of the next digest's work, in slices: to be run through before it."""
        return self._digest.refresh(self._digested)

    def shared_digest(self) -> str:
        """The same of all that the nodes of a fleet have in common: equal at all nodes that have heard of the
        same changes, in whatever order."""
        listings = self._shared_digest.value(self._shared_digested)
        return hashlib.blake2b(f"{listings} {self.fleet.gone}".encode(), digest_size=16).hexdigest()

    def refresh_shared_digest(self) -> Iterator[None]:
        return self._shared_digest.refresh(self._shared_digested)

    def _digested(self, ref: str) -> Iterator[bytes] | None:
        return self._parts_of(ref) if ref in self._listings else None

    def _parts_of(self, ref: str) -> Iterator[bytes]:
        yield _row_bytes(self._listings.shown(ref))
        yield from map(_row_bytes, sorted(self.deliveries(ref), key=lambda row: row.id))
        yield from self._vote_parts_of(ref)

    def _shared_digested(self, ref: str) -> Iterator[bytes] | None:
        return self._shared_parts_of(ref) if ref in self._listings else None

    def _shared_parts_of(self, ref: str) -> Iterator[bytes]:
        row = shared(self._listings.shown(ref), self.fleet.label)
        yield _row_bytes(msgspec.structs.replace(row, keys=tuple(sorted(row.keys, key=lambda key: key.id))))
        yield from self._vote_parts_of(ref)

    def _vote_parts_of(self, ref: str) -> Iterator[bytes]:
        # Leaves are as history has left them: all users come first, then all votes, so that no cut shows.
        for leaf in leaves_of(self.votes, ref):
            yield leaf[: len(leaf) // 2]
        at_one_node = len(self.fleet.numbers) < 2
        for leaf in leaves_of(self.votes, ref):
            packed = leaf[len(leaf) // 2 :]
            yield packed if at_one_node else self.votes.without_nodes(packed)


_row_bytes = msgspec.json.Encoder(order="deterministic").encode
