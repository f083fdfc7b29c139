"""Admission of connections when there is not room for all.

Invariants. No connection is ended for a newcomer while a complete request of it is unanswered, unless its
client leaves the answer unread. No newcomer is refused while another connection is idle or unread. No address
has more connections than its share.

A connection is *unfinished* from its beginning, or from the first byte of a later request, until that request
is complete. One byte protects nobody: unfinished connections are ended first, the longest waiting one before
all others. Answered connections are next, the longest idle one first.

A newcomer that shakes hands or sends its request at this moment is unfinished too. When many idle connections
take all the room, it would be ended for the next newcomer. So an unfinished connection has a moment
(`MOMENT_SECONDS`) in which one that has been idle for longer is ended in its place.

A connection is *unread* while its client does not keep up with the answers. If no connection is idle, the one
that has been unread for the longest is ended, once it has been so for a moment. Otherwise a client that reads
a little, and never enough, could keep its place without end.

Answered connections are in a heap by their deadline. The deadline is noted when a connection is looked at and
not with each request, so a request costs nothing here. A noted deadline is never later than the real one. So
the connection on top is the longest idle one, once its noted deadline is the real one.
"""

import heapq
import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, Protocol

LOOKS = 256
"""The most connections that are looked at to find an idle one: a newcomer must not cost much."""
MOMENT_SECONDS = 1.0
"""The time in which an honest client sends its request, handshake included, or takes some of its answer."""
QUIET_SECONDS = 60
"""The time without refusals after which the next refusal is logged again."""
_SLACK = 64

CountedAs = Callable[[str], str | None]
"""The key that a peer's connections are counted under; None counts them for nobody."""

log = logging.getLogger(__name__)


class _Since(NamedTuple):
    """The beginning of a wait."""

    at: float
    is_first: bool  # no request has come yet; else the connection is in the heap already


class Guest(Protocol):
    """A connection."""

    deadline: float
    """An idle connection with an earlier deadline has been idle for longer."""

    @property
    def idle(self) -> bool:
        """True when the connection can be ended without the loss of an answer."""

    def make_room(self) -> None:
        """End at once."""


class Admission:
    def __init__(self, connections: int, per_address: int, counted_as: CountedAs) -> None:
        self._room = connections
        self._per_address = per_address
        self._counted_as = counted_as
        self._inside: dict[Guest, str | None] = {}  # with the key that each is counted under
        self._counts: dict[str, int] = {}
        self._unfinished: OrderedDict[Guest, _Since] = OrderedDict()  # the earliest first
        self._unread: OrderedDict[Guest, float] = OrderedDict()  # with the beginning; the earliest first
        self._asked: list[tuple[float, int, Guest]] = []  # a heap by deadline as noted; some have left
        self._order = itertools.count()
        self._turned_away: OrderedDict[str, tuple[str, int, float]] = OrderedDict()
        """The text of a warning, the number of refusals, and the time of the last one, the earliest first."""
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
        if len(self._inside) >= self._room and not self._end_one(now, idle_deadline):
            self._turn_away("", "new connections", f"all {self._room} are busy (server.connections)", now)
            return False
        self._inside[guest] = key
        self._unfinished[guest] = _Since(now, is_first=True)
        if key is not None:
            self._counts[key] = has + 1
        return True

    def begins(self, guest: Guest, now: float) -> None:
        """Note that a connection waits for the rest of a request, or only for its end.

        Until `asked`, only the first call counts.
        """
        if guest in self._inside and guest not in self._unfinished:
            self._unfinished[guest] = _Since(now, is_first=False)

    def asked(self, guest: Guest, idle_deadline: float) -> None:
        """Note that a request is complete."""
        since = self._unfinished.pop(guest, None)
        if since is None or not since.is_first:
            return
        if len(self._asked) > 2 * len(self._inside) + _SLACK:
            self._asked = [entry for entry in self._asked if entry[2] in self._inside]
            heapq.heapify(self._asked)
        heapq.heappush(self._asked, (idle_deadline, next(self._order), guest))

    def unread(self, guest: Guest, now: float) -> None:
        """Note that a client does not keep up. Until `reads`, only the first call counts."""
        if guest in self._inside:
            self._unread.setdefault(guest, now)

    def reads(self, guest: Guest) -> None:
        """Note that the client keeps up again."""
        self._unread.pop(guest, None)

    def left(self, guest: Guest) -> None:
        """Forget a connection that is gone or about to be. A second call does nothing."""
        if guest not in self._inside:
            return
        key = self._inside.pop(guest)
        self._unfinished.pop(guest, None)
        self._unread.pop(guest, None)
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
            log.info("%s are closed no longer; %d were", who, times)

    def _turn_away(self, key: str, who: str, why: str, now: float) -> None:
        self.refused += 1
        if key not in self._turned_away:
            log.warning("%s are closed as they come: %s", who, why)
            self._turned_away[key] = (who, 1, now)
        else:
            who, times, _ = self._turned_away[key]
            self._turned_away[key] = (who, times + 1, now)
            self._turned_away.move_to_end(key)

    def _end_one(self, now: float, idle_deadline: float) -> bool:
        guest = self._idle_unfinished()
        if guest is None or self._unfinished[guest].at > now - MOMENT_SECONDS:
            idle = self._idle_asked(idle_deadline)
            if guest is None or (idle is not None and idle.deadline <= idle_deadline - MOMENT_SECONDS):
                guest = idle
        if guest is None:
            guest = self._longest_unread(now)
        if guest is None:
            return False
        self.left(guest)
        self.ended += 1
        guest.make_room()
        return True

    def _idle_unfinished(self) -> Guest | None:
        for _ in range(min(LOOKS, len(self._unfinished))):
            guest = next(iter(self._unfinished))
            if guest.idle:
                return guest
            self._unfinished.move_to_end(
                guest
            )  # its next bytes have come, or it has not taken its last answer
        return None

    def _longest_unread(self, now: float) -> Guest | None:
        guest, since = next(iter(self._unread.items()), (None, now))
        return guest if since <= now - MOMENT_SECONDS else None

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
            if guest.idle and guest not in self._unfinished:
                since = guest.deadline
                if since <= noted:
                    return guest
                if found is None or since < found.deadline:
                    found = guest
            heapq.heapreplace(heap, (since, next(self._order), guest))
        return found
