"""Copies of this node for others. Invariant: a copy contains only facts that are durable here.

A node that wants a copy says so in its status. The donor writes the copy, piece by piece, into a stream in
Redis, and stays only a little ahead of the reader. A copy is not of one moment: its pieces are facts. What
changes meanwhile comes through the streams, which the reader reads on from the donor's cursors at the
beginning.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.vote_port import leaves_of
from replication.copies.pieces import PIECES_AHEAD, CopyLost, Piece, pieces_of
from replication.facts.capture import Capture
from replication.facts.kinds import (
    CooldownsFact,
    DeliveryFact,
    ErasedFact,
    Fact,
    RemovedFact,
    StruckFact,
    VotesFact,
)
from replication.members.registry import Registry
from replication.transport.link import ENVELOPE, SealedLink

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
    def __init__(
        self, sealed_link: SealedLink, registry: Registry, ledger: Ledger, capture: Capture, clock: Clock
    ) -> None:
        self._link, self._envelopes = sealed_link.link, sealed_link.envelopes
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
        key = self._link.copy(offer.name, offer.copy)
        number, pieces = 0, list[Piece]()
        for facts in pieces_of(self._facts()):
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
            pipeline.xadd(key, {ENVELOPE: self._envelopes.seal(piece, f"{key}/{id_}")}, id=id_)
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

    def _facts(self) -> Iterator[Fact]:
        """Yield everything that there is. What changes meanwhile comes as it was, or as it is."""
        state, fleet = self._ledger.state, self._ledger.state.fleet
        yield from [ErasedFact(digest, ms) for digest, ms in fleet.erased.items()]
        yield from [RemovedFact(ref, ms) for ref, ms in fleet.removed.items()]
        yield from _struck(fleet.struck)
        cooldowns = [*state.cooldowns.items()]
        for start in range(0, len(cooldowns), COOLDOWNS_AT_ONCE):
            yield CooldownsFact(tuple(cooldowns[start : start + COOLDOWNS_AT_ONCE]))
        for ref in [*state.listings.refs]:
            listing = self._capture.listing(ref)
            if listing is not None:
                yield listing
        for ref in [*state.users.refs]:
            user = self._capture.user(ref)
            if user is not None:
                yield user
        for ref in [*state.listings.unlisted, *state.listings.refs]:
            counts = self._capture.counts(ref)
            if counts is not None:
                yield counts
        for ref in [*state.listings.unlisted, *state.listings.refs]:
            yield from self._votes(ref)
        for ref in [*state.listings.refs]:
            yield from self._deliveries(ref)

    def _votes(self, ref: str) -> Iterator[VotesFact]:
        votes, fleet = self._ledger.state.votes, self._ledger.state.fleet
        for leaf in leaves_of(votes, ref):
            node_ids = tuple(fleet.numbers)
            alone, several = votes.by_node(ref, leaf)
            parts = [
                (user, node_ids[node], count, (votes.get(ref, user) or (0, 0))[1])
                for user in several
                for node, count in votes.parts(ref, user).items()
            ]
            yield VotesFact(ref, fleet.removed.get(ref, 0), node_ids, alone, tuple(parts))

    def _deliveries(self, ref: str) -> Iterator[DeliveryFact]:
        for row in list(self._ledger.state.deliveries.of(ref)):
            fact = self._capture.delivery(ref, row.id)
            if fact is not None:
                yield fact


def _struck(struck: Mapping[str, Mapping[str, int]]) -> Iterator[StruckFact]:
    """Yield the votes that were struck out, those of a listing and a time together."""
    for ref in [*struck]:
        known = struck.get(ref, {})
        for ms, users in groupby(sorted(known, key=known.__getitem__), key=known.__getitem__):
            yield StruckFact(ref, tuple(users), ms)
