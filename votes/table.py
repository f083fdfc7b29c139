"""Votes in packed columns. Law: a vote is 16 bytes, whoever cast it.

Per listing, the voters stand in sorted leaves of at most `LEAF` entries. A leaf is one `array('Q')` of two
columns, one behind the other: the user ids, then for each the last vote in milliseconds (42 bits, until the
year 2109) packed with the cumulative count (22 bits). A dict of tuples takes about eight times as much.

Most listings have few voters, and theirs is a single leaf without anything around it; only when it overflows
does it become a row of leaves.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import final

LEAF = 1_024
COUNT_BITS = 22
MAX_COUNT = (1 << COUNT_BITS) - 1
MAX_MS = (1 << 64 - COUNT_BITS) - 1
_LITTLE = sys.byteorder == "little"

_Leaf = array  # of 2n numbers: n users in ascending order, then their n packed votes


@final
class _Leaves:
    """The voters of a listing with many. Invariant: two leaves or more, sorted, none empty; `firsts[i]` is
    the first user of leaf i."""

    __slots__ = ("firsts", "leaves")

    def __init__(self, leaves: "list[_Leaf[int]]") -> None:
        self.leaves = leaves
        self.firsts = array("Q", [leaf[0] for leaf in leaves])

    def index_of(self, user: int) -> int:
        """Index of the leaf where the user stands or would stand."""
        return max(bisect_right(self.firsts, user) - 1, 0)

    def split(self, index: int) -> None:
        # Ids grow with time, so new users arrive at the right end: leaving the left leaf nearly full
        # there keeps the table dense.
        leaf, is_last = self.leaves[index], index == len(self.leaves) - 1
        left, right = _cut(leaf, LEAF if is_last else LEAF // 2)
        self.leaves[index : index + 1] = [left, right]
        self.firsts.insert(index + 1, right[0])


class VoteTable:
    def __init__(self) -> None:
        self._listings: dict[str, _Leaf[int] | _Leaves] = {}
        self._total = 0

    def get(self, ref: str, user: int) -> tuple[int, int] | None:
        """(cumulative count, last vote in Unix milliseconds), or None when the user never voted."""
        leaf = self._listings.get(ref)
        if leaf is None:
            return None
        if type(leaf) is _Leaves:
            leaf = leaf.leaves[leaf.index_of(user)]
        half = len(leaf) >> 1
        at = bisect_left(leaf, user, 0, half)
        if at == half or leaf[at] != user:
            return None
        packed = leaf[half + at]
        return packed & MAX_COUNT, packed >> COUNT_BITS

    def put(self, ref: str, user: int, count: int, last_ms: int) -> None:
        """What does not fit its field stays at its end: counts at 4,194,303, times in the year 2109."""
        packed = min(max(last_ms, 0), MAX_MS) << COUNT_BITS | min(count, MAX_COUNT)
        voters = self._listings.get(ref)
        if voters is None:
            self._listings[ref] = array("Q", (user, packed))
            self._total += 1
        elif type(voters) is _Leaves:
            index = voters.index_of(user)
            leaf = voters.leaves[index]
            self._total += _put(leaf, user, packed)
            voters.firsts[index] = leaf[0]
            if len(leaf) > 2 * LEAF:
                voters.split(index)
        else:
            self._total += _put(voters, user, packed)
            if len(voters) > 2 * LEAF:
                self._listings[ref] = _Leaves(_cut(voters, LEAF))

    def votes(self, ref: str) -> Iterator[tuple[int, int, int]]:
        """(user, count, last vote in Unix milliseconds) in the order of user ids."""
        for leaf in self._leaves(ref):
            half = len(leaf) >> 1
            for user, packed in zip(leaf[:half], leaf[half:], strict=True):
                yield user, packed & MAX_COUNT, packed >> COUNT_BITS

    def remove(self, ref: str, user: int) -> None:
        """Forgets the user's votes for the listing, if there are any."""
        voters = self._listings.get(ref)
        if voters is None:
            return
        index = voters.index_of(user) if type(voters) is _Leaves else 0
        leaf = voters.leaves[index] if type(voters) is _Leaves else voters
        if not _remove(leaf, user):
            return
        self._total -= 1
        if type(voters) is not _Leaves:
            if not leaf:
                del self._listings[ref]
        elif leaf:
            voters.firsts[index] = leaf[0]
        else:
            del voters.leaves[index], voters.firsts[index]
            if len(voters.leaves) == 1:
                self._listings[ref] = voters.leaves[0]

    def remove_listing(self, ref: str) -> None:
        self._total -= self.voters(ref)
        self._listings.pop(ref, None)

    def voters(self, ref: str) -> int:
        return sum(len(leaf) >> 1 for leaf in self._leaves(ref))

    def next_leaf(self, ref: str, after: int) -> bytes | None:
        """The users of one leaf who come behind user `after`, then their packed votes; None at the end.

        All are little-endian 64-bit numbers. Beginning with -1 and going on behind the last user each time,
        a reader gets every vote once, also when votes are put between two calls.
        """
        voters = self._listings.get(ref)
        if voters is None:
            return None
        if type(voters) is _Leaves:
            index = voters.index_of(after)
            leaves = voters.leaves[index : index + 2]
        else:
            leaves = [voters]
        for leaf in leaves:
            half = len(leaf) >> 1
            at = bisect_right(leaf, after, 0, half)
            if at == 0:
                return _to_bytes(leaf)
            if at < half:
                return _to_bytes(leaf[at:half] + leaf[half + at :])
        return None

    def load(self, leaves: Iterable[tuple[str, bytes]]) -> None:
        """Takes (ref, what `next_leaf` gave), each behind the votes that its listing has."""
        for ref, content in leaves:
            leaf = _from_bytes(content)
            self._total += len(leaf) >> 1
            voters = self._listings.setdefault(ref, leaf)
            if type(voters) is _Leaves:
                voters.leaves.append(leaf)
                voters.firsts.append(leaf[0])
            elif voters is not leaf:
                self._listings[ref] = _Leaves([voters, leaf])

    def __len__(self) -> int:
        return self._total

    def _leaves(self, ref: str) -> "Iterable[_Leaf[int]]":
        voters = self._listings.get(ref)
        if voters is None:
            return ()
        return voters.leaves if type(voters) is _Leaves else (voters,)


def _put(leaf: "_Leaf[int]", user: int, packed: int) -> bool:
    """True when the user is new."""
    half = len(leaf) >> 1
    at = bisect_left(leaf, user, 0, half)
    if at < half and leaf[at] == user:
        leaf[half + at] = packed
        return False
    leaf.insert(half + at, packed)
    leaf.insert(at, user)
    return True


def _remove(leaf: "_Leaf[int]", user: int) -> bool:
    """False when the user is not there."""
    half = len(leaf) >> 1
    at = bisect_left(leaf, user, 0, half)
    if at == half or leaf[at] != user:
        return False
    del leaf[half + at], leaf[at]
    return True


def _cut(leaf: "_Leaf[int]", at: int) -> "list[_Leaf[int]]":
    """The leaf as two, the first with `at` entries."""
    half = len(leaf) >> 1
    return [leaf[:at] + leaf[half : half + at], leaf[at:half] + leaf[half + at :]]


def _to_bytes(leaf: "_Leaf[int]") -> bytes:
    if not _LITTLE:
        leaf = leaf[:]
        leaf.byteswap()
    return leaf.tobytes()


def _from_bytes(content: bytes) -> "_Leaf[int]":
    leaf = array("Q", content)
    if not _LITTLE:
        leaf.byteswap()
    return leaf
