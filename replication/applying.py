"""Commits of merged facts. Invariant: the cursor behind an entry moves with the last of its facts.

Facts are merged a few at a time, so that no step holds the event loop for long. Only the last record of an
entry moves the cursor. A stop before that record means that the entry is read and merged again, which changes
nothing.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from core.actors import UNKNOWN
from core.events import Event, Merged, UserErased
from core.failures import Unavailable
from core.ledger import Ledger
from replication.facts import ErasedFact, Fact
from replication.merge import FactSource, Merge

FACTS_AT_ONCE = 32
DISK_SECONDS = 1.0  # between attempts while the journal takes no writes
NOBODY = Merged("", 0)


class Search(Protocol):
    @property
    def refs(self) -> set[str]: ...
    def slices(self) -> Iterator[None]: ...


class Applying:
    def __init__(
        self, ledger: Ledger, merge: Merge, search: Callable[[str], AbstractContextManager[Search]]
    ) -> None:
        """`search` looks for the listings that know a user; see votes/queries.py."""
        self._ledger = ledger
        self._merge = merge
        self._search = search

    async def entry(self, facts: Sequence[Fact], author: str, position: int) -> None:
        """Merge an entry of the author's stream, and move the author's cursor to its position."""
        source = FactSource(author)
        few: list[Fact] = []
        for following in self._few(facts):
            await self._merged(few, source, NOBODY)
            few = following
        await self._merged(few, source, Merged(author, position))

    async def facts(self, facts: Iterable[Fact], source: FactSource) -> None:
        """Merge facts that move no cursor."""
        for few in self._few(facts):
            await self._merged(few, source, NOBODY)

    async def move_cursors(self, cursors: Mapping[str, int]) -> None:
        """Note that everything up to these positions is merged, by node id."""
        for node_id, position in cursors.items():
            await self._commit([Merged(node_id, position)])

    def _few(self, facts: Iterable[Fact]) -> Iterator[list[Fact]]:
        """Group facts that one record can merge: none of them is about a thing that another one changes."""
        few: dict[object, Fact] = {}
        for fact in facts:
            thing = self._merge.alone(fact)
            if few and (thing is None or thing in few or len(few) >= FACTS_AT_ONCE):
                yield list(few.values())
                few = {}
                thing = self._merge.alone(fact)  # as things are now
            if thing is None:
                yield [fact]
            else:
                few[thing] = fact
        if few:
            yield list(few.values())

    async def _merged(self, few: Sequence[Fact], source: FactSource, merged: Merged) -> None:
        for fact in few:
            erasure = self._merge.new_erasure(fact)
            if erasure is not None:
                await self.erase(erasure)
        while True:
            events = [event for fact in few for event in self._merge.events(fact, source)]
            if not events and not merged.label:
                return
            if await self._committed([merged, *events]):
                return

    async def erase(self, erasure: ErasedFact) -> None:
        """Forget everything that this node knows of the user."""
        with self._search(erasure.user) as search:
            for _ in search.slices():
                await asyncio.sleep(0)
            # A later erasure may have overtaken this one: votes after that erasure stay.
            while erasure.ms > self._ledger.state.fleet.erased.get(erasure.pseudonym, 0):
                refs = tuple(sorted(search.refs))
                erased = UserErased(erasure.user, refs, erasure.pseudonym, stamp_ms=erasure.ms, by=UNKNOWN)
                if await self._committed([NOBODY, erased]):
                    return

    async def _commit(self, events: Sequence[Event]) -> None:
        while not await self._committed(events):
            pass

    async def _committed(self, events: Sequence[Event]) -> bool:
        """Commit and return True. When the disk takes no writes, wait a while and return False: the events
        may be others by then."""
        try:
            self._ledger.commit(events)
        except Unavailable:
            await asyncio.sleep(DISK_SECONDS)
            return False
        await asyncio.sleep(0)
        return True
