"""Merges the streams of the other nodes. Invariant: each stream is merged in order and without a gap.

One XREAD waits for all streams at once, each from this node's own position. An entry says behind which
position it begins. If that is not merged yet, something is missing, and the stream is closed until a copy has
filled the gap (`gaps.py`). An entry that does not open with the fleet's keys is neither merged nor
skipped: the follower tries it again, and reads nothing else of that node meanwhile.
"""

import logging
from typing import NamedTuple

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import label_of
from replication.applying import Applying
from replication.gaps import Gaps, ReadPositions
from replication.loops import Pacing
from replication.members import RefusedNodes, Registry
from replication.merge import FactSource
from replication.publisher import Entry
from replication.redis_link import EntryId, Foreign, SealedLink, entry_id_of
from replication.usage import Usage

log = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 16  # of each stream
REFUSED_SECONDS = 5.0


class ReadStreams(NamedTuple):
    """The progress of this node in the others' streams, and the parts that it lacks."""

    positions: ReadPositions
    gaps: Gaps


class Follower:
    def __init__(
        self,
        sealed_link: SealedLink,
        registry: Registry,
        known: ReadStreams,
        applying: Applying,
        usage: Usage,
        clock: Clock,
        pacing: Pacing,
    ) -> None:
        self.refused = RefusedNodes(registry.name)
        self._link, self._envelopes = sealed_link.link, sealed_link.envelopes
        self._registry = registry
        self._positions, self._gaps = known
        self._applying = applying
        self._usage = usage
        self._clock = clock
        self._pacing = pacing
        self._not_before_ns: dict[str, int] = {}

    async def step(self) -> None:
        """Read once. Raises UNREACHABLE."""
        await self._pacing.turn()
        names = {self._link.stream(name): name for name in self._open()}
        cursors = {stream: str(self._positions.of(name)) for stream, name in names.items()}
        cursors[self._link.uses] = await self._usage.cursor()
        found = await self._link.read(cursors, ENTRIES_AT_ONCE)
        if found:
            self._pacing.began(full=any(len(entries) >= ENTRIES_AT_ONCE for entries in found.values()))
        self._usage.receive(found.pop(self._link.uses, ()))
        for stream, name in names.items():
            if stream not in found:
                self.refused.understood(name)  # the refused entry is gone
            for id_, envelope in found.get(stream, ()):
                if not await self._take(name, entry_id_of(id_), envelope):
                    break

    def _open(self) -> list[str]:
        """Return the nodes whose streams may be read on."""
        now_ns = self._clock.monotonic_ns()
        return [
            name
            for name in self._registry.others
            if not self._gaps.is_closed(name) and self._not_before_ns.get(name, now_ns) <= now_ns
        ]

    async def _take(self, name: str, id_: EntryId, envelope: bytes) -> bool:
        """Merge the entry. Returns True if the next one may be read."""
        node_id = label_of(name, id_.epoch)
        if self._positions.is_merged(node_id, id_.position):
            self._positions.move(name, id_)
            return True  # a copy had it
        if self._registry.is_foreign(node_id):
            self._positions.move(name, id_)
            return True
        if self._gaps.is_unconfirmed(name, id_.epoch):
            self._wait(name, self._registry.heartbeat_seconds / 2)
            return False
        try:
            entry = self._envelopes.open(envelope, f"{self._link.stream(name)}/{id_}", Entry)
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._wait(name, REFUSED_SECONDS)
            return False
        self.refused.understood(name)
        if not self._gaps.is_before(node_id, entry.before):
            await self._applying.entry(entry.facts, node_id, id_.position)
        elif self._gaps.is_lost(node_id):
            await self._applying.facts(entry.facts, FactSource(node_id))
        else:
            return False
        self._positions.move(name, id_)
        return True

    def _wait(self, name: str, seconds: float) -> None:
        """Read nothing of the node for a while."""
        self._not_before_ns[name] = self._clock.monotonic_ns() + round(seconds * NS_PER_SECOND)
