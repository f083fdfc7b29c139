"""Requests that the limiters of other nodes have allowed.

Invariant: a count is sent soon, and lost without harm.

Each node writes what its limiter has allowed into one short stream that all read. A count that is lost there
counts nowhere: for that while each node allows what the limit allows.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from core.fleet_table import FleetView, name_and_epoch
from replication.redis_link import BEGINNING, ENVELOPE, EntryId, Foreign, Link, SealedEntry

STREAM_LENGTH = 1_000


class Uses(msgspec.Struct, frozen=True, array_like=True):
    """The requests that a node has allowed since its last count, by bot. It is in Redis: nodes of other
    versions must understand it."""

    label: str
    by_ref: dict[str, int]


class Usage:
    def __init__(
        self,
        link: Link,
        fleet: FleetView,
        drain: Callable[[], Mapping[str, int]],
        add: Callable[[str, int], None],
        siblings: Collection[str] = (),
    ) -> None:
        """
        Args:
            drain: returns the requests that the limiter has allowed since the last call, by bot.
            add: counts requests for a bot that another node has allowed.
            siblings: the names of nodes whose counts this node knows already, as workers of one machine.
        """
        self._link, self._stream = link, link.key("uses")
        self._fleet = fleet
        self._drain, self._add = drain, add
        self._siblings = siblings
        self._cursor: EntryId | None = None
        self._is_unsure = False

    def forget_cursor(self) -> None:
        """Redis was away: the stream may be another one."""
        self._cursor = None

    async def cursor(self) -> EntryId:
        """Return the id to read on from: at first, that of the newest entry. Raises UNREACHABLE."""
        if self._cursor is None:
            newest = await self._link.newest_of_ours(self._stream)
            self._cursor = newest.id if newest is not None else BEGINNING
        return self._cursor

    async def send(self) -> None:
        """Send what was allowed here. Without any it asks Redis only if the last try failed. Raises
        UNREACHABLE."""
        by_ref = dict(self._drain())
        if not by_ref and not self._is_unsure:
            return
        self._is_unsure = True
        sealed = self._link.seal(Uses(self._fleet.label, by_ref), self._stream)
        await self._link.redis.xadd(self._stream, {ENVELOPE: sealed}, maxlen=STREAM_LENGTH, approximate=True)
        self._is_unsure = False

    def receive(self, entries: Sequence[SealedEntry]) -> None:
        """Count what other nodes have sent."""
        for id_, envelope in entries:
            self._cursor = id_
            try:
                uses = self._link.open(envelope, self._stream, Uses)
            except Foreign:
                continue  # a stranger's entry limits nobody
            if uses.label != self._fleet.label and name_and_epoch(uses.label)[0] not in self._siblings:
                for ref, used in uses.by_ref.items():
                    self._add(ref, used)
