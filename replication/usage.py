"""Requests that the limiters of other nodes have allowed.

Invariant: a count is sent soon, and lost without harm.

Each node writes what its limiter has allowed into one short stream that all read. A count that is lost there
counts nowhere: for that while each node allows what the limit allows.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from core.fleet_table import FleetView
from replication.redis_link import ENVELOPE, Foreign, SealedEntry, SealedLink

STREAM_LENGTH = 1_000
BEGINNING = "0-0"


class Uses(msgspec.Struct, frozen=True, array_like=True):
    """The requests that a node has allowed since its last count, by bot. It is in Redis: nodes of other
    versions must understand it."""

    label: str
    by_ref: dict[str, int]


class Allowances(Protocol):
    """The limiter of this node."""

    def drain(self) -> Mapping[str, int]:
        """Return what was allowed since the last call, by bot."""

    def add(self, ref: str, used: int) -> None:
        """Count what another node has allowed."""


class Usage:
    def __init__(self, sealed_link: SealedLink, fleet: FleetView, allowances: Allowances) -> None:
        self._link, self._envelopes = sealed_link.link, sealed_link.envelopes
        self._fleet = fleet
        self._allowances = allowances
        self._cursor: str | None = None
        self._is_unsure = False

    def forget_cursor(self) -> None:
        """Redis was away: the stream may be another one."""
        self._cursor = None

    async def cursor(self) -> str:
        """Return the id to read on from: at first, that of the newest entry. Raises UNREACHABLE."""
        if self._cursor is None:
            newest = await self._link.newest_of_ours(self._link.uses)
            self._cursor = newest.id if newest is not None else BEGINNING
        return self._cursor

    async def send(self) -> None:
        """Send what was allowed here. Without any it asks Redis only if the last try failed. Raises
        UNREACHABLE."""
        by_ref = dict(self._allowances.drain())
        if not by_ref and not self._is_unsure:
            return
        self._is_unsure = True
        redis, stream = self._link.redis, self._link.uses
        sealed = self._envelopes.seal(Uses(self._fleet.label, by_ref), stream)
        await redis.xadd(stream, {ENVELOPE: sealed}, maxlen=STREAM_LENGTH, approximate=True)
        self._is_unsure = False

    def receive(self, entries: Sequence[SealedEntry]) -> None:
        """Count what other nodes have sent."""
        for id_, envelope in entries:
            self._cursor = id_
            try:
                uses = self._envelopes.open(envelope, self._link.uses, Uses)
            except Foreign:
                continue  # a stranger's entry limits nobody
            if uses.label != self._fleet.label:
                for ref, used in uses.by_ref.items():
                    self._allowances.add(ref, used)
