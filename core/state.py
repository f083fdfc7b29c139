"""The state of a node: its tables, and the one function that changes them.

Invariant: `apply` never fails, asks or decides. Rules have decided before an event exists, so it takes any
event at any time. An event about something gone, or one that is applied already, changes nothing.

    event ---> apply ---> listings     rows, refs in order, grants of API keys
                          deliveries   pending ones and the log of finished ones
                          votes        the vote table
                          vote_counts  votes by listing, day and month
                          users        rows of people, and whose a session is
                          cooldowns    those of votes that are gone: erased, or removed
                          fleet        this node's label, and what it has heard of others

Everybody else reads: the tables are views of frozen rows by type. Before a listing or a user changes, or
anything that hangs on it, `apply` tells the digests, the copy under way, and the orders of lists, in
`_changing`.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from msgspec.structs import replace

from core import audit_log
from core import events as ev
from core.actors import user_actor
from core.changes import Changes
from core.delivery_table import DeliveriesView, DeliveryTable
from core.digest import Canonical, Digest
from core.events import (
    DeliveryAttempted,
    DeliveryDropped,
    DeliveryQueued,
    EndpointHealthSet,
    StatsUpdated,
    VoteCast,
)
from core.fleet_table import Cooldown, CooldownTable, FleetTable, FleetView
from core.listing_changes import changed, saved
from core.listing_table import ListingsView, ListingTable
from core.push_history import joined_histories
from core.row_copy import AllRefs, RowCopy, Rows, SomeRefs
from core.rows import Delivery, FleetRow, Listing, Stamp
from core.sharing import newest_ms, shared
from core.user_changes import changed_user, newest_ms_of_user, without_actor, without_endings
from core.user_rows import USERS, UserRow, user_ref
from core.user_table import UsersView, UserTable
from core.vote_counts import DAYS, MONTHS, VoteCounts, VoteCountsView, clamped_day
from core.vote_table import MAX_COUNT, VotesView, VoteTable, counted_in
from kinds.registry import BY_PLURAL

_OfNoSingleRef = ev.UserErased | ev.CooldownsKept | ev.NodeNamed | ev.Merged
"""The events about several listings and users, or about the node."""


def _is_liked(ref: str) -> bool:
    """Return true for a listing that gets likes. Refs of unknown kinds come from newer nodes."""
    kind = BY_PLURAL.get(ref.partition("/")[0])
    return kind is not None and kind.has("likes")


def _most_votes(ref: str) -> int:
    """Return the greatest count of a user for a listing."""
    return 1 if _is_liked(ref) else MAX_COUNT


class State:
    def __init__(self, deliveries_kept: int) -> None:
        """`deliveries_kept` is the number of finished deliveries that stay, for each listing."""
        self._listings = ListingTable()
        self._deliveries = DeliveryTable(deliveries_kept)
        self._votes = VoteTable(_most_votes)
        self._vote_counts = VoteCounts(self._votes)
        self._users = UserTable()
        self._cooldowns = CooldownTable()
        self._fleet = FleetTable()
        canonical = Canonical(
            self._listings, self._deliveries, self._votes, self._vote_counts, self._users, self._fleet
        )
        self._digest = Digest(canonical.whole)
        self._shared_digest = Digest(canonical.shared)
        self._copy: RowCopy | None = None
        self._changes: Changes | None = None
        self.before_change: list[Callable[[str], None]] = []
        """Called with the ref of a listing or a user before it changes, or what hangs on it."""
        self._loaded_refs: dict[str, str] = {}
        """The refs of listings during a load, so that all tables share one string for each."""

        self.listings: ListingsView = self._listings
        self.deliveries: DeliveriesView = self._deliveries
        self.votes: VotesView = self._votes
        self.vote_counts: VoteCountsView = self._vote_counts
        self.users: UsersView = self._users
        self.cooldowns: Mapping[str, int] = self._cooldowns.ends
        self.fleet: FleetView = self._fleet

    # -- events ----------------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        # The frequent events come first, and by `is`: a recovery folds millions of them, and a class pattern
        # that does not match takes 0.2 us. mypy proves that no event is missed, because these are final.
        if type(event) is VoteCast:
            self._cast_vote(event)
        elif type(event) is DeliveryQueued:
            self._changing(event.ref)
            if event.ref in self._listings:
                self._deliveries.queue(event)
        elif type(event) is DeliveryAttempted:
            self._changing(event.ref)
            self._deliveries.attempt(event)
        elif type(event) is StatsUpdated or type(event) is EndpointHealthSet:
            self._changing(event.ref)
            self._change(event)
        elif type(event) is DeliveryDropped:
            self._changing(event.ref)
            self._deliveries.give_up(event)
        else:
            self._apply_rare(event)

    def _apply_rare(self, event: ev.RareEvent) -> None:  # noqa: C901 (a case for each event, and none is forgotten)
        if isinstance(event, ev.RowEvent):
            self._changing(event.ref)
            self._change(event)
            if isinstance(event, ev.VotesRemoved):
                self._remove_votes(event)
            elif isinstance(event, ev.SlotsSet) and event.webhook is None:
                self._deliveries.remove_listing(event.ref)
            return
        if isinstance(event, ev.UserEvent):
            self._changing(event.ref)
            self._change_user(event)
            return
        if not isinstance(event, _OfNoSingleRef):
            self._changing(event.ref)
        match event:
            case ev.ListingSaved():
                self._save_listing(event)
            case ev.ListingRemoved():
                self._remove_listing(event)
            case ev.EndingsForgotten():
                if (user := self._users.get(event.ref)) is not None:
                    self._users.put(without_endings(user, event.before_ms))
            case ev.UserDropped():
                self._users.remove(event.ref)
            case ev.UserErased():
                self._erase_user(event)
            case ev.CooldownsKept():
                self._cooldowns.keep(event.cooldowns, event.at_ms)
            case _:
                self._apply_of_fleet(event)

    def _apply_of_fleet(self, event: ev.FleetEvent) -> None:  # noqa: C901 (as above)
        match event:
            case ev.NodeNamed():
                self._name_node(event)
            case ev.Merged():
                if event.label:
                    self._fleet.heard(event.label, event.position)
            case ev.ListingMerged():
                self._merge_listing(event)
            case ev.UserMerged():
                self._merge_user(event)
            case ev.VotesMerged():
                self._merge_votes(event)
            case ev.VotesMoved():
                self._move_votes(event)
            case ev.VoteCountsMerged():
                self._merge_vote_counts(event)
            case ev.DeliveryTaken():
                self._deliveries.take_over(event)
            case ev.DeliveryMerged():
                if event.ref in self._listings:
                    self._deliveries.merge(event.row)
            case ev.DeliveryForgotten():
                self._deliveries.forget(event)
            case _:
                assert_never(event)

    def _changing(self, ref: str) -> None:
        """Comes before any change to the listing, or to what hangs on it, or to the user."""
        self._digest.changed(ref)
        if self._fleet.label:
            self._shared_digest.changed(ref)
        if self._copy is not None:
            self._copy.changing(ref)
        if self._changes is not None:
            self._changes.refs.add(ref)
        for tell in self.before_change:
            tell(ref)

    def _stamp(self, ms: int) -> Stamp | None:
        """Return the stamp of a change; None outside of a fleet, where events have no time of a stamp."""
        return self._fleet.stamp(ms) if ms else None

    def _change(self, event: ev.RowEvent) -> None:
        row = self._listings.get(event.ref)
        if row is not None:
            stamp = self._stamp(event.stamp_ms) if isinstance(event, ev.Stamped) else None
            self._listings.put(changed(row, event, stamp))

    def _save_listing(self, event: ev.ListingSaved) -> None:
        before = self._listings.get(event.ref)
        self._listings.put(saved(before, event, self._stamp(event.stamp_ms)))

    def _remove_listing(self, event: ev.ListingRemoved) -> None:
        if event.stamp_ms:
            self._fleet.removed_at(event.ref, event.stamp_ms)
        self._listings.remove(event.ref)
        self._deliveries.remove_listing(event.ref)
        self._votes.remove_listing(event.ref)
        self._vote_counts.remove(event.ref)

    def _cast_vote(self, event: VoteCast) -> None:
        ref = event.ref
        self._changing(ref)
        is_listed = ref in self._listings
        if is_listed or event.node:
            number = self._fleet.number(event.node) if event.node else self._fleet.own
            if event.of_day:  # of nearly all votes, and of no like
                self._votes.put(ref, int(event.user), event.count, event.at_ms, number)
                day = event.day or clamped_day(event.at_ms)
                self._vote_counts.count(ref, number, day, event.of_day, event.of_month)
            else:
                before_ms = self._like_ms(ref, event.user)
                self._votes.put(ref, int(event.user), event.count, event.at_ms, number)
                self._vote_counts.follow(ref, before_ms, self._like_ms(ref, event.user))
        if not is_listed and event.node:
            self._listings.voted_for(ref)

    def _like_ms(self, ref: str, user: str) -> int | None:
        """Return the time of a like; None if there is none, or if the listing gets votes."""
        vote = self._votes.get(ref, int(user)) if _is_liked(ref) else None
        return vote[1] if vote is not None else None

    def _remove_vote(self, ref: str, user: str) -> None:
        before_ms = self._like_ms(ref, user)
        self._votes.remove(ref, int(user))
        self._vote_counts.follow(ref, before_ms, None)

    def _remove_votes(self, event: ev.VotesRemoved) -> None:
        for user in event.users:
            self._remove_vote(event.ref, user)
        self._votes_went(event.ref)
        if event.of_all and event.ref in self._listings:
            self._vote_counts.take_away(event.ref, self._fleet.own, event.days, event.of_all)
        if event.stamp_ms:
            self._fleet.votes_removed_at(event.ref, event.users, event.stamp_ms)

    def _erase_user(self, event: ev.UserErased) -> None:
        if event.pseudonym:
            self._fleet.erased_at(event.pseudonym, event.stamp_ms, event.user)
        for ref in event.refs:
            self._changing(ref)
            if ref.startswith(USERS):
                self._erase_from_user(ref, event)
            else:
                self._erase_from_listing(ref, event)

    def _erase_from_listing(self, ref: str, event: ev.UserErased) -> None:
        self._remove_vote(ref, event.user)
        self._votes_went(ref)
        self._deliveries.erase(ref, event.user)
        row = self._listings.get(ref)
        if row is not None:
            self._listings.put(audit_log.without_actor(row, user_actor(event.user), event.stamp_ms or None))

    def _votes_went(self, ref: str) -> None:
        """Forget a ref without a row whose last votes went: a snapshot has nothing of it either."""
        if ref not in self._listings and not self._votes.voters(ref) and not self._vote_counts.rows(ref):
            self._listings.not_voted_for(ref)

    def _erase_from_user(self, ref: str, event: ev.UserErased) -> None:
        row = self._users.get(ref)
        if ref == user_ref(event.user):
            self._users.remove(ref)
        elif row is not None:
            self._users.put(without_actor(row, user_actor(event.user), event.stamp_ms or None))

    def _change_user(self, event: ev.UserEvent) -> None:
        stamp = self._stamp(event.stamp_ms) if isinstance(event, ev.Stamped) else None
        row = changed_user(self._users.get(event.ref), event, stamp)
        if row is not None:
            self._users.put(row)

    # -- events about other nodes ----------------------------------------------------------------------

    def _name_node(self, event: ev.NodeNamed) -> None:
        before = self._fleet.label
        self._fleet.named(event.label)
        self._shared_digest.all_changed((*self._listings, *self._users))
        if before and before != event.label:
            for row in list(self._listings.values()):
                is_sender = row.message is not None and not row.message.node
                if row.window is not None or is_sender or row.own_downloads:
                    self._changing(row.ref)
                    self._listings.put(replace(shared(row, before), webhook=row.webhook))

    def _merge_listing(self, event: ev.ListingMerged) -> None:
        row, known = event.row, self._listings.get(event.ref)
        if known is not None:
            row = replace(row, pushed=joined_histories(known.pushed, row.pushed))
        self._fleet.stamped(newest_ms(row))
        self._listings.put(row)

    def _merge_user(self, event: ev.UserMerged) -> None:
        self._fleet.stamped(newest_ms_of_user(event.row))
        self._users.put(event.row)

    def _merge_votes(self, event: ev.VotesMerged) -> None:
        numbers = [self._fleet.number(label) for label in event.nodes]
        self._votes.merge(event.ref, event.leaf, numbers)
        for user, label, count, last_ms in event.parts:
            self._votes.put(event.ref, user, count, last_ms, self._fleet.number(label))
        if _is_liked(event.ref):
            self._vote_counts.recount_likes(event.ref)
        if event.leaf or event.parts:
            self._listings.voted_for(event.ref)

    def _move_votes(self, event: ev.VotesMoved) -> None:
        other, own = self._fleet.number(event.label), self._fleet.own
        for user, kept, count in event.users:
            vote = self._votes.get(event.ref, user)
            if vote is None:
                continue
            parts = {**self._votes.parts(event.ref, user), other: kept}
            parts[own] = max(count, parts.get(own, 0))
            self._votes.remove(event.ref, user)  # because a put only lets counts grow
            for node, part in parts.items():
                if part:
                    self._votes.put(event.ref, user, part, vote[1], node)
        if _is_liked(event.ref):
            self._vote_counts.recount_likes(event.ref)
        moved = [(DAYS, *each) for each in event.days] + [(MONTHS, *each) for each in event.months]
        if moved:
            self._vote_counts.move(event.ref, other, own, moved)

    def _merge_vote_counts(self, event: ev.VoteCountsMerged) -> None:
        for counts in event.counts:
            self._vote_counts.merge(event.ref, self._fleet.number(counts.node), counts)
        if self._vote_counts.rows(event.ref):
            self._listings.voted_for(event.ref)

    # -- snapshots -------------------------------------------------------------------------------------

    def take_changes(self) -> Changes | None:
        """Return what has changed since the last call, and note from now on what changes. None: nothing was
        noted until now."""
        noted = self._changes
        self._changes = self._votes.changes = self._deliveries.changes = Changes()
        return noted

    def give_back(self, changes: Changes) -> None:
        """Take changes back that no snapshot has written."""
        if self._changes is not None:
            changes.add(self._changes)
        self._changes = self._votes.changes = self._deliveries.changes = changes

    def copy_rows(self, changes: Changes | None = None) -> RowCopy:
        """Begin a copy of all rows as they are now, or of those that have changed. `end_copy` must end it;
        there is one at a time."""
        if changes is None:
            self._copy = RowCopy(AllRefs((self._listings.refs, self._users.refs)), self._rows_of)
        else:
            self._copy = RowCopy(SomeRefs(changes.refs), lambda ref: self._changed_rows_of(ref, changes))
        return self._copy

    def _rows_of(self, ref: str) -> Rows:
        if ref.startswith(USERS):
            return Rows(ref, self._users.stored(ref))
        deliveries, counts = tuple(self._deliveries.of(ref)), self._vote_counts.rows(ref)
        return Rows(ref, self._listings.stored(ref), deliveries, counts)

    def _changed_rows_of(self, ref: str, changes: Changes) -> Rows:
        rows, finished = self._rows_of(ref), len(self._deliveries.finished.get(ref, ()))
        kept = changes.kept(ref, finished) if finished else 0
        return rows._replace(deliveries=rows.deliveries[kept:], kept=kept)

    def unlisted_counts(self) -> list[tuple[str, Sequence[bytes]]]:
        """Return the counts of listings that are not here: a copy of rows leaves them out."""
        return [(ref, rows) for ref in self._listings.unlisted if (rows := self._vote_counts.rows(ref))]

    def end_copy(self, copy: RowCopy) -> None:
        if self._copy is copy:  # a copy that was given up may end late, when another one is under way
            self._copy = None

    def load(self, rows: Iterable[Listing | Delivery | UserRow]) -> None:
        """Take rows of a copy. After all loads, `loaded` must follow."""
        for row in rows:
            if isinstance(row, Listing):
                self._listings.load(row)
                self._loaded_refs[row.ref] = row.ref
            elif isinstance(row, UserRow):
                self._users.load(row)
            else:
                self._deliveries.load(row)

    def load_packed(
        self, refs: Sequence[str], rows: Sequence[bytes], keys: int, at_once: Sequence[str]
    ) -> None:
        """Take packed listings with their number of API keys, and unpack those of `at_once` now."""
        self._listings.load_packed(refs, rows, keys)
        self._loaded_refs.update(zip(refs, refs, strict=True))
        for ref in at_once:
            self._listings[ref]

    def load_changes(self) -> None:
        """Begin to load what has changed since the file before. The fleet's memory and cooldowns come
        whole."""
        self._cooldowns.clear()

    def unload(self, rows: Iterable[tuple[str, int]]) -> None:
        """Forget the rows of listings and users, and the counts and deliveries of these listings but for some
        finished ones: new rows follow, or none if they are gone."""
        for ref, kept in rows:
            if ref.startswith(USERS):
                self._users.unload(ref)
            else:
                self._listings.unload(ref)
                self._deliveries.unload(ref, kept)
                self._vote_counts.remove(ref)
                self._loaded_refs.pop(ref, None)

    def load_changed_votes(self, rows: Iterable[tuple[str, bytes, bytes]]) -> None:
        """Take votes in the place of those of the same users: see `VoteTable.load_changed`."""
        for ref, leaf, removed in rows:
            self._votes.load_changed(ref, leaf, removed)
            if leaf and ref not in self._loaded_refs:
                self._listings.voted_for(ref)

    def unload_votes(self, refs: Iterable[str]) -> None:
        """Forget all votes of listings: new ones follow, or none."""
        for ref in refs:
            self._votes.remove_listing(ref)

    def load_users(
        self,
        refs: Sequence[str],
        rows: Sequence[bytes],
        sessions: Sequence[Sequence[str]],
        indexed: Sequence[str],
    ) -> None:
        """Take packed users: see `core/user_table.py`."""
        self._users.load_packed(refs, rows, sessions, indexed)

    def load_votes(self, leaves: Iterable[tuple[str, bytes]], counted: Sequence[int] | None = None) -> None:
        """Take leaves; those of one listing come in the order of their users. `counted` has the sum of the
        counts in each if it is known, because summing takes time."""
        known = self._loaded_refs
        leaves = [(known.get(ref, ref), leaf) for ref, leaf in leaves]
        if counted is None:
            counted = [counted_in(leaf) for _, leaf in leaves]
        self._votes.load(leaves, counted)
        for ref in {ref for ref, _ in leaves}.difference(known):
            self._listings.voted_for(ref)

    def load_vote_counts(self, rows: Iterable[tuple[str, Sequence[bytes]]]) -> None:
        """Take counts by day and month. All listings come before them."""
        known = self._loaded_refs
        rows = [(known.get(ref, ref), each) for ref, each in rows]
        self._vote_counts.load(rows)
        for ref in {ref for ref, _ in rows}.difference(known):
            self._listings.voted_for(ref)

    def load_parts(self, parts: Iterable[tuple[str, int, dict[int, int]]]) -> None:
        """Take counts by node of users who voted at several nodes. Their leaves come before them."""
        for ref, user, counts in parts:
            for node, count in counts.items():
                self._votes.put(ref, user, count, 0, node)

    def load_cooldowns(self, cooldowns: Iterable[Cooldown]) -> None:
        self._cooldowns.keep(cooldowns, 0)

    def load_fleet(self, row: FleetRow) -> None:
        self._fleet.load(row)

    def loaded(self) -> None:
        self._loaded_refs.clear()
        for ref in [*self._listings.unlisted]:
            if ref in self._listings:
                self._listings.not_voted_for(ref)
            else:
                self._votes_went(ref)
        self._listings.loaded()
        self._users.loaded()
        self._digest.all_changed((*self._listings.refs, *self._users.refs))
        if self._fleet.label:
            self._shared_digest.all_changed((*self._listings.refs, *self._users.refs))

    # -- digests ---------------------------------------------------------------------------------------

    def digest(self) -> str:
        """Return a digest of all listings, what hangs on them, and all users (hex, 128 bits).

        It is equal for equal states.
        """
        return self._digest.value()

    def refresh_digest(self) -> Iterator[None]:
        """Do nearly all of the next digest's work, in slices."""
        return self._digest.refresh()

    def shared_digest(self) -> str:
        """Return a digest of what the nodes of a fleet have in common.

        It is equal at all nodes that have heard of the same changes, in whatever order.
        """
        listings = self._shared_digest.value()
        return hashlib.blake2b(f"{listings} {self._fleet.tombstones}".encode(), digest_size=16).hexdigest()

    def refresh_shared_digest(self) -> Iterator[None]:
        return self._shared_digest.refresh()
