"""A copy of another node for this one.

Invariant: cursors move only when the whole copy is merged.
"""

import asyncio
import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.fleet_table import FleetView
from core.ledger import Ledger
from replication.copies.forgetting import Forgetting
from replication.copies.pieces import PIECES_AHEAD, CopyLost, Piece
from replication.facts.applying import Applying
from replication.facts.kinds import DeliveryFact, ErasedFact, Fact, FinishedFact, StruckFact
from replication.facts.merge import FactSource
from replication.members.registry import Registry
from replication.members.status import CopyRequest, Status
from replication.transport.envelopes import Foreign
from replication.transport.link import SealedEntry, SealedLink
from replication.transport.retrying import described

log = logging.getLogger(__name__)

PIECE_SECONDS = 5.0  # to the next piece


class Fetcher:
    def __init__(
        self,
        sealed_link: SealedLink,
        registry: Registry,
        ledger: Ledger,
        applying: Applying,
        forgetting: Forgetting,
    ) -> None:
        self._link, self._envelopes = sealed_link.link, sealed_link.envelopes
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
        key = self._link.copy(self._registry.name, request.copy)
        seen, number, unsent = "0-0", 0, self._unsent_by(status.label)
        source = FactSource(status.label)
        while True:
            # The donor reads the request with one heartbeat, after this node has written it with another.
            patience = PIECE_SECONDS + (0 if number else 3 * self._registry.heartbeat_seconds)
            async with asyncio.timeout(patience):
                found = await self._next(key, seen, request.donor)
            for id_, envelope in found:
                piece = self._envelopes.open(envelope, f"{key}/{id_}", Piece)
                if piece.number != number:
                    raise CopyLost("a piece of the copy is missing")
                source = await self._merge(piece, source, status.known)
                unsent -= {
                    (fact.row.ref, fact.row.id) for fact in piece.facts if isinstance(fact, DeliveryFact)
                }
                seen, number = id_, number + 1
                if piece.cursors is not None:
                    finished = [FinishedFact(ref, delivery_id) for ref, delivery_id in unsent]
                    await self._applying.facts(finished, source)
                    await self._applying.move_cursors(piece.cursors)
                    await self._link.redis.delete(key)
                    log.info("took a copy of node %s: %d pieces", request.donor, number)
                    return
            await self._link.redis.xtrim(key, minid=f"1-{number + 1}", approximate=False)

    async def _merge(self, piece: Piece, source: FactSource, known: Mapping[str, int]) -> FactSource:
        """Merge a piece. Returns the source with the users whom the donor has erased."""
        source = _with_struck(piece.facts, await self._forgetting.forget(piece.facts, source))
        fleet = self._ledger.state.fleet
        facts = [
            fact
            for fact in piece.facts
            if not isinstance(fact, ErasedFact) and not _is_outdated(fact, known, fleet)
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

    async def _next(self, key: str, seen: str, donor: str) -> list[SealedEntry]:
        while self._registry.is_there(donor):
            found = await self._link.read({key: seen}, PIECES_AHEAD)
            if found:
                return found[key]
        raise CopyLost("its node is gone")


def _with_struck(facts: Sequence[Fact], source: FactSource) -> FactSource:
    """Return the source with the votes that the donor has struck out. A copy has them before all votes."""
    news = [fact for fact in facts if isinstance(fact, StruckFact)]
    if not news:
        return source
    struck = {ref: dict(users) for ref, users in source.struck.items()}
    for fact in news:
        struck.setdefault(fact.ref, {}).update(dict.fromkeys(fact.users, fact.ms))
    return replace(source, struck=struck)


def _is_outdated(fact: Fact, known: Mapping[str, int], fleet: FleetView) -> bool:
    """Tell if the fact is of a delivery of which this node has read more than the donor's `known`: it may
    have forgotten the delivery since, because it is finished."""
    if not isinstance(fact, DeliveryFact):
        return False
    owner = fact.row.owner
    return owner == fleet.label or fleet.cursors.get(owner, 0) > known.get(owner, 0)
