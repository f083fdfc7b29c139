"""The memory of a node about its fleet. Invariant: of two values for one thing, the greater one stays.

A label names a node as long as its memory reaches: `<name>.<epoch>`. A node that lost its data, or went back
to older data, begins a new epoch, and so is another node for all who count by node. The vote table knows
nodes by number: the place of their label in `numbers`.

* `cursors`: the position up to which this node knows everything that another has told, by its label.
* `removed` and `erased` are tombstones: when a listing was last removed, by ref, and a user, by pseudonym.
  Facts from before that time are ignored, so nothing that was erased comes back.
* `removed_votes` are tombstones of votes: when they were last removed, by ref and user. They go when the
  listing is removed or the user erased. Of each listing the newest are kept, and of all listings.
* `latest_ms`: the newest time of a stamp.
"""

import hashlib
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush, nsmallest
from typing import Protocol

from core.rows import FleetRow, Stamp

COOLDOWNS_KEPT = 100_000
"""The pseudonyms that are kept. The ones whose cooldowns end first go first."""

Cooldown = tuple[str, int]
"""A pseudonym, and the end of its cooldown (Unix ms)."""


class CooldownTable:
    """The cooldowns of votes that are gone, erased by their users or removed by moderators. Invariant:
    neither ends a cooldown.

    Without them somebody could vote, be forgotten, and vote again, and each vote would send a webhook. A
    pseudonym stands for a listing and a user: a keyed digest, which tells nobody who it was. It goes when its
    cooldown is over.
    """

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}
        self.ends: Mapping[str, int] = self._ends
        """The end of each cooldown, by pseudonym."""

    def clear(self) -> None:
        self._ends.clear()

    def keep(self, cooldowns: Iterable[Cooldown], now_ms: int) -> None:
        """Take cooldowns, and drop those that are over. Of two ends of one cooldown the later one holds."""
        for pseudonym, end_ms in cooldowns:
            self._ends[pseudonym] = max(end_ms, self._ends.get(pseudonym, 0))
        left = [(end_ms, pseudonym) for pseudonym, end_ms in self._ends.items() if end_ms > now_ms]
        if len(left) > COOLDOWNS_KEPT:
            left = sorted(left)[-COOLDOWNS_KEPT:]
        if len(left) < len(self._ends):
            self._ends.clear()
            self._ends.update((pseudonym, end_ms) for end_ms, pseudonym in left)


REMOVED_VOTES_KEPT, REMOVED_VOTES_KEPT_IN_ALL = 10_000, 200_000  # of one listing, and of all


def label_of(name: str, epoch: int) -> str:
    return f"{name}.{epoch}"


def name_and_epoch(label: str) -> tuple[str, int]:
    name, _, epoch = label.partition(".")
    return name, int(epoch)


class FleetView(Protocol):
    """The memory, as readers see it."""

    @property
    def label(self) -> str:
        """This node's; empty if it never was in a fleet."""

    @property
    def own(self) -> int:
        """This node's number."""

    @property
    def latest_ms(self) -> int: ...
    @property
    def is_copy(self) -> bool:
        """The data were restored: the node that wrote them may still run elsewhere."""

    @property
    def numbers(self) -> Mapping[str, int]:
        """By label, in their order."""

    @property
    def cursors(self) -> Mapping[str, int]:
        """By label."""

    @property
    def removed(self) -> Mapping[str, int]:
        """By ref."""

    @property
    def erased(self) -> Mapping[str, int]:
        """By pseudonym."""

    @property
    def removed_votes(self) -> Mapping[str, Mapping[str, int]]:
        """By ref and user."""

    @property
    def tombstones(self) -> int:
        """A digest of `removed`, `erased` and `removed_votes`, equal for equal ones."""

    @property
    def row(self) -> FleetRow: ...


class FleetTable:
    def __init__(self) -> None:
        self.label = ""
        self.own = 0
        self.latest_ms = 0
        self.is_copy = False
        self.tombstones = 0
        self._numbers: dict[str, int] = {}
        self._cursors: dict[str, int] = {}
        self._removed: dict[str, int] = {}
        self._erased: dict[str, int] = {}
        self._removed_votes: dict[str, dict[str, int]] = {}
        self._removed_votes_count = 0
        self._oldest_removed: list[tuple[int, str, str]] = []
        """A heap of the removed votes, with some that are gone from the table since."""
        self.numbers: Mapping[str, int] = self._numbers
        self.cursors: Mapping[str, int] = self._cursors
        self.removed: Mapping[str, int] = self._removed
        self.erased: Mapping[str, int] = self._erased
        self.removed_votes: Mapping[str, Mapping[str, int]] = self._removed_votes

    @property
    def row(self) -> FleetRow:
        return FleetRow(
            self.label,
            tuple(self._numbers),
            dict(self._cursors),
            dict(self._removed),
            dict(self._erased),
            {ref: dict(users) for ref, users in self._removed_votes.items()},
            self.latest_ms,
            self.is_copy,
        )

    def load(self, row: FleetRow) -> None:
        """Replace everything that is known by a row."""
        self.tombstones = self._removed_votes_count = 0
        for table in (self._numbers, self._cursors, self._removed, self._erased, self._removed_votes):
            table.clear()
        self._oldest_removed.clear()
        self._numbers.update({label: number for number, label in enumerate(row.labels)})
        self._cursors.update(row.cursors)
        for ref, ms in row.removed.items():
            self.removed_at(ref, ms)
        for pseudonym, ms in row.erased.items():
            self.erased_at(pseudonym, ms)
        for ref, users in row.removed_votes.items():
            for user, ms in users.items():
                self.votes_removed_at(ref, (user,), ms)
        self.label, self.latest_ms, self.is_copy = row.label, row.latest_ms, row.is_copy
        self.own = self._numbers.get(row.label, 0)

    def named(self, label: str) -> None:
        """Take the label for this node's own."""
        self.label, self.is_copy = label, False
        self.own = self.number(label)

    def number(self, label: str) -> int:
        """Return the node's number; without a label, this node's."""
        return self._numbers.setdefault(label, len(self._numbers)) if label else self.own

    def heard(self, label: str, position: int) -> None:
        self._cursors[label] = max(position, self._cursors.get(label, 0))

    def stamp(self, ms: int) -> Stamp:
        """Return the stamp of a change that this node makes at that time."""
        self.stamped(ms)
        return Stamp(ms, self.label)

    def stamped(self, ms: int) -> None:
        self.latest_ms = max(ms, self.latest_ms)

    def removed_at(self, ref: str, ms: int) -> None:
        self._bury(self._removed, ref, ms)
        for user in [*self._removed_votes.get(ref, ())]:
            self._forget_votes(ref, user, ms)

    def erased_at(self, pseudonym: str, ms: int, user: str = "") -> None:
        """Remember an erased user. `user` is empty where nobody knew the id."""
        self._bury(self._erased, pseudonym, ms)
        for ref in [*self._removed_votes]:
            self._forget_votes(ref, user, ms)

    def votes_removed_at(self, ref: str, users: Iterable[str], ms: int) -> None:
        """Remember that votes of the users for the listing were removed, if it is not older than that."""
        if ms <= self._removed.get(ref, 0):
            return
        known = self._removed_votes.get(ref, {})
        for user in users:
            known = self._removed_votes.setdefault(ref, known)
            self._bury(known, user, ms, ref)
            heappush(self._oldest_removed, (ms, ref, user))
        by_age = ((ms, user) for user, ms in known.items())
        for removed_ms, user in nsmallest(max(len(known) - REMOVED_VOTES_KEPT, 0), by_age):
            self._forget_votes(ref, user, removed_ms)
        while self._removed_votes_count > REMOVED_VOTES_KEPT_IN_ALL:
            removed_ms, oldest, user = heappop(self._oldest_removed)
            self._forget_votes(oldest, user, removed_ms)
        if len(self._oldest_removed) > 2 * REMOVED_VOTES_KEPT_IN_ALL:
            self._oldest_removed = [
                (ms, ref, user) for ref, users in self._removed_votes.items() for user, ms in users.items()
            ]
            heapify(self._oldest_removed)

    def _forget_votes(self, ref: str, user: str, until_ms: int) -> None:
        known = self._removed_votes.get(ref, {})
        if 0 < known.get(user, 0) <= until_ms:
            self.tombstones -= _digest(f"{ref} {user}", known.pop(user))
            self._removed_votes_count -= 1
            if not known:
                del self._removed_votes[ref]

    def _bury(self, tombstones: dict[str, int], name: str, ms: int, ref: str = "") -> None:
        self.stamped(ms)
        before = tombstones.get(name, 0)
        if ms > before:
            tombstones[name] = ms
            self._removed_votes_count += bool(ref and not before)
            full_name = f"{ref} {name}" if ref else name
            self.tombstones += _digest(full_name, ms) - (_digest(full_name, before) if before else 0)


def _digest(name: str, ms: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{name} {ms}".encode(), digest_size=16).digest())
