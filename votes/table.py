"""Votes in packed columns. Law: a vote is 16 bytes, whoever cast it.

Per listing, the voters stand in sorted leaves of at most `LEAF` entries. A leaf is two `array('Q')`
columns: user ids, and beside each the last vote in milliseconds (42 bits, until the year 2109) packed with
the cumulative count (22 bits). A dict of tuples takes about eight times as much.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

LEAF = 1_024
COUNT_BITS = 22
MAX_COUNT = (1 << COUNT_BITS) - 1
MAX_MS = (1 << 64 - COUNT_BITS) - 1
_LITTLE = sys.byteorder == "little"


class _Leaf:
    __slots__ = ("packed", "users")

    def __init__(self, users: "array[int]", packed: "array[int]") -> None:
        self.users = users
        self.packed = packed


class _Voters:
    """The voters of one listing. Invariant: leaves are sorted, none is empty, `firsts[i]` opens leaf i."""

    __slots__ = ("firsts", "leaves")

    def __init__(self) -> None:
        self.firsts: array[int] = array("Q")
        self.leaves: list[_Leaf] = []

    def find(self, user: int) -> tuple[_Leaf, int, bool] | None:
        """(leaf, index, present) where the user stands or would stand; None without leaves."""
        if not self.leaves:
            return None
        leaf = self.leaves[max(bisect_right(self.firsts, user) - 1, 0)]
        at = bisect_left(leaf.users, user)
        return leaf, at, at < len(leaf.users) and leaf.users[at] == user

    def put(self, user: int, packed: int) -> bool:
        """True when the user is new."""
        found = self.find(user)
        if found is None:
            self.leaves.append(_Leaf(array("Q", [user]), array("Q", [packed])))
            self.firsts.append(user)
            return True
        leaf, at, present = found
        if present:
            leaf.packed[at] = packed
            return False
        leaf.users.insert(at, user)
        leaf.packed.insert(at, packed)
        index = max(bisect_right(self.firsts, user) - 1, 0)
        self.firsts[index] = leaf.users[0]
        if len(leaf.users) > LEAF:
            self._split(index)
        return True

    def _split(self, index: int) -> None:
        leaf = self.leaves[index]
        # Ids grow with time, so new users arrive at the right end: leaving the left leaf nearly full
        # there keeps the table dense.
        cut = LEAF if index == len(self.leaves) - 1 else LEAF // 2
        right = _Leaf(leaf.users[cut:], leaf.packed[cut:])
        del leaf.users[cut:]
        del leaf.packed[cut:]
        self.leaves.insert(index + 1, right)
        self.firsts.insert(index + 1, right.users[0])

    def remove(self, user: int) -> bool:
        found = self.find(user)
        if found is None or not found[2]:
            return False
        leaf, at, _ = found
        index = bisect_right(self.firsts, user) - 1
        del leaf.users[at]
        del leaf.packed[at]
        if leaf.users:
            self.firsts[index] = leaf.users[0]
        else:
            del self.leaves[index]
            del self.firsts[index]
        return True

    def __len__(self) -> int:
        return sum(len(leaf.users) for leaf in self.leaves)


class VoteTable:
    def __init__(self) -> None:
        self._listings: dict[str, _Voters] = {}
        self._total = 0

    def get(self, ref: str, user: int) -> tuple[int, int] | None:
        """(cumulative count, last vote in Unix milliseconds), or None when the user never voted."""
        voters = self._listings.get(ref)
        found = voters.find(user) if voters is not None else None
        if found is None or not found[2]:
            return None
        packed = found[0].packed[found[1]]
        return packed & MAX_COUNT, packed >> COUNT_BITS

    def put(self, ref: str, user: int, count: int, last_ms: int) -> None:
        """What does not fit its field stays at its end: counts at 4,194,303, times in the year 2109."""
        voters = self._listings.get(ref)
        if voters is None:
            voters = self._listings[ref] = _Voters()
        self._total += voters.put(user, min(max(last_ms, 0), MAX_MS) << COUNT_BITS | min(count, MAX_COUNT))

    def votes(self, ref: str) -> Iterator[tuple[int, int, int]]:
        """(user, count, last vote in Unix milliseconds) in the order of user ids."""
        voters = self._listings.get(ref)
        for leaf in voters.leaves if voters is not None else ():
            for user, packed in zip(leaf.users, leaf.packed, strict=True):
                yield user, packed & MAX_COUNT, packed >> COUNT_BITS

    def remove_user(self, user: int) -> list[str]:
        """Forgets the user everywhere; returns the listings that lost a vote."""
        refs = [ref for ref, voters in self._listings.items() if voters.remove(user)]
        for ref in refs:
            if not self._listings[ref].leaves:
                del self._listings[ref]
        self._total -= len(refs)
        return refs

    def remove_listing(self, ref: str) -> None:
        voters = self._listings.pop(ref, None)
        if voters is not None:
            self._total -= len(voters)

    def refs(self) -> Iterable[str]:
        """The listings that have votes."""
        return self._listings.keys()

    def voters(self, ref: str) -> int:
        voters = self._listings.get(ref)
        return len(voters) if voters is not None else 0

    def columns(self, ref: str) -> tuple[bytes, bytes]:
        """All users, then all packed votes, as little-endian 64-bit numbers in the order of user ids."""
        users, packed = array("Q"), array("Q")
        voters = self._listings.get(ref)
        for leaf in voters.leaves if voters is not None else ():
            users.extend(leaf.users)
            packed.extend(leaf.packed)
        return _little_endian(users).tobytes(), _little_endian(packed).tobytes()

    def load(self, ref: str, columns: tuple[bytes, bytes]) -> None:
        """Takes what `columns` gave, in place of the listing's votes."""
        self.remove_listing(ref)
        users, packed = array("Q"), array("Q")
        users.frombytes(columns[0])
        packed.frombytes(columns[1])
        _little_endian(users)
        _little_endian(packed)
        voters = _Voters()
        for start in range(0, len(users), LEAF):
            voters.leaves.append(_Leaf(users[start : start + LEAF], packed[start : start + LEAF]))
            voters.firsts.append(users[start])
        if voters.leaves:
            self._listings[ref] = voters
            self._total += len(users)

    def __len__(self) -> int:
        return self._total


def _little_endian(column: "array[int]") -> "array[int]":
    if not _LITTLE:
        column.byteswap()
    return column
