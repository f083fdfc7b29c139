"""The members of the fleet: who is there, and what each node says of itself in its status.

Invariant: a node is there while its status changes; no clock of another machine is read.
"""

import hashlib
import logging
import secrets
from collections import deque
from collections.abc import Container, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import FleetView, name_and_epoch
from replication.redis_link import Foreign, Link


class Status(msgspec.Struct, frozen=True, array_like=True):
    """A node's report on itself, written with every heartbeat. It is in Redis: nodes of other versions
    must understand it.

    `label` is its node id, and `fleet` proves that it has the fleet's secret. `beat` grows with every
    heartbeat. `top` is the newest position in its stream; `cursors` are the positions up to which it has
    merged the others, by node id. It wants a copy of the node named `wants`, under the name `copy`. `at_ms`
    is its wall clock, 0 if it does not tell; `settings` are those that all nodes should have alike. `kinds`
    are the kinds of listings that it offers; empty for all.
    """

    label: str
    fleet: str
    beat: int
    top: int
    cursors: dict[str, int]
    wants: str = ""
    copy: str = ""
    at_ms: int = 0
    settings: dict[str, str] = {}
    kinds: tuple[str, ...] = ()

    @property
    def known(self) -> dict[str, int]:
        """The positions up to which it knows each node, itself included, by node id."""
        return {**self.cursors, self.label: self.top}


class CopyRequest(NamedTuple):
    """A node's wish for a copy of the `donor`, under the name `copy`."""

    donor: str
    copy: str


class Member(NamedTuple):
    """Another node: its last status, and when this node first read it (monotonic)."""

    status: Status
    read_ns: int


class Change(NamedTuple):
    """A status that this node has not read before. If `is_next`, the status before it was read too, so this
    one is no older than a heartbeat; the first one of a node may have any age."""

    name: str
    status: Status
    is_next: bool


class ReadUpTo(NamedTuple):
    """The positions up to which the slowest and the furthest of the others know this node."""

    slowest: int
    furthest: int


class KnownElsewhere(NamedTuple):
    """The knowledge of the other nodes about this one.

    `read` is None if nobody knows anything; `newest_epoch` is the latest of this name, 0 if nobody knows one.
    `is_complete`: every node that is there has had the time to say what it knows.
    """

    read: ReadUpTo | None
    newest_epoch: int
    is_complete: bool


log = logging.getLogger(__name__)


class RefusedNodes:
    """Nodes whose content this node refuses. The log has one line at the beginning and one at the end."""

    def __init__(self, own: str) -> None:
        """`own` is the name of this node."""
        self._own = own
        self._reasons: dict[str, str] = {}
        self.reasons: Mapping[str, str] = self._reasons  # by the names of nodes

    def refuse(self, name: str, reason: str) -> None:
        if self._reasons.get(name) != reason:
            log.error("nothing is taken from node %s at this one (%s): %s", name, self._own, reason)
        self._reasons[name] = reason

    def forget_all_but(self, names: Container[str]) -> None:
        """The others are no members any more."""
        for name in [name for name in self._reasons if name not in names]:
            del self._reasons[name]

    def understood(self, name: str) -> None:
        if self._reasons.pop(name, None) is not None:
            log.info("node %s is understood again", name)


ALIVE_BEATS = 5  # the lease on a name; a node that is silent for so long is not there
ROUND_TRIPS = 5
"""The latest heartbeats whose round trips count."""
LISTENED_BEATS = 2  # after so many, every node that is there has written its status to an emptied Redis
Presence = Literal["there", "silent", "unknown"]


class Registry:
    """The registry of nodes.

    Every heartbeat writes this node's status into one hash and reads those of the others. A status that is
    the same as the last time means that its node has not spoken in between. A lease makes sure that one
    process bears a name: a second one finds the name taken and stays silent.
    """

    def __init__(
        self,
        link: Link,
        name: str,
        proof: str,
        fleet: FleetView,
        clock: Clock,
        heartbeat_seconds: float,
        settings: Mapping[str, str],
    ) -> None:
        """`proof` is the same at all nodes with the fleet's secret (`KeyedDigests.fleet`); `settings` are
        those that all nodes should have alike, by name."""
        self.name = name
        self.heartbeat_seconds = heartbeat_seconds
        self.settings = dict(settings)
        self.kinds: tuple[str, ...] = ()
        """The kinds of listings that this node offers; empty for all."""
        self.holds_name = False
        self.refused = RefusedNodes(name)
        self._link = link
        self._proof = proof
        self._fleet = fleet
        self._clock = clock
        self._beat = 0
        self._process = secrets.token_hex(8)
        self._members: dict[str, Member] = {}
        self._read_ns: int | None = None
        """When the statuses were read last; None while they cannot be."""
        self._heard_ns = clock.monotonic_ns()
        self._round_trips_ns = deque[int](maxlen=ROUND_TRIPS)
        self._is_name_taken = False
        self._foreign: set[str] = set()

    # -- who is there ----------------------------------------------------------------------------------

    @property
    def others(self) -> Mapping[str, Member]:
        """The other nodes of the fleet, by name."""
        return self._members

    def silent_ns(self, name: str) -> int:
        """The time since the node's status last changed, or since this node listens."""
        return self._clock.monotonic_ns() - self._members[name].read_ns

    def is_there(self, name: str) -> bool:
        return name in self._members and self.silent_ns(name) < self._alive_ns

    @property
    def is_hearing(self) -> bool:
        """True if the statuses were read recently: without Redis nobody knows who is there."""
        return self._read_ns is not None and self._clock.monotonic_ns() - self._read_ns < self._alive_ns

    @property
    def has_listened(self) -> bool:
        """True if every node that is there has had the time to write its status, also to an emptied Redis."""
        return self._beat > LISTENED_BEATS

    @property
    def unheard_ns(self) -> int:
        """The time since the statuses were last read, or since the start."""
        return self._clock.monotonic_ns() - self._heard_ns

    @property
    def round_trips_ns(self) -> Sequence[int]:
        """The times that Redis took to answer the latest heartbeats; empty before the first one."""
        return self._round_trips_ns

    def presence(self, name: str) -> Presence:
        if not self.is_hearing:
            return "unknown"
        return "there" if self.is_there(name) else "silent"

    def is_chosen(self, ref: str) -> bool:
        """Return True if this node does work about a listing that one node does for all, such as asking the
        chat platform. All that are there choose the same one of those that offer the kind; while nobody is
        heard, nobody does.

        Two nodes may choose differently for a moment: what must happen once needs a lease, as `LeaderLease`.
        """
        offered = {name: member.status.kinds for name, member in self._members.items() if self.is_there(name)}
        kind, offered[self.name] = ref.partition("/")[0], self.kinds
        names = [name for name, kinds in offered.items() if not kinds or kind in kinds]
        key = {name: hashlib.blake2b(f"{name} {ref}".encode()).digest() for name in names}
        return self.is_hearing and self.name in key and key[self.name] == max(key.values())

    @property
    def _alive_ns(self) -> float:
        return ALIVE_BEATS * self.heartbeat_seconds * NS_PER_SECOND

    def confirms(self, name: str, epoch: int) -> bool:
        """Return True if the node has proved the fleet's secret in that epoch or later."""
        member = self._members.get(name)
        return member is not None and epoch <= name_and_epoch(member.status.label)[1]

    def is_foreign(self, node_id: str) -> bool:
        """Return True if the node had another secret under this node id: it was not of this fleet."""
        return node_id in self._foreign

    # -- what they know --------------------------------------------------------------------------------

    def known(self) -> dict[str, dict[str, int]]:
        """Return the positions that the others know: by node id, then by the name of who knows."""
        known: dict[str, dict[str, int]] = {}
        for name, member in self._members.items():
            for node_id, position in member.status.known.items():
                known.setdefault(node_id, {})[name] = position
        return known

    def known_elsewhere(self) -> KnownElsewhere:
        """Return what the others know of this node."""
        known = self.known()
        positions = known.get(self._fleet.label, {}).values()
        ids = (name_and_epoch(node_id) for node_id in (*self._fleet.cursors, *known))
        return KnownElsewhere(
            ReadUpTo(min(positions), max(positions)) if positions else None,
            max((epoch for name, epoch in ids if name == self.name), default=0),
            self.has_listened,
        )

    # -- heartbeats ------------------------------------------------------------------------------------

    async def step(self, top: int, request: CopyRequest | None = None) -> list[Change]:
        """Write this node's status and read those of the others. Returns the new ones. Raises UNREACHABLE.

        Args:
            top: the newest position in the stream of this node.
        """
        if not await self._holds_lease():
            self.holds_name = False
            self._read_ns = None
            return []
        self._beat += 1
        pipeline = self._link.redis.pipeline(transaction=False)
        status = self._link.seal(self._status(top, request), self._place(self.name))
        pipeline.hset(self._link.key("nodes"), self.name, status)
        pipeline.hgetall(self._link.key("nodes"))
        asked_ns = self._clock.monotonic_ns()
        found: Mapping[bytes, bytes] = (await pipeline.execute())[1]
        statuses = {name.decode("utf-8", "replace"): envelope for name, envelope in found.items()}
        self._read_ns = self._heard_ns = self._clock.monotonic_ns()
        self._round_trips_ns.append(self._read_ns - asked_ns)
        self.refused.forget_all_but(statuses)
        # An emptied Redis has no status for a moment. A node that is silent as well has been retired.
        self._members = {
            name: member for name, member in self._members.items() if name in statuses or self.is_there(name)
        }
        changes = [self._read(name, envelope) for name, envelope in statuses.items() if name != self.name]
        self.holds_name = True
        return [change for change in changes if change is not None]

    async def leave(self) -> None:
        """Give the name back. Raises UNREACHABLE."""
        await self._link.give_back(self._link.key("alive", self.name), self._process)

    def forget_time(self) -> None:
        """Redis was away: nobody counts as silent for the time of the outage."""
        self._read_ns = None
        now_ns = self._clock.monotonic_ns()
        self._members = {name: member._replace(read_ns=now_ns) for name, member in self._members.items()}

    async def _holds_lease(self) -> bool:
        lasts_ms = round(ALIVE_BEATS * self.heartbeat_seconds * 1_000)
        holds = await self._link.holds(self._link.key("alive", self.name), self._process, lasts_ms)
        if not holds and not self._is_name_taken:
            log.warning(
                "another process bears the name %s: nothing is sent or read until it is gone", self.name
            )
        self._is_name_taken = not holds
        return holds

    def _status(self, top: int, request: CopyRequest | None) -> Status:
        wants, copy = request or ("", "")
        return Status(
            self._fleet.label,
            self._proof,
            self._beat,
            top,
            dict(self._fleet.cursors),
            wants,
            copy,
            self._clock.now_ms(),
            self.settings,
            self.kinds,
        )

    def _read(self, name: str, envelope: bytes) -> Change | None:
        try:
            status = self._link.open(envelope, self._place(name), Status)
            if status.fleet != self._proof:
                self._foreign.add(status.label)
                raise Foreign(f"node {name} has another key-digest.secret")
            if name_and_epoch(status.label)[0] != name:
                raise Foreign(f"node {name} says that it is {status.label}")
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._members.pop(name, None)
            return None
        self.refused.understood(name)
        before = self._members.get(name)
        is_next = before is not None and before.status.label == status.label
        if is_next and before is not None and before.status.beat == status.beat:
            return None
        self._members[name] = Member(status, self._clock.monotonic_ns())
        return Change(name, status, is_next)

    def _place(self, name: str) -> str:
        return f"{self._link.key('nodes')}/{name}"
