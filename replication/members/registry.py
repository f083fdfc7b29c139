"""Who is in the fleet. Law: a node is there while its word changes; no clock of another machine is read.

Each node says how it is doing, time and again, in one hash; whoever reads it twice and finds the same word
has not heard of that node in between. A name is borne by one process: who finds it taken keeps silent.
"""

import logging
import secrets
from collections.abc import Mapping
from typing import Literal, NamedTuple

from core.clock import NS_PER_SECOND, Clock
from core.fleet import FleetView, name_and_epoch
from replication.members.differences import Differences
from replication.members.refused_nodes import Refused
from replication.transport.envelopes import Envelopes, Foreign, Status
from replication.transport.link import Link

log = logging.getLogger(__name__)

ALIVE_BEATS = 5  # for so long a name is kept for a process that says nothing
LISTENED_BEATS = 2  # in which whoever is there has told a Redis that was emptied what it knows
Presence = Literal["there", "silent", "unknown"]


class Heard(NamedTuple):
    """A node's last word, and when it was new (monotonic)."""

    status: Status
    heard_ns: int


class Registry:
    def __init__(
        self,
        link: Link,
        envelopes: Envelopes,
        name: str,
        proof: str,
        fleet: FleetView,
        clock: Clock,
        beat_seconds: float,
        differences: Differences,
    ) -> None:
        """`proof` is what all nodes of the fleet know (`Marks.fleet`)."""
        self.name = name
        self.holds_name = False
        self.refused = Refused(name)
        self.wants = self.copy = ""
        self._link = link
        self._envelopes = envelopes
        self._proof = proof
        self._fleet = fleet
        self._clock = clock
        self._differences = differences
        self.beat_seconds = beat_seconds
        self._beat = 0
        self._process = secrets.token_hex(8)
        self._heard: dict[str, Heard] = {}
        self._listened_ns: int | None = None
        """When the others' words were read last; None while they cannot be."""
        self._name_taken = False

    @property
    def others(self) -> Mapping[str, Heard]:
        """By name, of those who belong to the fleet."""
        return self._heard

    def silent_ns(self, name: str) -> int:
        """For how long the node has not been heard of, since this one listens."""
        return self._clock.monotonic_ns() - self._heard[name].heard_ns

    def is_there(self, name: str) -> bool:
        heard = self._heard.get(name)
        return heard is not None and self.silent_ns(name) < self._alive_ns

    @property
    def is_hearing(self) -> bool:
        """Whether the others' words have been read lately: without Redis nobody knows who is there."""
        return (
            self._listened_ns is not None and self._clock.monotonic_ns() - self._listened_ns < self._alive_ns
        )

    def presence(self, name: str) -> Presence:
        """How the node is, as far as that can be told."""
        if not self.is_hearing:
            return "unknown"
        return "there" if self.is_there(name) else "silent"

    @property
    def _alive_ns(self) -> float:
        return ALIVE_BEATS * self.beat_seconds * NS_PER_SECOND

    def told(self) -> dict[str, dict[str, int]]:
        """Up to which position is known what each node has told, by its label, and by the name of the node
        that knows."""
        told: dict[str, dict[str, int]] = {}
        for name, heard in self._heard.items():
            for label, position in {**heard.status.cursors, heard.status.label: heard.status.top}.items():
                told.setdefault(label, {})[name] = position
        return told

    def known(self) -> tuple[int, int] | None:
        """Up to which position the slowest of the others knows what this node has told, and the furthest;
        None if nobody knows anything."""
        told = self.told().get(self._fleet.label)
        return (min(told.values()), max(told.values())) if told else None

    @property
    def newest_epoch(self) -> int:
        """The latest under this node's name that is known to anybody; 0 if none is."""
        labels = (name_and_epoch(label) for label in (*self._fleet.cursors, *self.told()))
        return max((epoch for name, epoch in labels if name == self.name), default=0)

    @property
    def has_listened(self) -> bool:
        """Whether everybody who is there has had the time to say something."""
        return self._beat > LISTENED_BEATS

    async def step(self, top: int) -> None:
        """Says how this node is doing, and hears of the others. Raises UNREACHABLE."""
        if not await self._bears_name():
            self.holds_name = False
            self._listened_ns = None
            return
        self._beat += 1
        status = Status(
            self._fleet.label,
            self._proof,
            self._beat,
            top,
            dict(self._fleet.cursors),
            self.wants,
            self.copy,
            self._clock.now_ms(),
            dict(self._differences.settings),
        )
        pipeline = self._link.redis.pipeline(transaction=False)
        pipeline.hset(self._link.nodes, self.name, self._envelopes.seal(status, self._place(self.name)))
        pipeline.hgetall(self._link.nodes)
        found: Mapping[bytes, bytes] = (await pipeline.execute())[1]
        words = {name.decode("utf-8", "replace"): envelope for name, envelope in found.items()}
        self._listened_ns = self._clock.monotonic_ns()
        self.refused.forget_all_but(words)
        # A flushed Redis knows nobody for a moment; who is silent as well has been retired.
        self._heard = {
            name: heard for name, heard in self._heard.items() if name in words or self.is_there(name)
        }
        for name, envelope in words.items():
            if name != self.name:
                self._hear(name, envelope)
        self.holds_name = True

    async def leave(self) -> None:
        """Gives the name back. Raises UNREACHABLE."""
        key = self._link.alive(self.name)
        if await self._link.redis.get(key) == self._process.encode():
            await self._link.redis.delete(key)

    def forget_time(self) -> None:
        """Nothing could be heard for a while: nobody is silent for having been unheard in it."""
        self._listened_ns = None
        now_ns = self._clock.monotonic_ns()
        self._heard = {name: Heard(heard.status, now_ns) for name, heard in self._heard.items()}

    async def _bears_name(self) -> bool:
        redis, key = self._link.redis, self._link.alive(self.name)
        lasts_ms = round(ALIVE_BEATS * self.beat_seconds * 1_000)
        taken = await redis.set(key, self._process, nx=True, px=lasts_ms)
        bears = bool(taken) or await redis.get(key) == self._process.encode()
        if bears and not taken:
            await redis.set(key, self._process, xx=True, px=lasts_ms)
        if not bears and not self._name_taken:
            log.warning(
                "another process bears the name %s: nothing is sent or read until it is gone", self.name
            )
        self._name_taken = not bears
        return bears

    def _hear(self, name: str, envelope: bytes) -> None:
        try:
            status = self._envelopes.open(envelope, self._place(name), Status)
            if status.fleet != self._proof:
                raise Foreign(f"node {name} has another key-digest.secret")
            if name_and_epoch(status.label)[0] != name:
                raise Foreign(f"node {name} says that it is {status.label}")
        except Foreign as foreign:
            self.refused.refuse(name, str(foreign))
            self._heard.pop(name, None)
            return
        self.refused.understood(name)
        before = self._heard.get(name)
        if before is None or before.status.beat != status.beat or before.status.label != status.label:
            self._heard[name] = Heard(status, self._clock.monotonic_ns())
            is_fresh = before is not None and before.status.label == status.label
            self._differences.compare(name, status, is_fresh=is_fresh)

    def _place(self, name: str) -> str:
        return f"{self._link.nodes}/{name}"
