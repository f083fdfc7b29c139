"""The servers of those who want to list one, as the chat platform said them. Law: in memory, for minutes.

The list comes with a sign-in, whose token is used once. So it is read anew by another sign-in, for which the
platform asks nobody who has said yes before. Nothing of it is written anywhere; after a restart, or at
another node of a fleet, it is asked for again. Only servers that the user may manage are kept.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from chatplatform.answers import PlatformServer
from core.clock import NS_PER_SECOND, Clock
from kinds.registry import KINDS

KEPT_NS = 600 * NS_PER_SECOND
MOST_USERS = 1_000
_SERVERS = "|".join(kind.plural for kind in KINDS if kind.is_a("server"))
_PAGES = re.compile(rf"/(?:{_SERVERS})/(new|[0-9]+/(?:manage|take-over))(?=[/?#]|$)")


class ServerList(NamedTuple):
    """The servers that a user may manage, and when the platform said so (Unix milliseconds). `is_known` is
    False if it gave no answer."""

    servers: Sequence[PlatformServer]
    at_ms: int
    is_known: bool = True

    def of(self, server_id: str) -> PlatformServer | None:
        return next((each for each in self.servers if each.id == server_id), None)


class ServerLists:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lists: dict[str, tuple[ServerList, int]] = {}
        """By user: the list, and when it came (monotonic ns); the oldest first."""

    @staticmethod
    def is_wanted(page: str) -> bool:
        """Tell whether the page to which a sign-in leads shows something of the list. No voter's does, so
        the platform is not asked for theirs."""
        return _PAGES.match(page) is not None

    def keep(self, user_id: str, servers: Sequence[PlatformServer] | None) -> None:
        """Keep what the platform said; None if it gave no answer."""
        self._lists.pop(user_id, None)
        managed = [each for each in servers or () if each.may_manage]
        found = ServerList(managed, self._clock.now_ms(), is_known=servers is not None)
        self._lists[user_id] = found, self._clock.monotonic_ns()
        if len(self._lists) > MOST_USERS:
            del self._lists[next(iter(self._lists))]
        self.drop_old()

    def of(self, user_id: str) -> ServerList | None:
        """Return the list of a user; None if there is none, or it is too old."""
        self.drop_old()
        known = self._lists.get(user_id)
        return known[0] if known is not None else None

    def forget(self, user_id: str) -> None:
        self._lists.pop(user_id, None)

    def drop_old(self) -> None:
        oldest_ns = self._clock.monotonic_ns() - KEPT_NS
        while self._lists:
            user_id, (_, came_ns) = next(iter(self._lists.items()))
            if came_ns > oldest_ns:
                return
            del self._lists[user_id]
