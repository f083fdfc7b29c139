"""The changes since the newest snapshot. If the next one is a part, it writes only these.

Invariant: a listing or a user whose row, counts or deliveries have changed is noted, and so is each vote that
was put or removed. Some that have not changed may be noted, too.

Votes are noted by user, because a listing may have millions of them. Of finished deliveries only the number
of new ones is noted, as long as older ones leave in order, the oldest first.
"""

from array import array
from collections import Counter

MOST = 8_000_000
"""The votes that are noted, 8 bytes each. After more of them the next snapshot is a whole one."""


class Changes:
    def __init__(self) -> None:
        self.refs: set[str] = set()
        """The listings and users that have changed."""
        self.votes: dict[str, array[int]] = {}
        """The users whose votes were put or removed, by listing; some of them several times."""
        self.gone: set[str] = set()
        """The listings that have lost all votes at once. Their votes since then are in `votes`."""
        self.finished: Counter[str] = Counter()
        """The number of deliveries that have finished, by listing."""
        self.rewritten: set[str] = set()
        """The listings whose older finished deliveries have left out of order: a part writes all of them."""
        self.is_lost = False
        """True if there were more changes than are noted."""
        self._noted = 0

    def voted(self, ref: str, user: int) -> None:
        if self._noted >= MOST:
            self.is_lost = True
            return
        self._noted += 1
        users = self.votes.get(ref)
        if users is None:
            users = self.votes[ref] = array("Q")
        users.append(user)

    def all_gone(self, ref: str) -> None:
        self.gone.add(ref)
        self.votes.pop(ref, None)

    def kept(self, ref: str, finished: int) -> int:
        """Return how many of a listing's finished deliveries have not changed. They are the oldest ones."""
        return 0 if ref in self.rewritten else max(finished - self.finished[ref], 0)

    def add(self, later: "Changes") -> None:
        """Add later changes to these."""
        self.refs |= later.refs
        for ref in later.gone:
            self.all_gone(ref)
        for ref, users in later.votes.items():
            self.votes.setdefault(ref, array("Q")).extend(users)
        self.finished.update(later.finished)
        self.rewritten |= later.rewritten
        self.is_lost = self.is_lost or later.is_lost
        self._noted += later._noted
