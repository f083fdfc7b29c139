"""Requests that other nodes have allowed. Law: told soon, never waited for, and lost without harm.

Each node tells now and then what its limiter has allowed, in a short stream that all read. What is lost there
counts nowhere: for that long each node allows what the limit allows.
"""

from collections.abc import Callable, Mapping, Sequence

from core.fleet import FleetView
from replication.transport.envelopes import Envelopes, Foreign, Uses
from replication.transport.link import ENVELOPE, Link, Read

STREAM_LENGTH = 1_000
NOTHING = "0-0"


class Usage:
    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        fleet: FleetView,
        told: Callable[[], Mapping[str, int]],
        heard: Callable[[str, int], None],
    ) -> None:
        """`told()` is what was allowed here since it was last called, by bot; `heard` takes what was
        elsewhere."""
        self._link = link
        self._envelopes = envelopes
        self._fleet = fleet
        self._told = told
        self._heard = heard
        self._cursor: str | None = None
        self._is_unsure = False

    def doubt(self) -> None:
        """The stream may be another one."""
        self._cursor = None

    async def cursor(self) -> str:
        """From where to read on: from now, at first."""
        if self._cursor is None:
            newest = await self._link.newest_of_ours(self._link.uses)
            self._cursor = newest[0] if newest is not None else NOTHING
        return self._cursor

    async def tell(self) -> None:
        """Asks Redis nothing when there is nothing to tell, unless it did not answer the last time."""
        by_ref = dict(self._told())
        if not by_ref and not self._is_unsure:
            return
        self._is_unsure = True
        redis, stream = self._link.redis, self._link.uses
        sealed = self._envelopes.seal(Uses(self._fleet.label, by_ref), stream)
        await redis.xadd(stream, {ENVELOPE: sealed}, maxlen=STREAM_LENGTH, approximate=True)
        self._is_unsure = False

    def hear(self, entries: Sequence[Read]) -> None:
        for id_, envelope in entries:
            self._cursor = id_
            try:
                uses = self._envelopes.open(envelope, self._link.uses, Uses)
            except Foreign:
                continue  # an entry of somebody else limits nobody
            if uses.label != self._fleet.label:
                for ref, used in uses.by_ref.items():
                    self._heard(ref, used)
