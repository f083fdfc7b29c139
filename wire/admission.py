"""Admission of connections when there is not room for all. Law: no connection with a request under way is
ended for a newcomer, no newcomer is refused while another connection is idle, and no address has more than
its share.

Connections that have asked nothing are ended first, in the order in which they came: a client that means to
ask asks at once. Then come idle ones, the longest idle first. They lie in a heap by their deadline, which is
noted when a connection is looked at and not with each request, so that a request costs nothing here. A noted
deadline is never later than the real one. So the longest idle connection is on top of the heap once all above
it are noted anew.
"""

import heapq
import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

LOOKS = 256
"""The most connections that are looked at to find an idle one: a newcomer must not cost much."""
QUIET_SECONDS = 60
"""A time without refusals that ends a warning; the next refusal begins another."""
_SLACK = 64

CountedAs = Callable[[str], str | None]
"""The key that a peer's connections are counted under; None counts them for nobody."""

log = logging.getLogger(__name__)


class Guest(Protocol):
    """A connection."""

    deadline: float
    """Of two idle connections, the one with the earlier deadline has been idle for longer."""

    @property
    def idle(self) -> bool:
        """True when the connection can be ended and nobody misses an answer."""

    def make_room(self) -> None:
        """End at once."""


class Admission:
    def __init__(self, connections: int, per_address: int, counted_as: CountedAs) -> None:
        self._room = connections
        self._per_address = per_address
        self._counted_as = counted_as
        self._inside: dict[Guest, str | None] = {}  # with the key that each is counted under
        self._counts: dict[str, int] = {}
        self._unasked: OrderedDict[Guest, None] = OrderedDict()
        self._asked: list[tuple[float, int, Guest]] = []  # a heap by deadline as noted; some have left
        self._order = itertools.count()
        self._turned_away: OrderedDict[str, tuple[str, int, float]] = (
            OrderedDict()
        )  # who, how many, last when
        self.refused = self.ended = 0

    def admits(self, guest: Guest, peer: str, now: float, idle_deadline: float) -> bool:
        """Return True when a newcomer may stay. End another connection if there has to be room first.

        `idle_deadline` is the deadline of a connection that begins to be idle now.
        """
        key = self._counted_as(peer)
        has = self._counts.get(key, 0) if key is not None else 0
        if key is not None and has >= self._per_address:
            self._turn_away(
                key, f"connections from {peer}", f"it has {has} (server.connections_per_address)", now
            )
            return False
        if len(self._inside) >= self._room and not self._end_one(idle_deadline):
            self._turn_away("", "new connections", f"all {self._room} are busy (server.connections)", now)
            return False
        self._inside[guest] = key
        self._unasked[guest] = None
        if key is not None:
            self._counts[key] = has + 1
        return True

    def asked(self, guest: Guest, idle_deadline: float) -> None:
        """Note that a connection has asked; only the first time counts."""
        if guest not in self._unasked:
            return
        del self._unasked[guest]
        if len(self._asked) > 2 * len(self._inside) + _SLACK:
            self._asked = [entry for entry in self._asked if entry[2] in self._inside]
            heapq.heapify(self._asked)
        heapq.heappush(self._asked, (idle_deadline, next(self._order), guest))

    def left(self, guest: Guest) -> None:
        """Forget a connection that is gone or about to be. A second call does nothing."""
        if guest not in self._inside:
            return
        key = self._inside.pop(guest)
        self._unasked.pop(guest, None)
        if key is not None:
            self._counts[key] -= 1
            if not self._counts[key]:
                del self._counts[key]

    def step(self, now: float) -> None:
        """Log the end of refusals that have stopped."""
        while self._turned_away:
            key, (who, times, last) = next(iter(self._turned_away.items()))
            if now < last + QUIET_SECONDS:
                return
            del self._turned_away[key]
            log.warning("%s are closed no longer; %d were", who, times)

    def _turn_away(self, key: str, who: str, why: str, now: float) -> None:
        self.refused += 1
        if key not in self._turned_away:
            log.warning("%s are closed as they come: %s", who, why)
            self._turned_away[key] = (who, 1, now)
        else:
            who, times, _ = self._turned_away[key]
            self._turned_away[key] = (who, times + 1, now)
            self._turned_away.move_to_end(key)

    def _end_one(self, idle_deadline: float) -> bool:
        guest = self._idle_unasked() or self._idle_asked(idle_deadline)
        if guest is None:
            return False
        self.left(guest)
        self.ended += 1
        guest.make_room()
        return True

    def _idle_unasked(self) -> Guest | None:
        for _ in range(min(LOOKS, len(self._unasked))):
            guest = next(iter(self._unasked))
            if guest.idle:
                return guest
            self._unasked.move_to_end(guest)  # its first request has begun
        return None

    def _idle_asked(self, idle_deadline: float) -> Guest | None:
        """Return the longest idle connection, or the longest idle of those that were looked at."""
        heap, found = self._asked, None
        looks = min(LOOKS, len(heap))
        while heap and looks:
            noted, _, guest = heap[0]
            if guest not in self._inside:
                heapq.heappop(heap)
                continue
            looks -= 1
            since = idle_deadline
            if guest.idle:
                since = guest.deadline
                if since <= noted:
                    return guest
                if found is None or since < found.deadline:
                    found = guest
            heapq.heapreplace(heap, (since, next(self._order), guest))
        return found
