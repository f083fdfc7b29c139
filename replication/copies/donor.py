"""A node's state, taken through Redis by a node that cannot catch up. Law: what a copy says, it says durably.

Whoever wants a copy says so in its status; the node that is asked puts it, piece by piece, into a stream of
its own, never far ahead of the reader. A copy is not of one moment: its pieces are facts, and what has
changed meanwhile comes through the streams, which are read on from where the donor had read when it began.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence

from core.clock import NS_PER_SECOND, Clock
from core.ledger import Ledger
from core.votes import leaves_of
from replication.copies.forgetting import Forgetting
from replication.facts.applying import Applying
from replication.facts.capture import Capture
from replication.facts.kinds import (
    DeliveryFact,
    ErasedFact,
    Fact,
    FinishedFact,
    ListingFact,
    RemovedFact,
    VotesFact,
)
from replication.transport.envelopes import Envelopes, Piece
from replication.transport.link import ENVELOPE, Link, Read

log = logging.getLogger(__name__)

PIECE_COST = 32_768  # bytes of votes, and so much for
COSTS = {ListingFact: 512, DeliveryFact: 512}
AHEAD = 16  # pieces
AT_ONCE = 8  # pieces: Redis may be far away
POLL_SECONDS = 0.01
KEPT_SECONDS = 60  # an abandoned copy, in Redis
PATIENCE_SECONDS = 15.0  # with a reader
PIECE_SECONDS = 5.0  # to the next piece


class CopyLost(Exception):
    """The copy does not come, or is not taken."""


class Donor:
    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        ledger: Ledger,
        capture: Capture,
        clock: Clock,
        vouch: Callable[[int], None],
    ) -> None:
        """`vouch` is told up to where a copy holds what this node did."""
        self._vouch = vouch
        self._link = link
        self._envelopes = envelopes
        self._ledger = ledger
        self._capture = capture
        self._clock = clock

    async def give(self, name: str, copy: str) -> None:
        """Raises UNREACHABLE, CopyLost and Unavailable."""
        log.info("node %s takes a copy of this one", name)
        key = self._link.copy(name, copy)
        cursors = self._cursors()
        self._vouch(self._ledger.head)
        number, pieces = 0, list[Piece]()
        for facts in _pieces(self._facts()):
            pieces.append(Piece(number, facts))
            number += 1
            if number == 1 or len(pieces) == AT_ONCE:  # the first one tells the reader that a copy comes
                await self._put(key, pieces)
                pieces = []
            await asyncio.sleep(0)
        await self._put(key, [*pieces, Piece(number, [], cursors)])

    def _cursors(self) -> dict[str, int]:
        """How much is known, this node's own doing included: all of that will be in the copy."""
        fleet = self._ledger.state.fleet
        return {**fleet.cursors, fleet.label: self._ledger.head}

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
        while pieces[-1].cursors is None and ahead >= AHEAD:
            if self._clock.monotonic_ns() - since_ns > PATIENCE_SECONDS * NS_PER_SECOND:
                await redis.delete(key)
                raise CopyLost("nobody takes it")
            await asyncio.sleep(POLL_SECONDS)
            ahead = await redis.xlen(key)

    def _facts(self) -> Iterator[Fact]:
        """All that there is to tell; what changes meanwhile may be told as it was or as it is."""
        state, fleet = self._ledger.state, self._ledger.state.fleet
        yield from [ErasedFact(mark, ms) for mark, ms in fleet.erased.items()]
        yield from [RemovedFact(ref, ms) for ref, ms in fleet.removed.items()]
        for ref in [*state.refs]:
            listing = self._capture.listing(ref)
            if listing is not None:
                yield listing
        for ref in [*state.ghosts, *state.refs]:
            yield from self._votes(ref)
        for ref in [*state.refs]:
            yield from self._deliveries(ref)

    def _votes(self, ref: str) -> Iterator[VotesFact]:
        votes, fleet = self._ledger.state.votes, self._ledger.state.fleet
        for leaf in leaves_of(votes, ref):
            labels = tuple(fleet.numbers)
            alone, several = votes.by_node(ref, leaf)
            parts = [
                (user, labels[node], count, (votes.get(ref, user) or (0, 0))[1])
                for user in several
                for node, count in votes.parts(ref, user).items()
            ]
            yield VotesFact(ref, fleet.removed.get(ref, 0), labels, alone, tuple(parts))

    def _deliveries(self, ref: str) -> Iterator[DeliveryFact]:
        for row in list(self._ledger.state.deliveries_of(ref)):
            told = self._capture.delivery(ref, row.id)
            if told is not None:
                yield told


def _pieces(facts: Iterator[Fact]) -> Iterator[list[Fact]]:
    """Pieces of about the same cost; erasures come by themselves."""
    piece: list[Fact] = []
    cost = 0
    for fact in facts:
        if piece and (cost >= PIECE_COST or type(fact) is not type(piece[0])):
            yield piece
            piece, cost = [], 0
        piece.append(fact)
        cost += 1 + len(fact.leaf) if isinstance(fact, VotesFact) else COSTS.get(type(fact), 1)
    if piece:
        yield piece


class Fetcher:
    """Takes a copy of another node's state."""

    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        name: str,
        ledger: Ledger,
        applying: Applying,
        forgetting: Forgetting,
        beat_seconds: float,
    ) -> None:
        self._link = link
        self._envelopes = envelopes
        self._name = name
        self._ledger = ledger
        self._applying = applying
        self._forgetting = forgetting
        self._beat_seconds = beat_seconds

    async def fetch(
        self, copy: str, donor: str, author: str, known: Mapping[str, int], is_there: Callable[[], bool]
    ) -> None:
        """Merges the copy. `author` is the donor's label, `known` how far it had read when it was asked.

        Raises UNREACHABLE, Foreign and CopyLost.
        """
        log.info("taking a copy of node %s", donor)
        try:
            await self._fetch(copy, donor, author, known, is_there)
        finally:
            self._forgetting.end()

    async def _fetch(
        self, copy: str, donor: str, author: str, known: Mapping[str, int], is_there: Callable[[], bool]
    ) -> None:
        key = self._link.copy(self._name, copy)
        seen, number, unsent = "0-0", 0, self._to_be_sent_by(author)
        while True:
            # A wish is told with one beat, and heard with another.
            patience = PIECE_SECONDS + (0 if number else 3 * self._beat_seconds)
            async with asyncio.timeout(patience):
                found = await self._next(key, seen, is_there)
            for id_, envelope in found:
                piece = self._envelopes.open(envelope, f"{key}/{id_}", Piece)
                if piece.number != number:
                    raise CopyLost("a piece of the copy is missing")
                facts = [fact for fact in piece.facts if not self._knows_better(fact, known)]
                await self._applying.facts(await self._forgetting.without_forgotten(facts, author), author)
                unsent -= {
                    (fact.row.ref, fact.row.id) for fact in piece.facts if isinstance(fact, DeliveryFact)
                }
                seen, number = id_, number + 1
                if piece.cursors is not None:
                    finished = [FinishedFact(ref, delivery_id) for ref, delivery_id in unsent]
                    await self._applying.facts(finished, author)
                    await self._applying.known(piece.cursors)
                    await self._link.redis.delete(key)
                    log.info("took a copy of node %s: %d pieces", donor, number)
                    return
            await self._link.redis.xtrim(key, minid=f"1-{number + 1}", approximate=False)

    def _to_be_sent_by(self, author: str) -> set[tuple[str, str]]:
        """(ref, delivery id) for each that this node takes for the donor's to send. The donor knows more of
        those than this node: what is not in the copy is finished, and not in its log any more."""
        return {
            (row.ref, row.id)
            for of_listing in self._ledger.state.elsewhere.values()
            for row in of_listing.values()
            if row.owner == author
        }

    async def _next(self, key: str, seen: str, is_there: Callable[[], bool]) -> list[Read]:
        while is_there():
            found = await self._link.read({key: seen}, AHEAD)
            if found:
                return found[key]
        raise CopyLost("its node is gone")

    def _knows_better(self, fact: Fact, known: Mapping[str, int]) -> bool:
        """Deliveries that this node has heard more of: it may have forgotten those that are finished."""
        if not isinstance(fact, DeliveryFact):
            return False
        fleet = self._ledger.state.fleet
        if fact.row.owner == fleet.label:
            return True
        owner = fact.row.owner
        return fleet.cursors.get(owner, 0) > known.get(owner, 0)


def new_copy() -> str:
    return secrets.token_hex(8)
