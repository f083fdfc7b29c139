"""Votes that a node takes before its node id is confirmed. Law: each of them counts, whatever the node id
becomes.

A node counts votes under its node id, and of one node id the greatest count wins. So two nodes that count
under one node id take votes from each other: a copy of a data folder, and its original. The copy begins a
new epoch as soon as it reads what was sent under its node id. The votes that it has counted by then, since
its start, move to the new node id.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from core.events import Event, ListingRemoved, UserErased, VoteCast, VotesMerged, VotesMoved
from core.ledger import Ledger
from core.vote_port import VoteStore

MOVED_AT_ONCE = 256
_OTHER, _OWN = 0, 1


class ProvisionalVotes:
    def __init__(self, ledger: Ledger, new_table: Callable[[], VoteStore]) -> None:
        """`new_table` returns an empty table of votes."""
        self._ledger = ledger
        self._new_table = new_table
        self._is_confirmed = False
        self._old_id: str | None = None
        """The node id that the votes move away from."""
        self._clear()

    def _clear(self) -> None:
        self._refs: set[str] = set()
        self._cast = self._new_table()  # counted since the start
        self._before = self._new_table()  # the counts at the start
        self._received = self._new_table()  # the counts that others sent of the node id meanwhile

    def confirm(self) -> None:
        """The node id is right: the votes count as they are."""
        self._is_confirmed = True
        self._clear()

    def disown(self, old_id: str) -> None:
        """Mark the votes under the old node id: `move` moves them to the present one."""
        if not self._is_confirmed and self._old_id is None:
            self._old_id = old_id

    async def move(self) -> None:
        """Move the votes that are marked. Raises Unavailable; the next call goes on."""
        if self._old_id is None:
            return
        while self._refs:
            ref = next(iter(self._refs))
            while some := list(islice(self._cast.votes(ref), MOVED_AT_ONCE)):
                users = tuple(self._moved(ref, user, cast) for user, cast, _ in some)
                self._ledger.commit([VotesMoved(ref, self._old_id, users)])
                for user, _, _ in some:
                    self._cast.remove(ref, user)
                await asyncio.sleep(0)
            self._refs.discard(ref)
        self._old_id = None
        self.confirm()

    def _moved(self, ref: str, user: int, cast: int) -> tuple[int, int, int]:
        """Return (user, the count that stays under the old node id, the count under the new one)."""
        state = self._ledger.state
        before, _ = self._before.get(ref, user) or (0, 0)
        received = self._received.parts(ref, user).get(_OWN, 0)
        return user, max(before, received), cast + state.votes.parts(ref, user).get(state.fleet.own, 0)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if self._is_confirmed:
            return
        for event in events:
            match event:
                case VoteCast(node="") if self._old_id is None:
                    self._note(event)
                case VotesMerged():
                    self._note_merged(event)
                case UserErased():
                    for ref in event.refs:
                        self._forget(ref, int(event.user))
                case ListingRemoved():
                    for table in (self._cast, self._before, self._received):
                        table.remove_listing(event.ref)
                case _:
                    pass

    def _note(self, event: VoteCast) -> None:
        user = int(event.user)
        known = self._cast.get(event.ref, user)
        if known is None:
            self._before.put(event.ref, user, event.count - 1, event.at_ms)
        self._cast.put(event.ref, user, (known[0] if known is not None else 0) + 1, event.at_ms)
        self._refs.add(event.ref)

    def _note_merged(self, event: VotesMerged) -> None:
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
