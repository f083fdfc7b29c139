"""The in-process tables. Law: `apply` is their only writer, and it never fails, asks or decides.

Rules have decided before an event exists, so `apply` takes any event at any time: one that names something
gone is a no-op, one that is already in the state changes nothing. Everybody else reads: the tables are
`Mapping`s of frozen rows by type. The vote table is handed in, because it is a data structure of its own.
`core/state.py` makes one state of them.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from core import events as ev
from core.deliveries import Deliveries
from core.fleet import Fleet, FleetView
from core.grants import Grants
from core.packing import PackedListings
from core.rows import Delivery, KeyGrant, Listing, Revocation, Stamp, Stamps
from core.sharing import remembered, shared
from core.votes import Votes, VotesView


class Tables:
    def __init__(self, votes: Votes, deliveries_kept: int) -> None:
        self._listings = PackedListings()
        self._refs: list[str] = []
        self._grants = Grants()
        self._listings.on_unpacked(self._grants.add)
        self._votes = votes
        self._deliveries = Deliveries(deliveries_kept)
        self._fleet = Fleet()
        self._ghosts: list[str] = []

        self.listings: Mapping[str, Listing] = self._listings
        self.listings_by_ref: Mapping[str, Listing] = self._listings.by_ref  # the same, for `[ref]` alone
        self.refs: Sequence[str] = self._refs  # sorted, for paging
        self.grants: Mapping[str, KeyGrant] = self._grants.by_digest
        self.pending = self._deliveries.pending  # by delivery id
        self.finished = self._deliveries.finished  # by ref, oldest first
        self.elsewhere = self._deliveries.elsewhere  # by ref, by delivery id
        self.owners = self._deliveries.owners  # how many of these each other node has
        self.votes: VotesView = votes
        self.ghosts: Sequence[str] = self._ghosts  # sorted; votes came before their listing
        self.fleet: FleetView = self._fleet

    @property
    def key_count(self) -> int:
        return self._grants.keys + self._listings.packed_keys

    def listings_at_hand(self) -> Iterable[Listing]:
        """Those that are unpacked; all with a suspended endpoint are among them."""
        return self._listings.at_hand()

    def for_each_listing(self, call: Callable[[Listing], None]) -> None:
        """Calls `call(row)` once for each that is here: now, or when it is unpacked."""
        for row in self._listings.at_hand():
            call(row)
        self._listings.on_unpacked(call)

    def deliveries(self, ref: str) -> list[Delivery]:
        """What is kept of a listing's deliveries, pending ones included, newest first."""
        return sorted(self._deliveries.of(ref), key=lambda delivery: delivery.queued_ms)[::-1]

    def deliveries_of(self, ref: str) -> Iterator[Delivery]:
        """The same in no order."""
        return self._deliveries.of(ref)

    def delivery(self, ref: str, delivery_id: str) -> Delivery | None:
        return self._deliveries.find(ref, delivery_id)

    def waiting(self, ref: str) -> int:
        """How many of a listing's deliveries are pending, whoever is to send them."""
        return len(self._deliveries.pending_of(ref)) + len(self.elsewhere.get(ref, ()))

    def pending_of(self, ref: str) -> Mapping[str, Delivery]:
        """A listing's pending deliveries by id, oldest first."""
        return self._deliveries.pending_of(ref)

    # -- writing ---------------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        kind = type(event)
        if kind not in _OF_NO_LISTING:
            self._changing(event.ref)  # type: ignore[union-attr]  # a set of types narrows nothing
        _APPLY[kind](self, event)

    def _changing(self, ref: str) -> None:
        """Comes before any change to what hangs on the listing."""

    def _all_shared(self) -> None:
        """Comes when all that is here begins to be of a fleet."""

    def _put(self, row: Listing) -> None:
        before = self._listings.get(row.ref)
        if before is None:
            insort(self._refs, row.ref)
            self._no_ghost(row.ref)
        if before is None or before.keys is not row.keys:
            if before is not None:
                self._grants.remove(before)
            self._grants.add(row)
        self._listings.put(row)

    def _write(self, event: ev.Written, part: str, **fields: Any) -> None:
        """Changes a part of a listing that has a stamp of its own."""
        row = self._listings.get(event.ref)
        if row is not None:
            self._put(replace(row, stamps=self._stamped(row.stamps, part, event.stamp_ms), **fields))

    def _stamped(self, stamps: Stamps, part: str, ms: int) -> Stamps:
        return replace(stamps, **{part: self._stamp(ms)}) if ms else stamps

    def _stamp(self, ms: int) -> Stamp:
        self._fleet.stamped(ms)
        return Stamp(ms, self._fleet.label)

    def _listing_saved(self, event: ev.ListingSaved) -> None:
        if event.ref not in self._listings:
            stamps = self._stamped(Stamps(), "profile", event.stamp_ms)
            at_ms = event.at_ms
            self._put(
                Listing(event.ref, event.owner_id, event.profile, event.review, at_ms, at_ms, stamps=stamps)
            )
            return
        fields: dict[str, Any] = {} if event.review != "in_review" else {"reason": None, "reviewed_ms": None}
        self._write(
            event,
            "profile",
            owner_id=event.owner_id,
            profile=event.profile,
            review=event.review,
            updated_ms=event.at_ms,
            **fields,
        )

    def _listing_reviewed(self, event: ev.ListingReviewed) -> None:
        self._write(event, "profile", review=event.review, reason=event.reason, reviewed_ms=event.at_ms)

    def _listing_removed(self, event: ev.ListingRemoved) -> None:
        if event.stamp_ms:
            self._fleet.removed_at(event.ref, event.stamp_ms)
        row = self._listings.pop(event.ref)
        if row is not None:
            self._grants.remove(row)
            del self._refs[bisect_left(self._refs, event.ref)]
        self._no_ghost(event.ref)
        self._deliveries.removed(event.ref)
        self._votes.remove_listing(event.ref)

    def _key_saved(self, event: ev.KeySaved) -> None:
        row = self._listings.get(event.ref)
        if row is None:
            return
        new = replace(event.key, stamp=self._stamp(event.stamp_ms)) if event.stamp_ms else event.key
        known = any(key.id == new.id for key in row.keys)
        keys = tuple(new if key.id == new.id else key for key in row.keys) if known else (*row.keys, new)
        self._put(replace(row, keys=keys))

    def _key_deleted(self, event: ev.KeyDeleted) -> None:
        row = self._listings.get(event.ref)
        if row is None:
            return
        row = replace(row, keys=tuple(key for key in row.keys if key.id != event.key_id))
        if event.stamp_ms:
            self._fleet.stamped(event.stamp_ms)
            row = replace(row, revoked=remembered((*row.revoked, Revocation(event.stamp_ms, event.key_id))))
        self._put(row)

    def _stats_updated(self, event: ev.StatsUpdated) -> None:
        self._write(
            event,
            "counts",
            server_count=event.server_count,
            command_count=event.command_count,
            counts_ms=event.at_ms,
            stats_window=event.window,
        )

    def _actual_count_set(self, event: ev.ActualCountSet) -> None:
        self._write(event, "actual", actual_server_count=event.server_count)

    def _limits_set(self, event: ev.LimitsSet) -> None:
        self._write(event, "limits", stats_limit=event.stats, voters_limit=event.voters)

    def _webhook_saved(self, event: ev.WebhookSaved) -> None:
        self._write(event, "webhook", webhook=event.webhook)

    def _webhook_removed(self, event: ev.WebhookRemoved) -> None:
        self._write(event, "webhook", webhook=None)
        self._deliveries.removed(event.ref)

    def _endpoint_health_set(self, event: ev.EndpointHealthSet) -> None:
        row = self._listings.get(event.ref)
        if row is not None and row.webhook is not None:
            webhook = replace(row.webhook, failed=event.failed, suspension=event.suspension)
            self._put(replace(row, webhook=webhook))

    def _vote_cast(self, event: ev.VoteCast) -> None:
        is_listed = event.ref in self._listings
        if is_listed or event.node:
            number = self._fleet.number(event.node) if event.node else self._fleet.own
            self._votes.put(event.ref, int(event.user), event.count, event.at_ms, number)
        if not is_listed and event.node:
            self._maybe_ghost(event.ref)

    def _user_erased(self, event: ev.UserErased) -> None:
        if event.mark:
            self._fleet.erased_at(event.mark, event.stamp_ms)
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

    def _delivery_taken(self, event: ev.DeliveryTaken) -> None:
        self._deliveries.taken(event)

    # -- of other nodes --------------------------------------------------------------------------------

    def _node_named(self, event: ev.NodeNamed) -> None:
        before = self._fleet.label
        self._fleet.named(event.label)
        self._all_shared()
        if before and before != event.label:
            for row in list(self._listings.values()):
                if row.stats_window is not None:
                    self._changing(row.ref)
                    self._put(replace(shared(row, before), webhook=row.webhook))

    def _merged(self, event: ev.Merged) -> None:
        if event.label:
            self._fleet.heard(event.label, event.position)

    def _listing_merged(self, event: ev.ListingMerged) -> None:
        row = event.row
        stamps = (*structs.astuple(row.stamps), *(key.stamp for key in row.keys))
        self._fleet.stamped(max(stamp.ms for stamp in stamps))
        self._fleet.stamped(max((revoked.ms for revoked in row.revoked), default=0))
        self._put(row)

    def _votes_merged(self, event: ev.VotesMerged) -> None:
        numbers = [self._fleet.number(label) for label in event.nodes]
        self._votes.merge(event.ref, event.leaf, numbers)
        for user, label, count, last_ms in event.parts:
            self._votes.put(event.ref, user, count, last_ms, self._fleet.number(label))
        if event.leaf or event.parts:
            self._maybe_ghost(event.ref)

    def _votes_moved(self, event: ev.VotesMoved) -> None:
        other, own = self._fleet.number(event.label), self._fleet.own
        for user, kept, count in event.users:
            vote = self._votes.get(event.ref, user)
            if vote is None:
                continue
            parts = {**self._votes.parts(event.ref, user), other: kept}
            parts[own] = max(count, parts.get(own, 0))
            self._votes.remove(event.ref, user)  # counts only grow otherwise
            for node, part in parts.items():
                if part:
                    self._votes.put(event.ref, user, part, vote[1], node)

    def _delivery_merged(self, event: ev.DeliveryMerged) -> None:
        if event.ref in self._listings:
            self._deliveries.merged(event.row)

    def _delivery_forgotten(self, event: ev.DeliveryForgotten) -> None:
        self._deliveries.forgotten(event.ref, event.delivery_id)

    def _maybe_ghost(self, ref: str) -> None:
        if ref not in self._listings:
            at = bisect_left(self._ghosts, ref)
            if self._ghosts[at : at + 1] != [ref]:
                self._ghosts.insert(at, ref)

    def _no_ghost(self, ref: str) -> None:
        at = bisect_left(self._ghosts, ref)
        if self._ghosts[at : at + 1] == [ref]:
            del self._ghosts[at]


_OF_NO_LISTING = frozenset({ev.UserErased, ev.NodeNamed, ev.Merged})
_APPLY: Mapping[type[Struct], Callable[[Tables, Any], None]] = {
    ev.ListingSaved: Tables._listing_saved,
    ev.ListingReviewed: Tables._listing_reviewed,
    ev.ListingRemoved: Tables._listing_removed,
    ev.KeySaved: Tables._key_saved,
    ev.KeyDeleted: Tables._key_deleted,
    ev.StatsUpdated: Tables._stats_updated,
    ev.ActualCountSet: Tables._actual_count_set,
    ev.LimitsSet: Tables._limits_set,
    ev.WebhookSaved: Tables._webhook_saved,
    ev.WebhookRemoved: Tables._webhook_removed,
    ev.EndpointHealthSet: Tables._endpoint_health_set,
    ev.VoteCast: Tables._vote_cast,
    ev.UserErased: Tables._user_erased,
    ev.DeliveryQueued: Tables._delivery_queued,
    ev.DeliveryAttempted: Tables._delivery_attempted,
    ev.DeliveryDropped: Tables._delivery_dropped,
    ev.DeliveryTaken: Tables._delivery_taken,
    ev.NodeNamed: Tables._node_named,
    ev.Merged: Tables._merged,
    ev.ListingMerged: Tables._listing_merged,
    ev.VotesMerged: Tables._votes_merged,
    ev.VotesMoved: Tables._votes_moved,
    ev.DeliveryMerged: Tables._delivery_merged,
    ev.DeliveryForgotten: Tables._delivery_forgotten,
}
