"""Warnings to operators that last for a while.

Invariant: the log has one line when a warning begins, and one at the level INFO when it ends.

`/debug` shows the present ones as `concerns`, in words for people. Everything behind `Warnings` looks for one
kind of trouble, with every heartbeat.
"""

import logging
from collections.abc import Container, Mapping

from redis.exceptions import ResponseError

from core.clock import NS_PER_SECOND, Clock
from core.fleet_table import name_and_epoch
from core.ledger import Ledger
from replication.claims import ROUND_TRIPS_WAITED, ClaimPolicy
from replication.follower import Gaps
from replication.members import ROUND_TRIPS, Change, Registry
from replication.publisher import Publisher
from replication.redis_link import Link

log = logging.getLogger(__name__)

Topic = tuple[str, str]
"""The subject of a warning, and the node that it is about, or an empty name."""


class Warnings:
    def __init__(self) -> None:
        self._current: dict[Topic, str] = {}
        self.current: Mapping[Topic, str] = self._current

    def note(self, topic: Topic, text: str | None, over: str) -> None:
        """Set the text of the warning, or end it with None. `over` is the line that tells its end."""
        if text is None:
            if self._current.pop(topic, None) is not None:
                log.info("%s", over)
            return
        if topic not in self._current:
            log.warning("%s", text)
        self._current[topic] = text

    def forget_all_but(self, names: Container[str]) -> None:
        """The other nodes are no members any more."""
        for topic in [topic for topic in self._current if topic[1] and topic[1] not in names]:
            del self._current[topic]


CLOCK_SECONDS = 10.0
"""The difference of clocks that is tolerated, beyond the age of a status."""
STATUSES_APART = 2
"""Consecutive ones: a single one may have been held up between its clock and its writing."""


class Differences:
    """Settings and clocks that differ between nodes.

    Invariant: a warning is logged only for a certain difference.

    The status of a node has the settings that all should have alike, and its wall clock. A status that
    follows one that was read before is at most as old as a heartbeat; the first one of a node may have any
    age, so it says nothing about the clock.
    """

    def __init__(self, registry: Registry, clock: Clock, warnings: Warnings) -> None:
        self._name, self._settings = registry.name, registry.settings
        self._clock = clock
        self._warnings = warnings
        self._most_ms = round((CLOCK_SECONDS + registry.heartbeat_seconds) * 1_000)
        self._apart: dict[str, int] = {}
        """The number of consecutive statuses whose clock was apart, by node."""

    def compare(self, change: Change) -> None:
        """Compare a new status with this node's settings and clock."""
        name, status, is_next = change
        for setting, value in self._settings.items():
            theirs = status.settings.get(setting, value)
            self._warnings.note(
                (setting, name),
                f"{setting} is {value} at this node ({self._name}) and {theirs} at node {name}: "
                "give all nodes the same value"
                if theirs != value
                else None,
                f"{setting} is the same at nodes {self._name} and {name} again",
            )
        if not is_next:
            self._apart[name] = 0
        elif status.at_ms:
            self._compare_clock(name, status.at_ms - self._clock.now_ms())

    def _compare_clock(self, name: str, ahead_ms: int) -> None:
        topic = ("clock", name)
        over = f"the clocks of nodes {self._name} and {name} agree again"
        if abs(ahead_ms) > self._most_ms:
            self._apart[name] = self._apart.get(name, 0) + 1
            if self._apart[name] >= STATUSES_APART:
                side = "ahead of" if ahead_ms > 0 else "behind"
                self._warnings.note(
                    topic,
                    f"the clock of node {name} is {abs(ahead_ms) / 1_000:.0f} s {side} that of this node "
                    f"({self._name}): votes end at the wrong time; synchronise the clocks",
                    over,
                )
            return
        self._apart[name] = 0
        if abs(ahead_ms) * 2 < self._most_ms:
            self._warnings.note(topic, None, over)


def warn_of_distance(registry: Registry, policy: ClaimPolicy, warnings: Warnings) -> None:
    """Warn while votes wait for Redis longer than the settings say.

    One slow heartbeat may be this process's own: only the quickest of the latest ones tells how far Redis is.
    """
    if len(registry.round_trips_ns) < ROUND_TRIPS:
        return
    seconds, most = min(registry.round_trips_ns) / NS_PER_SECOND, policy.longest_seconds
    ms, waits = round(seconds * 1_000), ROUND_TRIPS_WAITED * seconds
    warnings.note(
        ("unclaimed", ""),
        f"Redis answers after {ms} ms: votes may go unclaimed, and users vote twice; "
        f"redis.claim_longest_seconds is {most:g} and should be {waits:.1f}"
        if 2 * seconds > most
        else None,
        "Redis answers in time again for redis.claim_longest_seconds",
    )
    warnings.note(
        ("round trip", ""),
        f"Redis answers after {ms} ms: a vote waits up to {min(waits, most):.1f} s for its claim, not "
        f"redis.claim_timeout_seconds ({policy.timeout_seconds:g})"
        if 2 * seconds > policy.timeout_seconds
        else None,
        "Redis answers in time again for redis.claim_timeout_seconds",
    )


LOOK_BEATS = 60
RIGHT_POLICY = "noeviction"
_TOPIC = ("maxmemory-policy", "")


class Eviction:
    """A Redis that may evict keys. The node logs a warning and goes on.

    With a `maxmemory-policy` other than `noeviction`, Redis drops leases and whole streams when its memory is
    full. Nodes fill streams again and take their content as a copy, time and again; but without the lease on
    a vote a user can vote twice.
    """

    def __init__(self, link: Link, warnings: Warnings) -> None:
        self._link = link
        self._warnings = warnings
        self._beats = 0
        self._may_look = True

    async def look(self) -> None:
        """Ask Redis in one of `LOOK_BEATS` calls; to be called with every heartbeat. Raises UNREACHABLE."""
        self._beats += 1
        if not self._may_look or self._beats % LOOK_BEATS != 1:
            return
        try:
            memory = await self._link.redis.info("memory")
        except ResponseError:  # each further try would add a line to Redis's ACL log
            self._may_look = False
            log.info(
                "Redis does not say its maxmemory-policy, for want of +info; it must be %s", RIGHT_POLICY
            )
            return
        policy, most = memory.get("maxmemory_policy", RIGHT_POLICY), memory.get("maxmemory", 0)
        evicts = most and policy != RIGHT_POLICY
        self._warnings.note(
            _TOPIC,
            f"Redis drops data when its {most} bytes of memory are full (maxmemory-policy {policy}): "
            f"users can vote twice then, and nodes take copies again and again; set it to {RIGHT_POLICY}"
            if evicts
            else None,
            "Redis drops no data any more when its memory is full",
        )


SILENT_SECONDS = 30.0
_SILENT_NS = round(SILENT_SECONDS * NS_PER_SECOND)


def warn_of_silence(registry: Registry, warnings: Warnings) -> None:
    """Warn of silent nodes, unless this node hears nobody."""
    for name in registry.others if registry.is_hearing else ():
        topic, over = ("silence", name), f"node {name} is there again"
        if registry.is_there(name):
            warnings.note(topic, None, over)
        elif registry.silent_ns(name) >= _SILENT_NS:
            warnings.note(topic, f"node {name} has said nothing for {SILENT_SECONDS:g} s", over)


BEHIND_SECONDS = 30.0
_BEHIND_NS = round(BEHIND_SECONDS * NS_PER_SECOND)


class Pursuit:
    """A position that follows a moving end."""

    def __init__(self) -> None:
        self.is_behind = False
        self._end = self._since_ns = 0

    def look(self, at: int, end: int, now_ns: int) -> None:
        """Note the position and the end at a time."""
        took_ns = now_ns - self._since_ns
        if at >= end:
            self.is_behind = False
        elif self._end and at < self._end:
            self.is_behind = self.is_behind or took_ns >= _BEHIND_NS
            return
        elif self._end and took_ns * 2 < _BEHIND_NS:
            self.is_behind = False
        self._end, self._since_ns = (0 if at >= end else end), now_ns


class Lag:
    """Streams that are behind. A node that was busy for a moment is not behind.

    The end of what is to be sent or read moves on. From time to time the node notes the end. If it has not
    come there `BEHIND_SECONDS` later, it is behind, until nothing is left or it has reached an end in half
    that time.
    """

    def __init__(
        self, name: str, ledger: Ledger, publisher: Publisher, gaps: Gaps, clock: Clock, warnings: Warnings
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._publisher = publisher
        self._gaps = gaps
        self._clock = clock
        self._warnings = warnings
        self._sending = Pursuit()
        self._reading: dict[str, Pursuit] = {}
        """By node id."""

    def look(self) -> None:
        """Warn of streams that are behind; to be called with every heartbeat, with Redis or without."""
        now_ns = self._clock.monotonic_ns()
        self._look_at_sending(now_ns)
        self._look_at_reading(now_ns)

    def _look_at_sending(self, now_ns: int) -> None:
        unsent = self._publisher.unsent
        top = self._publisher.top or 0
        self._sending.look(top, max(self._ledger.head, top + 1) if unsent else top, now_ns)
        self._warnings.note(
            ("telling", ""),
            f"this node ({self._name}) is behind: what it did {BEHIND_SECONDS:g} s ago is not told yet, "
            f"about {unsent} changes by now"
            if self._sending.is_behind
            else None,
            f"this node ({self._name}) is behind no more: what it did is told",
        )

    def _look_at_reading(self, now_ns: int) -> None:
        missing = self._gaps.missing()
        cursors = self._ledger.state.fleet.cursors
        for node_id in {*missing, *self._reading}:
            at, behind = cursors.get(node_id, 0), missing.get(node_id, 0)
            pursuit = self._reading.setdefault(node_id, Pursuit())
            pursuit.look(at, at + behind, now_ns)
            self._warnings.note(
                (f"reading {node_id}", name_and_epoch(node_id)[0]),
                f"this node ({self._name}) is behind: what node {node_id} told {BEHIND_SECONDS:g} s ago is "
                f"not read yet, {behind} positions by now"
                if pursuit.is_behind
                else None,
                f"this node ({self._name}) is behind no more: what node {node_id} told is read",
            )
            if not behind:
                del self._reading[node_id]
