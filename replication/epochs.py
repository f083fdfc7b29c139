"""The node id, a name and an epoch, and the change to a new epoch.

Invariant: no node id is ever used for two histories, and a later one is greater.

A node begins a new epoch when its journal is not the one that the others know under its node id: the folder
is new, restored or a copy, or another process has written to the stream. So two journals never share a node
id for long.
"""

import asyncio
import logging
from collections.abc import Sequence
from itertools import islice

from core import events as ev
from core.clock import Clock, month_of_day
from core.fleet_table import FleetView, label_of, name_and_epoch
from core.ledger import Ledger
from core.vote_counts import DAYS, MONTHS, clamped_day
from core.vote_table import VoteTable

log = logging.getLogger(__name__)


def node_id_at_start(fleet: FleetView, name: str, now_ms: int) -> str | None:
    """Return the node id to take at the start; None if the node has the right one already."""
    if not fleet.label:
        return label_of(name, now_ms)
    known_name, epoch = name_and_epoch(fleet.label)
    if known_name == name and not fleet.is_copy:
        return None
    return later_node_id(name, epoch, now_ms)


def later_node_id(name: str, epoch: int, now_ms: int) -> str:
    """Return the node id of a new epoch behind `epoch`."""
    return label_of(name, max(now_ms, epoch + 1))


MOVED_AT_ONCE = 256
_OTHER, _OWN = 0, 1


class _Counted:
    """Votes of a day or a month: counted since the start, at the start, and as others sent them."""

    __slots__ = ("before", "cast", "received")

    def __init__(self) -> None:
        self.cast = self.before = self.received = 0


class Identity:
    """The node id of this node, and the votes that it takes before the node id is confirmed.

    Invariant: each vote counts, whatever id the node gets.

    A node counts votes under its node id, and of one node id the greatest count wins. So two nodes that count
    under one node id take votes from each other: a copy of a data folder, and its original. As soon as a node
    sees that the others know another journal under its node id, it begins a new epoch. The votes that it has
    counted by then, since its start, move to the new node id.

    The number of votes that it has removed by then, by day and month, stays under the old one. That is
    wrong only if the original has removed votes of the same day since the copy was made: then the greater
    number alone counts.
    """

    def __init__(self, name: str, ledger: Ledger, clock: Clock) -> None:
        self._name = name
        self._ledger = ledger
        self._clock = clock
        self._is_confirmed = False
        self._old_id: str | None = None
        """The node id that the votes move away from."""
        self._clear()

    @property
    def epoch(self) -> int:
        return name_and_epoch(self._ledger.state.fleet.label)[1]

    async def begin_epoch(self, after: int) -> None:
        """Take a node id of a later epoch than `after`, and move the votes. Raises Unavailable."""
        log.warning("the stream of node %s is ahead of its data: they are older, or others", self._name)
        before = self._ledger.state.fleet.label
        self._ledger.commit([ev.NodeNamed(later_node_id(self._name, after, self._clock.now_ms()))])
        if not self._is_confirmed and self._old_id is None:
            self._old_id = before
        await self.move_votes()

    def _clear(self) -> None:
        self._refs: set[str] = set()
        self._cast = VoteTable()  # counted since the start
        self._before = VoteTable()  # the counts at the start
        self._received = VoteTable()  # the counts that others sent of the node id meanwhile
        self._counts: dict[str, dict[tuple[int, int], _Counted]] = {}
        """The same three of votes by day and month: by ref, then by (DAYS or MONTHS, key)."""

    def confirm(self) -> None:
        """The others know this journal, or none, under the node id: the votes count as they are."""
        self._is_confirmed = True
        self._clear()

    async def move_votes(self) -> None:
        """Move the votes from before the new epoch. Raises Unavailable; the next call goes on."""
        if self._old_id is None:
            return
        while self._refs:
            ref = next(iter(self._refs))
            while some := list(islice(self._cast.votes(ref), MOVED_AT_ONCE)):
                users = tuple(self._moved(ref, user, cast) for user, cast, _ in some)
                self._ledger.commit([ev.VotesMoved(ref, self._old_id, users)])
                for user, _, _ in some:
                    self._cast.remove(ref, user)
                await asyncio.sleep(0)
            self._move_counts(ref)
            self._refs.discard(ref)
        self._old_id = None
        self.confirm()

    def _moved(self, ref: str, user: int, cast: int) -> tuple[int, int, int]:
        """Return (user, the count that stays under the old node id, the count under the new one)."""
        state = self._ledger.state
        before, _ = self._before.get(ref, user) or (0, 0)
        received = self._received.parts(ref, user).get(_OWN, 0)
        return user, max(before, received), cast + state.votes.parts(ref, user).get(state.fleet.own, 0)

    def _move_counts(self, ref: str) -> None:
        """Move the votes by day and month as those of users: the votes are moved by now."""
        state, moved = self._ledger.state, dict[int, list[tuple[int, int, int]]]({DAYS: [], MONTHS: []})
        for (kind, key), counted in sorted(self._counts.get(ref, {}).items()):
            if counted.cast:
                here = state.vote_counts.by_key(ref, state.fleet.own, kind, key)
                moved[kind].append((key, max(counted.before, counted.received), counted.cast + here))
        if moved[DAYS] and self._old_id is not None:
            days, months = tuple(moved[DAYS]), tuple(moved[MONTHS])
            self._ledger.commit([ev.VotesMoved(ref, self._old_id, days=days, months=months)])
        self._counts.pop(ref, None)

    def on_record(self, _: int, events: Sequence[ev.Event]) -> None:
        """Read a committed record."""
        if self._is_confirmed:
            return
        for event in events:
            match event:
                case ev.VoteCast(node="") if self._old_id is None:
                    self._note(event)
                case ev.VotesMerged():
                    self._note_merged(event)
                case ev.VoteCountsMerged():
                    self._note_merged_counts(event)
                case ev.UserErased() | ev.VotesRemoved() | ev.ListingRemoved():
                    self._note_gone(event)
                case _:
                    pass

    def _note_gone(self, event: ev.UserErased | ev.VotesRemoved | ev.ListingRemoved) -> None:
        match event:
            case ev.UserErased():
                for ref in event.refs:
                    self._forget(ref, int(event.user))
            case ev.VotesRemoved():
                for user in event.users:
                    self._forget(event.ref, int(user))
            case ev.ListingRemoved():
                for table in (self._cast, self._before, self._received):
                    table.remove_listing(event.ref)
                self._counts.pop(event.ref, None)

    def _note(self, event: ev.VoteCast) -> None:
        user = int(event.user)
        known = self._cast.get(event.ref, user)
        if known is None:
            self._before.put(event.ref, user, event.count - 1, event.at_ms)
        self._cast.put(event.ref, user, (known[0] if known is not None else 0) + 1, event.at_ms)
        self._refs.add(event.ref)
        if event.of_day:
            day = clamped_day(event.at_ms)
            self._note_count(event.ref, DAYS, day, event.of_day)
            self._note_count(event.ref, MONTHS, month_of_day(day), event.of_month)

    def _note_count(self, ref: str, kind: int, key: int, count: int) -> None:
        counted = self._counted(ref, kind, key)
        if not counted.cast:
            counted.before = count - 1
        counted.cast += 1

    def _counted(self, ref: str, kind: int, key: int) -> "_Counted":
        return self._counts.setdefault(ref, {}).setdefault((kind, key), _Counted())

    def _note_merged_counts(self, event: ev.VoteCountsMerged) -> None:
        node_id = self._old_id or self._ledger.state.fleet.label
        for told in event.counts:
            if told.node == node_id:
                for kind, counts in ((DAYS, told.days), (MONTHS, told.months)):
                    for key, count in counts:
                        counted = self._counted(event.ref, kind, key)
                        counted.received = max(count, counted.received)

    def _note_merged(self, event: ev.VotesMerged) -> None:
        node_id = self._old_id or self._ledger.state.fleet.label
        if node_id in event.nodes and event.leaf:
            numbers = [_OWN if node == node_id else _OTHER for node in event.nodes]
            self._received.merge(event.ref, event.leaf, numbers)
        for user, node, count, last_ms in event.parts:
            if node == node_id:
                self._received.put(event.ref, user, count, last_ms, _OWN)

    def _forget(self, ref: str, user: int) -> None:
        for table in (self._cast, self._before, self._received):
            table.remove(ref, user)
