"""From the streams of the other nodes into this one. Law: of each node everything, in its order, or a copy.

One read waits for all streams at once, each from this node's own cursor, which is in the journal. An entry
says behind which position it begins: where that is not the cursor, something is missing, and it is taken from
a copy (`streams/gaps.py`). What does not open with the fleet's keys is not merged and not passed over:
nothing more is read of that node until it is mended.
"""

import logging

from core.clock import NS_PER_SECOND, Clock
from core.fleet import FleetView, label_of, name_and_epoch
from replication.copies.donor import CopyLost, Fetcher, new_copy
from replication.facts.applying import Applying
from replication.members.refused_nodes import Refused
from replication.members.registry import Registry
from replication.streams.gaps import Gaps
from replication.streams.usage import Usage
from replication.transport.envelopes import Entry, Envelopes, Foreign, Id, id_of
from replication.transport.link import Link
from replication.transport.pacing import Pacing
from replication.transport.retrying import described

log = logging.getLogger(__name__)

ENTRIES_AT_ONCE = 16  # of each stream
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
        gaps: Gaps,
        clock: Clock,
        pacing: Pacing,
    ) -> None:
        self._link = link
        self._envelopes = envelopes
        self._registry = registry
        self._fleet = fleet
        self._applying = applying
        self._fetcher = fetcher
        self._usage = usage
        self._clock = clock
        self._gaps = gaps
        self._pacing = pacing
        self._read: dict[str, Id] = {}
        """How far each node's stream was read, by name; a copy does not count."""
        self.refused = Refused(registry.name)
        self._refused_ns: dict[str, int] = {}

    # -- reading ---------------------------------------------------------------------------------------

    async def step(self) -> None:
        """Reads once, or takes a copy. Raises UNREACHABLE."""
        await self._pacing.turn()
        donor = self._gaps.wanted()
        if donor is not None:
            await self._take_copy(donor)
        names = {self._link.stream(name): name for name in self._open()}
        cursors = {stream: str(self._at(name)) for stream, name in names.items()}
        cursors[self._link.uses] = await self._usage.cursor()
        found = await self._link.read(cursors, ENTRIES_AT_ONCE)
        if found:
            self._pacing.began(full=any(len(entries) >= ENTRIES_AT_ONCE for entries in found.values()))
        self._usage.hear(found.pop(self._link.uses, ()))
        for stream, name in names.items():
            if stream not in found:
                self.refused.understood(name)  # what was refused is gone
            for id_, envelope in found.get(stream, ()):
                if not await self._take(name, id_of(id_), envelope):
                    break

    def _open(self) -> list[str]:
        """The nodes whose streams may be read on."""
        now_ns = self._clock.monotonic_ns()
        return [
            name
            for name in self._registry.others
            if not self._gaps.is_closed(name) and self._refused_ns.get(name, now_ns) <= now_ns
        ]

    def _at(self, name: str) -> Id:
        """From where to read the node's stream: at first, from the oldest that is known of it."""
        if name not in self._read:
            labels = map(name_and_epoch, self._fleet.cursors)
            epochs = [epoch for other, epoch in labels if other == name]
            oldest = min(epochs, default=0)
            self._read[name] = Id(oldest, self._fleet.cursors.get(label_of(name, oldest), 0))
        return self._read[name]

    async def _take(self, name: str, id_: Id, envelope: bytes) -> bool:
        """Whether the next entry may be read."""
        label = label_of(name, id_.epoch)
        if id_.position <= self._fleet.cursors.get(label, 0):
            self._read[name] = id_
            return True  # a copy had it
        try:
            entry = self._envelopes.open(envelope, f"{self._link.stream(name)}/{id_}", Entry)
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._refused_ns[name] = self._clock.monotonic_ns() + round(REFUSED_SECONDS * NS_PER_SECOND)
            return False
        self.refused.understood(name)
        if not self._gaps.is_one(label, entry.before):
            await self._applying.entry(entry.facts, label, id_.position)
        elif self._gaps.is_hopeless(label):
            await self._applying.facts(entry.facts, label)
        else:
            return False
        self._read[name] = id_
        return True

    def has_read(self, name: str, newest: Id) -> bool:
        """Whether the node's stream was read up to there."""
        return self._at(name) >= newest

    async def _take_copy(self, donor: str) -> None:
        registry = self._registry
        status = registry.others[donor].status
        registry.wants, registry.copy = donor, new_copy()
        known = {**status.cursors, status.label: status.top}
        try:
            await self._fetcher.fetch(
                registry.copy, donor, status.label, known, lambda: registry.is_there(donor)
            )
            self._gaps.filled()
        except (CopyLost, Foreign, TimeoutError) as error:
            log.warning("no copy of node %s: %s", donor, described(error))
        finally:
            registry.wants = registry.copy = ""
