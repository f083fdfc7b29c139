"""Erased users in a copy. Invariant: no copy brings back a user whom the other side has erased.

A copy names erased users by keyed digest only. The reader searches the users that it knows for those that
are news to it. It leaves users out of the copy whom it has erased itself and the donor had not (`Merge`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from core.actors import user_of
from core.erasing import actors_of
from core.events import Event, ManagementEvent, UserMerged, VoteCast, VoteFlagged
from core.ledger import Ledger
from core.vote_port import leaves_of
from replication.facts.applying import Applying
from replication.facts.kinds import ErasedFact, Fact
from replication.facts.merge import Erasure, FactSource


class Forgetting:
    def __init__(self, ledger: Ledger, applying: Applying, digest_of: Callable[[str], str]) -> None:
        self._state = ledger.state
        self._applying = applying
        self._digest_of = digest_of
        self._is_searching = False
        self._seen: set[str] = set()
        """Users who have voted, acted or signed in since the search began."""

    def on_record(self, _: int, events: Sequence[Event]) -> None:
        """Read a committed record."""
        if self._is_searching:
            for event in events:
                self._seen.update(filter(None, _users_of(event)))

    async def forget(self, facts: Sequence[Fact], source: FactSource) -> FactSource:
        """Forget users whom the donor has erased. Returns the source with them. A donor sends its erasures in
        the first pieces, by themselves."""
        erasures = {fact.pseudonym: fact.ms for fact in facts if isinstance(fact, ErasedFact)}
        if not erasures:
            return source
        source = replace(source, erased={**source.erased, **erasures})
        known = self._state.fleet.erased
        news = {digest: ms for digest, ms in erasures.items() if ms > known.get(digest, 0)}
        if news:
            self._is_searching = True
            try:
                await self._forget(news, source)
            finally:
                self._is_searching = False
                self._seen.clear()
        return source

    async def _forget(self, news: Mapping[str, int], source: FactSource) -> None:
        """Erase the users first, and note the digests then, so that an interrupted search is made again."""
        for ref in [*self._state.listings.unlisted, *self._state.listings.refs]:
            for leaf in leaves_of(self._state.votes, ref):
                await self._erase(map(str, self._state.votes.users(leaf)), news)
                await asyncio.sleep(0)
            await self._erase([row.user for row in self._state.deliveries.of(ref)], news)
            row = self._state.listings.get(ref)
            if row is not None:
                await self._erase(filter(None, map(user_of, actors_of(row))), news)
        for ref in [*self._state.users.refs]:
            person = self._state.users.get(ref)
            if person is not None:
                actors = (user_of(each.by) for each in person.quarantines)
                await self._erase(filter(None, (person.id, *actors)), news)
        await self._erase({user for users in self._state.fleet.struck.values() for user in users}, news)
        while self._seen:
            seen, self._seen = self._seen, set()
            await self._erase(seen, news)
        await self._applying.facts([ErasedFact(digest, ms) for digest, ms in news.items()], source)

    async def _erase(self, users: Iterable[str], news: Mapping[str, int]) -> None:
        for user in users:
            digest = self._digest_of(user)
            if digest in news:
                await self._applying.erase(Erasure(user, digest, news[digest]))


def _users_of(event: Event) -> Iterator[str | None]:
    """Yield the users whom a record of the event may be the first to name."""
    match event:
        case VoteCast() | VoteFlagged():
            yield event.user
        case UserMerged():
            yield event.row.id
        case ManagementEvent():
            yield user_of(event.by)
