"""Copies: the whole state of a donor as facts, for a node that has a gap.

Invariant: a copy contains only facts that are durable at the donor, and the reader's cursors move only when
all of it is merged. No copy brings back a user whom the other side has erased.

A node that wants a copy says so in its status. The donor writes the copy, piece by piece, into a stream in
Redis, and stays only a little ahead of the reader. Pieces are numbered from 0, and only the last one has
cursors; nodes of other versions must understand them. A copy is not of one moment: its pieces are facts. What
changes meanwhile comes through the streams, which the reader reads on from the donor's cursors at the
beginning.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import msgspec

from core.actors import user_of
from core.audit_log import actors_of
from core.clock import NS_PER_SECOND, Clock
from core.events import Event, ManagementEvent, UserMerged, VoteCast, VoteFlagged
from core.fleet_table import FleetView
from core.ledger import Ledger
from core.listing_table import ref_slices
from core.vote_table import leaves_of
from replication import facts as fa
from replication.applying import Applying
from replication.capture import Capture
from replication.members import CopyRequest, Registry, Status
from replication.merge import FactSource
from replication.redis_link import BEGINNING, ENVELOPE, EntryId, Foreign, Link, SealedEntry, described

PIECE_COST = 32_768  # bytes of votes; an equal cost for
COSTS = {fa.ListingFact: 512, fa.UserFact: 512, fa.DeliveryFact: 512, fa.CountsFact: 2_048}
"""Counts take 0.1 ms to decode, and the loop waits for the whole piece."""
PIECES_AHEAD = 16  # of the reader


class CopyLost(Exception):
    """The copy does not come, or nobody takes it."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A part of a copy. With the last one the copy holds everything up to the `cursors`, by node id."""

    number: int
    facts: list[fa.Fact]
    cursors: dict[str, int] | None = None


def pieces_of(facts: Iterator[fa.Fact | None]) -> Iterator[list[fa.Fact]]:
    """Yield groups of facts of about the same cost, each of one kind; an empty group for each None."""
    group: list[fa.Fact] = []
    cost = 0
    for fact in facts:
        if fact is None:
            yield []
            continue
        if group and (cost >= PIECE_COST or type(fact) is not type(group[0])):
            yield group
            group, cost = [], 0
        group.append(fact)
        cost += 1 + len(fact.leaf) if isinstance(fact, fa.VotesFact) else COSTS.get(type(fact), 1)
    if group:
        yield group


log = logging.getLogger(__name__)

AT_ONCE = 8  # pieces in one round trip
COOLDOWNS_AT_ONCE = 1_024  # in one fact
POLL_SECONDS = 0.01
KEPT_SECONDS = 60  # an abandoned copy, in Redis
PATIENCE_SECONDS = 15.0  # with a reader


class Offer(NamedTuple):
    """A copy that this node is about to give. It holds everything up to the `cursors`, by node id; of this
    node, up to `position`."""

    name: str
    copy: str
    position: int
    cursors: dict[str, int]


class Donor:
    """Writes copies of this node for others."""

    def __init__(
        self, link: Link, registry: Registry, ledger: Ledger, capture: Capture, clock: Clock
    ) -> None:
        self._link = link
        self._registry = registry
        self._ledger = ledger
        self._capture = capture
        self._clock = clock
        self._offered: set[str] = set()

    def offers(self) -> list[Offer]:
        """Return an offer for each new request."""
        members = self._registry.others.items()
        self._offered &= {member.status.copy for _, member in members}
        names = [
            (name, member.status.copy)
            for name, member in members
            if member.status.wants == self._registry.name and member.status.copy not in self._offered
        ]
        self._offered |= {copy for _, copy in names}
        fleet, head = self._ledger.state.fleet, self._ledger.head
        return [Offer(name, copy, head, {**fleet.cursors, fleet.label: head}) for name, copy in names]

    async def give(self, offer: Offer) -> None:
        """Write the copy. Raises UNREACHABLE, CopyLost and Unavailable."""
        log.info("node %s takes a copy of this one", offer.name)
        key = self._link.key("copy", offer.name, offer.copy)
        number, pieces = 0, list[Piece]()
        for facts in pieces_of(self._facts()):
            if facts:
                pieces.append(Piece(number, facts))
                number += 1
                if number == 1 or len(pieces) == AT_ONCE:  # the first one shows the reader that a copy comes
                    await self._put(key, pieces)
                    pieces = []
            await asyncio.sleep(0)
        await self._put(key, [*pieces, Piece(number, [], offer.cursors)])

    async def _put(self, key: str, pieces: Sequence[Piece]) -> None:
        await self._ledger.durable(self._ledger.head)
        redis = self._link.redis
        pipeline = redis.pipeline(transaction=False)
        for piece in pieces:
            id_ = f"1-{piece.number + 1}"
            pipeline.xadd(key, {ENVELOPE: self._link.seal(piece, f"{key}/{id_}")}, id=id_)
        pipeline.expire(key, KEPT_SECONDS)
        pipeline.xlen(key)
        ahead: int = (await pipeline.execute())[-1]
        since_ns = self._clock.monotonic_ns()
        while pieces[-1].cursors is None and ahead >= PIECES_AHEAD:
            if self._clock.monotonic_ns() - since_ns > PATIENCE_SECONDS * NS_PER_SECOND:
                await redis.delete(key)
                raise CopyLost("nobody takes it")
            await asyncio.sleep(POLL_SECONDS)
            ahead = await redis.xlen(key)

    def _facts(self) -> Iterator[fa.Fact | None]:
        """Yield all facts, and a None after each slice of listings or users: a slice may have no facts, and
        the loop must run all the same. A row that changes meanwhile comes as it was, or as it is."""
        state, fleet, capture = self._ledger.state, self._ledger.state.fleet, self._capture
        yield from [fa.ErasedFact(digest, ms) for digest, ms in fleet.erased.items()]
        yield from [fa.RemovedFact(ref, ms) for ref, ms in fleet.removed.items()]
        yield from _removed_votes(fleet.removed_votes)
        cooldowns = [*state.cooldowns.items()]
        for start in range(0, len(cooldowns), COOLDOWNS_AT_ONCE):
            yield fa.CooldownsFact(tuple(cooldowns[start : start + COOLDOWNS_AT_ONCE]))
        unlisted, listed = state.listings.unlisted, state.listings.refs
        yield from _of_each(lambda ref: [capture.listing(ref)], listed)
        yield from _of_each(lambda ref: [capture.user(ref)], state.users.refs)
        yield from _of_each(lambda ref: [capture.counts(ref)], unlisted, listed)
        yield from _of_each(self._votes, unlisted, listed)
        yield from _of_each(self._deliveries, listed)

    def _votes(self, ref: str) -> Iterator[fa.VotesFact]:
        votes, fleet = self._ledger.state.votes, self._ledger.state.fleet
        for leaf in leaves_of(votes, ref):
            node_ids = tuple(fleet.numbers)
            alone, several = votes.by_node(ref, leaf)
            parts = [
                (user, node_ids[node], count, (votes.get(ref, user) or (0, 0))[1])
                for user in several
                for node, count in votes.parts(ref, user).items()
            ]
            yield fa.VotesFact(ref, fleet.removed.get(ref, 0), node_ids, alone, tuple(parts))

    def _deliveries(self, ref: str) -> Iterator[fa.DeliveryFact]:
        for row in list(self._ledger.state.deliveries.of(ref)):
            fact = self._capture.delivery(ref, row.id)
            if fact is not None:
                yield fact


def _of_each(
    facts_of: Callable[[str], Iterable[fa.Fact | None]], *tables: Sequence[str]
) -> Iterator[fa.Fact | None]:
    """Yield the facts of each ref in sorted tables, table by table, and a None after each slice.

    Unlisted refs come first, because one of them may get its listing meanwhile.
    """
    for refs in tables:
        for some in ref_slices(refs):
            for ref in some:
                yield from filter(None, facts_of(ref))
            yield None


def _removed_votes(removed: Mapping[str, Mapping[str, int]]) -> Iterator[fa.VotesRemovedFact]:
    """Yield the votes that were removed, those of a listing and a time together."""
    for ref in [*removed]:
        known = removed.get(ref, {})
        for ms, users in groupby(sorted(known, key=known.__getitem__), key=known.__getitem__):
            yield fa.VotesRemovedFact(ref, tuple(users), ms)


class Forgetting:
    """Erased users in a copy. Invariant: no copy brings back a user whom the other side has erased.

    A copy names erased users by keyed digest only. The reader searches the users that it knows for those that
    are news to it. It leaves users out of the copy whom it has erased itself and the donor had not (`Merge`).
    """

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

    async def forget(self, facts: Sequence[fa.Fact], source: FactSource) -> FactSource:
        """Forget users whom the donor has erased. Returns the source with them. A donor sends its erasures in
        the first pieces, by themselves."""
        erasures = {fact.pseudonym: fact.ms for fact in facts if isinstance(fact, fa.ErasedFact)}
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
        for known in (self._state.listings.unlisted, self._state.listings.refs):
            for refs in ref_slices(known):
                for ref in refs:
                    await self._forget_at(ref, news)
                await asyncio.sleep(0)
        for refs in ref_slices(self._state.users.refs):
            for ref in refs:
                person = self._state.users.get(ref)
                if person is not None:
                    actors = (user_of(each.by) for each in person.quarantines)
                    await self._erase(filter(None, (person.id, *actors)), news)
            await asyncio.sleep(0)
        await self._erase(
            {user for users in self._state.fleet.removed_votes.values() for user in users}, news
        )
        while self._seen:
            seen, self._seen = self._seen, set()
            await self._erase(seen, news)
        await self._applying.facts([fa.ErasedFact(digest, ms) for digest, ms in news.items()], source)

    async def _forget_at(self, ref: str, news: Mapping[str, int]) -> None:
        for leaf in leaves_of(self._state.votes, ref):
            await self._erase(map(str, self._state.votes.users(leaf)), news)
            await asyncio.sleep(0)
        await self._erase([row.user for row in self._state.deliveries.of(ref)], news)
        row = self._state.listings.get(ref)
        if row is not None:
            await self._erase(filter(None, map(user_of, actors_of(row))), news)

    async def _erase(self, users: Iterable[str], news: Mapping[str, int]) -> None:
        for user in users:
            digest = self._digest_of(user)
            if digest in news:
                await self._applying.erase(fa.ErasedFact(digest, news[digest], user))


def _users_of(event: Event) -> Iterator[str | None]:
    """Yield the users whom a record of the event may be the first to name."""
    match event:
        case VoteCast() | VoteFlagged():
            yield event.user
        case UserMerged():
            yield event.row.id
        case ManagementEvent():
            yield user_of(event.by)


PIECE_SECONDS = 5.0  # to the next piece


class Fetcher:
    """A copy of another node for this one.

    Invariant: cursors move only when the whole copy is merged.
    """

    def __init__(
        self,
        link: Link,
        registry: Registry,
        ledger: Ledger,
        applying: Applying,
        forgetting: Forgetting,
    ) -> None:
        self._link = link
        self._registry = registry
        self._ledger = ledger
        self._applying = applying
        self._forgetting = forgetting
        self._request: CopyRequest | None = None

    @property
    def request(self) -> CopyRequest | None:
        """The copy that is being taken; this node's status tells the donor."""
        return self._request

    async def take_from(self, donor: str) -> bool:
        """Merge a copy of the node. Returns False if it does not come, or is not to be understood. Raises
        UNREACHABLE."""
        status = self._registry.others[donor].status
        self._request = CopyRequest(donor, secrets.token_hex(8))
        log.info("taking a copy of node %s", donor)
        try:
            await self._fetch(self._request, status)
        except (CopyLost, Foreign, TimeoutError) as error:
            log.warning("no copy of node %s: %s", donor, described(error))
            return False
        finally:
            self._request = None
        return True

    async def _fetch(self, request: CopyRequest, status: Status) -> None:
        key = self._link.key("copy", self._registry.name, request.copy)
        seen, number, unsent = BEGINNING, 0, self._unsent_by(status.label)
        source = FactSource(status.label)
        while True:
            # The donor reads the request with one heartbeat, after this node has written it with another.
            patience = PIECE_SECONDS + (0 if number else 3 * self._registry.heartbeat_seconds)
            async with asyncio.timeout(patience):
                found = await self._next(key, seen, request.donor)
            for id_, envelope in found:
                piece = self._link.open(envelope, f"{key}/{id_}", Piece)
                if piece.number != number:
                    raise CopyLost("a piece of the copy is missing")
                source = await self._merge(piece, source, status.known)
                unsent -= {
                    (fact.row.ref, fact.row.id) for fact in piece.facts if isinstance(fact, fa.DeliveryFact)
                }
                seen, number = id_, number + 1
                if piece.cursors is not None:
                    finished = [fa.FinishedFact(ref, delivery_id) for ref, delivery_id in unsent]
                    await self._applying.facts(finished, source)
                    await self._applying.move_cursors(piece.cursors)
                    await self._link.redis.delete(key)
                    log.info("took a copy of node %s: %d pieces", request.donor, number)
                    return
            await self._link.redis.xtrim(key, minid=f"1-{number + 1}", approximate=False)

    async def _merge(self, piece: Piece, source: FactSource, known: Mapping[str, int]) -> FactSource:
        """Merge a piece. Returns the source with the users whom the donor has erased."""
        source = _with_removed_votes(piece.facts, await self._forgetting.forget(piece.facts, source))
        fleet = self._ledger.state.fleet
        facts = [
            fact
            for fact in piece.facts
            if not isinstance(fact, fa.ErasedFact) and not _is_outdated(fact, known, fleet)
        ]
        await self._applying.facts(facts, source)
        return source

    def _unsent_by(self, donor: str) -> set[tuple[str, str]]:
        """Return (ref, delivery id) of the deliveries that the donor, by node id, is to send as far as this
        node knows. The donor knows more: those that the copy lacks are finished, and no longer in its log."""
        return {
            (row.ref, row.id)
            for of_listing in self._ledger.state.deliveries.remote.values()
            for row in of_listing.values()
            if row.owner == donor
        }

    async def _next(self, key: str, seen: EntryId, donor: str) -> list[SealedEntry]:
        while self._registry.is_there(donor):
            found = await self._link.read({key: seen}, PIECES_AHEAD)
            if found:
                return found[key]
        raise CopyLost("its node is gone")


def _with_removed_votes(facts: Sequence[fa.Fact], source: FactSource) -> FactSource:
    """Return the source with the votes that the donor has removed. A copy has them before all votes."""
    news = [fact for fact in facts if isinstance(fact, fa.VotesRemovedFact)]
    if not news:
        return source
    removed = {ref: dict(users) for ref, users in source.removed_votes.items()}
    for fact in news:
        removed.setdefault(fact.ref, {}).update(dict.fromkeys(fact.users, fact.ms))
    return replace(source, removed_votes=removed)


def _is_outdated(fact: fa.Fact, known: Mapping[str, int], fleet: FleetView) -> bool:
    """Return True for a delivery of which this node has read more than the donor's `known`: it may have
    forgotten the delivery since, because it is finished."""
    if not isinstance(fact, fa.DeliveryFact):
        return False
    owner = fact.row.owner
    return owner == fleet.label or fleet.cursors.get(owner, 0) > known.get(owner, 0)
