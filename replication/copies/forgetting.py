"""Erased users in a copy. Law: neither side brings back whom the other one has erased.

A copy knows erased users by their marks only. Whoever takes it looks for those that it knew nothing of among
its own voters; and leaves out of the copy whom it has erased itself and the donor had not yet (`Merge`).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from core.events import Event, VoteCast
from core.ledger import Ledger
from core.votes import leaves_of
from replication.facts.applying import Applying
from replication.facts.kinds import ErasedFact, Fact
from replication.facts.merge import Erasure, Merge


class Forgetting:
    def __init__(self, ledger: Ledger, merge: Merge, applying: Applying, mark: Callable[[str], str]) -> None:
        self._state = ledger.state
        self._merge = merge
        self._applying = applying
        self._mark = mark
        self._voted: set[str] = set()
        """Who has voted since a search began."""

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        for event in events:
            if isinstance(event, VoteCast) and self._merge.donor_erased:
                self._voted.add(event.user)

    def end(self) -> None:
        """The copy is whole, or given up."""
        self._merge.donor_erased, self._voted = {}, set()

    async def without_forgotten(self, facts: Sequence[Fact], author: str) -> list[Fact]:
        """What may be merged of a piece; the donor's erasures come in the first pieces, by themselves."""
        erasures = {fact.mark: fact.ms for fact in facts if isinstance(fact, ErasedFact)}
        if erasures:
            self._merge.donor_erased = {**self._merge.donor_erased, **erasures}
            known = self._state.fleet.erased
            await self._forget({mark: ms for mark, ms in erasures.items() if ms > known.get(mark, 0)}, author)
        return [fact for fact in facts if not isinstance(fact, ErasedFact)]

    async def _forget(self, news: Mapping[str, int], author: str) -> None:
        """Erases the users of these marks, and then remembers the marks: in this order, so that a search that
        is cut off is made again."""
        if not news:
            return
        self._voted.clear()
        for ref in [*self._state.ghosts, *self._state.refs]:
            for leaf in leaves_of(self._state.votes, ref):
                await self._erase(map(str, self._state.votes.users(leaf)), news)
                await asyncio.sleep(0)
            await self._erase([row.user for row in self._state.deliveries_of(ref)], news)
        while self._voted:
            voted, self._voted = self._voted, set()
            await self._erase(voted, news)
        await self._applying.facts([ErasedFact(mark, ms) for mark, ms in news.items()], author)

    async def _erase(self, users: Iterable[str], news: Mapping[str, int]) -> None:
        for user in users:
            mark = self._mark(user)
            if mark in news:
                await self._applying.erase(Erasure(user, mark, news[mark]))
