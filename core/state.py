"""The in-process tables. Law: `apply` is their only writer, and it never fails, asks or decides.

Rules have decided before an event exists, so `apply` takes any event at any time: one that names something
gone is a no-op, one that is already in the state changes nothing. Everybody else reads: the tables are
`Mapping`s of frozen rows by type. The vote table is handed in, because it is a data structure of its own.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from core import events as ev
from core.copying import RowCopy, Rows
from core.deliveries import Deliveries
from core.digest import Digest
from core.rows import Delivery, Key, KeyGrant, Listing
from core.votes import Votes, VotesView, leaves_of


class State:
    def __init__(self, votes: Votes, deliveries_kept: int) -> None:
        self._listings: dict[str, Listing] = {}
        self._refs: list[str] = []
        self._grants: dict[str, KeyGrant] = {}
        self._votes = votes
        self._deliveries = Deliveries(deliveries_kept)
        self._digest = Digest()
        self._copy: RowCopy | None = None

        self.listings: Mapping[str, Listing] = self._listings
        self.refs: Sequence[str] = self._refs  # sorted, for paging
        self.grants: Mapping[str, KeyGrant] = self._grants  # by key digest
        self.pending = self._deliveries.pending  # by delivery id
        self.finished = self._deliveries.finished  # by ref, oldest first
        self.votes: VotesView = votes
        self.key_count = 0

    def deliveries(self, ref: str) -> list[Delivery]:
        """What is kept of a listing's deliveries, pending ones included, newest first."""
        return sorted(self._deliveries.of(ref), key=lambda delivery: delivery.queued_ms)[::-1]

    def deliveries_of(self, ref: str) -> Iterator[Delivery]:
        """The same in no order."""
        return self._deliveries.of(ref)

    def pending_of(self, ref: str) -> Mapping[str, Delivery]:
        """A listing's pending deliveries by id, oldest first."""
        return self._deliveries.pending_of(ref)

    # -- writing ---------------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        if not isinstance(event, ev.UserErased):
            self._changing(event.ref)
        _APPLY[type(event)](self, event)

    def _changing(self, ref: str) -> None:
        """Comes before any change to what hangs on the listing."""
        self._digest.changed(ref)
        if self._copy is not None:
            self._copy.changing(ref)

    def _put(self, row: Listing) -> None:
        before = self._listings.get(row.ref)
        if before is None:
            insort(self._refs, row.ref)
        if before is None or before.keys is not row.keys:
            self._forget_grants(before)
            self._grant(row)
        self._listings[row.ref] = row

    def _grant(self, row: Listing) -> None:
        self.key_count += len(row.keys)
        for key in row.keys:
            self._grants[key.digest] = KeyGrant(row.ref, key.id, None)
            if key.old_digest is not None:
                self._grants[key.old_digest] = KeyGrant(row.ref, key.id, key.old_until_ms)

    def _change(self, ref: str, **fields: Any) -> None:
        row = self._listings.get(ref)
        if row is not None:
            self._put(replace(row, **fields))

    def _forget_grants(self, row: Listing | None) -> None:
        for key in row.keys if row else ():
            self.key_count -= 1
            self._grants.pop(key.digest, None)
            if key.old_digest is not None:
                self._grants.pop(key.old_digest, None)

    def _listing_saved(self, event: ev.ListingSaved) -> None:
        if event.ref not in self._listings:
            self._put(
                Listing(event.ref, event.owner_id, event.profile, event.review, event.at_ms, event.at_ms)
            )
            return
        fields: dict[str, Any] = {} if event.review != "in_review" else {"reason": None, "reviewed_ms": None}
        self._change(
            event.ref,
            owner_id=event.owner_id,
            profile=event.profile,
            review=event.review,
            updated_ms=event.at_ms,
            **fields,
        )

    def _listing_reviewed(self, event: ev.ListingReviewed) -> None:
        self._change(event.ref, review=event.review, reason=event.reason, reviewed_ms=event.at_ms)

    def _listing_removed(self, event: ev.ListingRemoved) -> None:
        row = self._listings.pop(event.ref, None)
        if row is None:
            return
        self._forget_grants(row)
        del self._refs[bisect_left(self._refs, event.ref)]
        self._deliveries.removed(event.ref)
        self._votes.remove_listing(event.ref)

    def _key_saved(self, event: ev.KeySaved) -> None:
        row = self._listings.get(event.ref)
        if row is None:
            return
        known = any(key.id == event.key.id for key in row.keys)
        keys: tuple[Key, ...]
        if known:
            keys = tuple(event.key if key.id == event.key.id else key for key in row.keys)
        else:
            keys = (*row.keys, event.key)
        self._put(replace(row, keys=keys))

    def _key_deleted(self, event: ev.KeyDeleted) -> None:
        row = self._listings.get(event.ref)
        if row is not None:
            self._put(replace(row, keys=tuple(key for key in row.keys if key.id != event.key_id)))

    def _stats_updated(self, event: ev.StatsUpdated) -> None:
        self._change(
            event.ref,
            server_count=event.server_count,
            command_count=event.command_count,
            counts_ms=event.at_ms,
            stats_window=event.window,
        )

    def _actual_count_set(self, event: ev.ActualCountSet) -> None:
        self._change(event.ref, actual_server_count=event.server_count)

    def _limits_set(self, event: ev.LimitsSet) -> None:
        self._change(event.ref, stats_limit=event.stats, voters_limit=event.voters)

    def _webhook_saved(self, event: ev.WebhookSaved) -> None:
        self._change(event.ref, webhook=event.webhook)

    def _webhook_removed(self, event: ev.WebhookRemoved) -> None:
        self._change(event.ref, webhook=None)
        self._deliveries.removed(event.ref)

    def _endpoint_health_set(self, event: ev.EndpointHealthSet) -> None:
        row = self._listings.get(event.ref)
        if row is not None and row.webhook is not None:
            webhook = replace(row.webhook, failed=event.failed, suspension=event.suspension)
            self._put(replace(row, webhook=webhook))

    def _vote_cast(self, event: ev.VoteCast) -> None:
        if event.ref in self._listings:
            self._votes.put(event.ref, int(event.user), event.count, event.at_ms)

    def _user_erased(self, event: ev.UserErased) -> None:
        for ref in event.refs:
            self._changing(ref)
            self._votes.remove(ref, int(event.user))
            self._deliveries.erased(ref, event.user)

    def _delivery_queued(self, event: ev.DeliveryQueued) -> None:
        if event.ref in self._listings:
            self._deliveries.queued(event)

    def _delivery_attempted(self, event: ev.DeliveryAttempted) -> None:
        self._deliveries.attempted(event)

    def _delivery_dropped(self, event: ev.DeliveryDropped) -> None:
        self._deliveries.dropped(event)

    # -- snapshots -------------------------------------------------------------------------------------

    def copy_rows(self) -> RowCopy:
        """A copy of all rows as they are now, to be ended by `end_copy`; one at a time."""
        self._copy = RowCopy(self._refs, self._rows_of)
        return self._copy

    def _rows_of(self, ref: str) -> Rows:
        return Rows(self._listings.get(ref), tuple(self._deliveries.of(ref)))

    def end_copy(self, copy: RowCopy) -> None:
        if self._copy is copy:  # one given up may be ended late, when another is under way
            self._copy = None

    def load(self, rows: Iterable[Listing | Delivery]) -> None:
        """Takes rows as a copy gave them; `loaded` has to follow the last ones."""
        for row in rows:
            if isinstance(row, Listing):
                self._listings[row.ref] = row
                self._grant(row)
            else:
                self._deliveries.load(row)

    def load_votes(self, leaves: Iterable[tuple[str, bytes]]) -> None:
        """Takes leaves, each behind those of its listing that came before it."""
        listings = self._listings  # whose refs are the one string for all tables
        self._votes.load((listings[ref].ref if ref in listings else ref, leaf) for ref, leaf in leaves)

    def loaded(self) -> None:
        self._refs[:] = sorted(self._listings)
        self._digest.all_changed(self._listings)

    # -- the digest ------------------------------------------------------------------------------------

    def digest(self) -> str:
        """A digest of everything held, equal for equal states whatever led to them (hex, 128 bits)."""
        return self._digest.value(self._digested)

    def refresh_digest(self) -> Iterator[None]:
        """Does nearly all of the next digest's work, in slices: to be run through before it."""
        return self._digest.refresh(self._digested)

    def _digested(self, ref: str) -> Iterator[bytes] | None:
        return self._parts_of(ref) if ref in self._listings else None

    def _parts_of(self, ref: str) -> Iterator[bytes]:
        yield _row_bytes(self._listings[ref])
        yield from map(_row_bytes, sorted(self.deliveries(ref), key=lambda row: row.id))
        # Leaves are as history has left them: all users come first, then all votes, so that no cut shows.
        for leaf in leaves_of(self.votes, ref):
            yield leaf[: len(leaf) // 2]
        for leaf in leaves_of(self.votes, ref):
            yield leaf[len(leaf) // 2 :]


_row_bytes = msgspec.json.Encoder(order="deterministic").encode

_APPLY: Mapping[type[msgspec.Struct], Callable[[State, Any], None]] = {
    ev.ListingSaved: State._listing_saved,
    ev.ListingReviewed: State._listing_reviewed,
    ev.ListingRemoved: State._listing_removed,
    ev.KeySaved: State._key_saved,
    ev.KeyDeleted: State._key_deleted,
    ev.StatsUpdated: State._stats_updated,
    ev.ActualCountSet: State._actual_count_set,
    ev.LimitsSet: State._limits_set,
    ev.WebhookSaved: State._webhook_saved,
    ev.WebhookRemoved: State._webhook_removed,
    ev.EndpointHealthSet: State._endpoint_health_set,
    ev.VoteCast: State._vote_cast,
    ev.UserErased: State._user_erased,
    ev.DeliveryQueued: State._delivery_queued,
    ev.DeliveryAttempted: State._delivery_attempted,
    ev.DeliveryDropped: State._delivery_dropped,
}
