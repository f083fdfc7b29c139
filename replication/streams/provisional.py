"""Votes that a node takes before it knows that it is who it was. Law: each counts, whoever the node is then.

A node counts under its label, and of a label the greatest count stands. So two that count under one label
take votes from each other: an older copy of a data folder, and the node that it was copied of. Such a node
begins a new epoch as soon as it sees what was told under its name. What it has counted by then, since it
started, is moved to its new label.
"""

import asyncio
from collections.abc import Callable, Sequence
from itertools import islice

from core.events import Event, ListingRemoved, UserErased, VoteCast, VotesMerged, VotesMoved
from core.ledger import Ledger
from core.votes import Votes

MOVED_AT_ONCE = 256
_OTHER, _OWN = 0, 1


class Tentative:
    def __init__(self, ledger: Ledger, new_table: Callable[[], Votes]) -> None:
        """`new_table` makes an empty table of votes."""
        self._ledger = ledger
        self._new_table = new_table
        self._is_over = False
        self._label: str | None = None
        """Under which the votes were counted, once they are to be moved."""
        self._begin()

    def _begin(self) -> None:
        self._refs: set[str] = set()
        self._cast = self._new_table()  # how often since the start
        self._before = self._new_table()  # what the count was at the start
        self._heard = self._new_table()  # what others told of the label meanwhile

    def settle(self) -> None:
        """The node is who it was: its votes count as they are."""
        self._is_over = True
        self._begin()

    def disown(self, label: str) -> None:
        """What was counted under the label is to be moved to the one that the node has now."""
        if not self._is_over and self._label is None:
            self._label = label

    async def move(self) -> None:
        """Moves what is to be moved, if anything is. Raises Unavailable, and goes on the next time."""
        if self._label is None:
            return
        while self._refs:
            ref = next(iter(self._refs))
            while some := list(islice(self._cast.votes(ref), MOVED_AT_ONCE)):
                users = tuple(self._moved(ref, user, cast) for user, cast, _ in some)
                self._ledger.commit([VotesMoved(ref, self._label, users)])
                for user, _, _ in some:
                    self._cast.remove(ref, user)
                await asyncio.sleep(0)
            self._refs.discard(ref)
        self._label = None
        self.settle()

    def _moved(self, ref: str, user: int, cast: int) -> tuple[int, int, int]:
        """(user, the count that stays under the old label, that under the new one)."""
        state = self._ledger.state
        before, _ = self._before.get(ref, user) or (0, 0)
        heard = self._heard.parts(ref, user).get(_OWN, 0)
        return user, max(before, heard), cast + state.votes.parts(ref, user).get(state.fleet.own, 0)

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if self._is_over:
            return
        for event in events:
            match event:
                case VoteCast(node="") if self._label is None:
                    self._note(event)
                case VotesMerged():
                    self._note_merged(event)
                case UserErased():
                    for ref in event.refs:
                        self._forget(ref, int(event.user))
                case ListingRemoved():
                    for table in (self._cast, self._before, self._heard):
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
        label = self._label or self._ledger.state.fleet.label
        if label in event.nodes and event.leaf:
            numbers = [_OWN if node == label else _OTHER for node in event.nodes]
            self._heard.merge(event.ref, event.leaf, numbers)
        for user, node, count, last_ms in event.parts:
            if node == label:
                self._heard.put(event.ref, user, count, last_ms, _OWN)

    def _forget(self, ref: str, user: int) -> None:
        for table in (self._cast, self._before, self._heard):
            table.remove(ref, user)
