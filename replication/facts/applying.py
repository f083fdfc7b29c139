"""What comes from Redis, into the journal. Law: what was read and how far is one record, or neither is.

Facts are merged a few at a time, so that no step holds the loop for long. The last record of an entry says
that it was read; a stop before that means that it is read, and merged, again, which changes nothing.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from core.events import Event, Merged, UserErased
from core.ledger import Ledger
from core.refusals import Unavailable
from replication.facts.kinds import Fact
from replication.facts.merge import Erasure, Merge

FACTS_AT_ONCE = 32
DISK_SECONDS = 1.0  # between attempts while the journal takes no writes
NOBODY = Merged("", 0)


class Search(Protocol):
    @property
    def refs(self) -> set[str]: ...
    def slices(self) -> Iterator[None]: ...


class Searches(Protocol):
    def of(self, user: str) -> AbstractContextManager[Search]:
        """A search for the listings that know the user; see votes/search.py."""


class Applying:
    def __init__(self, ledger: Ledger, merge: Merge, searches: Searches) -> None:
        self._ledger = ledger
        self._merge = merge
        self._searches = searches

    async def entry(self, facts: Sequence[Fact], author: str, position: int) -> None:
        """Merges what the author told, and notes that all is merged that it told up to there."""
        few: list[Fact] = []
        for following in self._few(facts):
            await self._merged(few, author, NOBODY)
            few = following
        await self._merged(few, author, Merged(author, position))

    async def facts(self, facts: Iterable[Fact], author: str) -> None:
        for few in self._few(facts):
            await self._merged(few, author, NOBODY)

    async def known(self, cursors: Mapping[str, int]) -> None:
        """Notes that all is merged that these nodes told, by their labels."""
        for label, position in cursors.items():
            await self._commit([Merged(label, position)])

    def _few(self, facts: Iterable[Fact]) -> Iterator[list[Fact]]:
        """Facts that may be merged in one record: none of them is about what another one changes."""
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

    async def _merged(self, few: Sequence[Fact], author: str, merged: Merged) -> None:
        for fact in few:
            erasure = self._merge.unheard_erasure(fact)
            if erasure is not None:
                await self.erase(erasure)
        while True:
            events = [event for fact in few for event in self._merge.events(fact, author)]
            if not events and not merged.label:
                return
            if await self._committed([merged, *events]):
                return

    async def erase(self, erasure: Erasure) -> None:
        """Forgets all that is known of the user here."""
        with self._searches.of(erasure.user) as search:
            for _ in search.slices():
                await asyncio.sleep(0)
            # Another erasure may have overtaken this one: what came after that is not to be forgotten.
            while erasure.ms > self._ledger.state.fleet.erased.get(erasure.mark, 0):
                refs = tuple(sorted(search.refs))
                erased = UserErased(erasure.user, refs, erasure.mark, stamp_ms=erasure.ms)
                if await self._committed([NOBODY, erased]):
                    return

    async def _commit(self, events: Sequence[Event]) -> None:
        while not await self._committed(events):
            pass

    async def _committed(self, events: Sequence[Event]) -> bool:
        """Whether it is; if not, the disk has been given time, and what is to be merged may be other now."""
        try:
            self._ledger.commit(events)
        except Unavailable:
            await asyncio.sleep(DISK_SECONDS)
            return False
        await asyncio.sleep(0)
        return True
