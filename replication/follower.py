"""From the streams of the other nodes into this one. Law: of each node everything, in its order, or a copy.

One read waits for all streams at once, each from this node's own cursor, which is in the journal. An entry
says behind which position it begins: where that is not the cursor, something is missing, and it is taken from
a copy. What does not open with the fleet's keys is not merged and not passed over: nothing more is read of
that node until it is mended.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.fleet import FleetView, label_of, name_and_epoch
from replication.applying import Applying
from replication.copies import CopyLost, Fetcher, new_copy
from replication.entries import Entry, Envelopes, Foreign, Id, id_of
from replication.link import Link
from replication.refused import Refused
from replication.registry import Registry
from replication.usage import Usage

log = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 16  # of each stream
STUCK_BEATS = 3  # so long a node may be behind without moving, before it takes a copy
REFUSED_SECONDS = 5.0


class Follower:
    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        registry: Registry,
        fleet: FleetView,
        applying: Applying,
        fetcher: Fetcher,
        usage: Usage,
        clock: Clock,
    ) -> None:
        self._link = link
        self._envelopes = envelopes
        self._registry = registry
        self._fleet = fleet
        self._applying = applying
        self._fetcher = fetcher
        self._usage = usage
        self._clock = clock
        self._gaps: set[str] = set()
        """Labels of nodes of which something is missing that their streams do not say."""
        self._stuck: dict[str, tuple[int, int]] = {}
        """Labels of nodes of which more is known elsewhere: what was known here, and for how many beats."""
        self.refused = Refused()
        self._refused_ns: dict[str, int] = {}

    # -- what is missing -------------------------------------------------------------------------------

    def missing(self) -> dict[str, int]:
        """How many positions others know of each node that this one does not, by label."""
        known, own = self._fleet.cursors, self._fleet.label
        return {
            label: behind
            for label, positions in self._registry.told().items()
            if label != own and (behind := max(positions.values()) - known.get(label, 0)) > 0
        }

    def beat(self) -> None:
        """Looks for what does not move although there is more."""
        stuck: dict[str, tuple[int, int]] = {}
        for label in self.missing():
            cursor = self._fleet.cursors.get(label, 0)
            known, beats = self._stuck.get(label, (cursor, 0))
            stuck[label] = (cursor, beats + 1 if cursor == known else 0)
            if stuck[label][1] > STUCK_BEATS:
                self._gaps.add(label)
        self._stuck = stuck

    # -- reading ---------------------------------------------------------------------------------------

    async def step(self) -> None:
        """Reads once, or takes a copy. Raises UNREACHABLE."""
        if self._gaps:
            await self._fill()
        names = {self._link.stream(name): name for name in self._open()}
        cursors = {stream: str(self._newest(name)) for stream, name in names.items()}
        cursors[self._link.uses] = await self._usage.cursor()
        found = await self._link.read(cursors, ENTRIES_AT_ONCE)
        self._usage.hear(found.pop(self._link.uses, ()))
        for stream, name in names.items():
            if stream not in found:
                self.refused.understood(name)  # what was refused is gone
            for id_, envelope in found.get(stream, ()):
                if not await self._take(name, id_of(id_), envelope):
                    break

    def _open(self) -> list[str]:
        """The nodes whose streams may be read on."""
        now_ns, closed = self._clock.monotonic_ns(), {name_and_epoch(label)[0] for label in self._gaps}
        return [
            name
            for name in self._registry.others
            if name not in closed and self._refused_ns.get(name, now_ns) <= now_ns
        ]

    def _newest(self, name: str) -> Id:
        """How far the node's stream is read."""
        ids = (
            Id(name_and_epoch(label)[1], at)
            for label, at in self._fleet.cursors.items()
            if name_and_epoch(label)[0] == name
        )
        return max(ids, default=Id(0, 0))

    async def _take(self, name: str, id_: Id, envelope: bytes) -> bool:
        """Whether the next entry may be read."""
        try:
            entry = self._envelopes.open(envelope, f"{self._link.stream(name)}/{id_}", Entry)
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._refused_ns[name] = self._clock.monotonic_ns() + round(REFUSED_SECONDS * NS_PER_SECOND)
            return False
        self.refused.understood(name)
        label = label_of(name, id_.epoch)
        if entry.before > self._fleet.cursors.get(label, 0):
            self._gaps.add(label)
            return False
        await self._applying.entry(entry.facts, label, id_.position)
        return True

    # -- copies ----------------------------------------------------------------------------------------

    async def _fill(self) -> None:
        """Takes one copy that fills a gap, if somebody can give it."""
        missing, told = self.missing(), self._registry.told()
        self._gaps &= missing.keys()
        for label in self._gaps:
            there = {at: name for name, at in told[label].items() if self._registry.is_there(name)}
            best = max(there, default=0)
            if best > self._fleet.cursors.get(label, 0):
                await self._take_copy(there[best])
                return

    async def _take_copy(self, donor: str) -> None:
        registry = self._registry
        status = registry.others[donor].status
        registry.wants, registry.copy = donor, new_copy()
        known = {**status.cursors, status.label: status.top}
        try:
            await self._fetcher.fetch(
                registry.copy, donor, status.label, known, lambda: registry.is_there(donor)
            )
            self._gaps.clear()  # what the copy did not fill shows again
            self._stuck.clear()
        except (CopyLost, Foreign, TimeoutError) as error:
            log.warning("no copy of node %s: %s", donor, error or "it does not come")
        finally:
            registry.wants = registry.copy = ""
