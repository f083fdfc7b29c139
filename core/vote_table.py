"""Votes in packed columns. Invariant: a vote takes 16 bytes.

The voters of a listing are in sorted leaves of at most `2 * LEAF` entries. A leaf is one `array('Q')` of two
columns, one behind the other. The first column has the user ids. The second has for each user the last vote
in milliseconds (42 bits, until the year 2109), the node where it was cast (6 bits), and the cumulative count
(16 bits). A dict of tuples takes about eight times as much.

Counts are kept by node, because nodes of a fleet count for themselves. Of each node the greatest count
stands, and a user's count is their sum. So votes may be put again, and in any order. Nearly all users vote at
one node. The counts of the others (node `SEVERAL`) are kept by node beside the leaves. Their sum may have
a bound of its own: a like is 1, also if it was given at two nodes at the same moment.

Most listings have few voters: a single leaf with nothing around it. When it overflows, it becomes a row of
leaves.

A reader gets leaves as copies. If it goes on behind the last user of each leaf, it meets every vote once,
also while votes are put.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from typing import Protocol, final

LEAF = 1_024
COUNT_BITS = 16
NODE_BITS = 6
MS_SHIFT = COUNT_BITS + NODE_BITS
MAX_COUNT = (1 << COUNT_BITS) - 1
SEVERAL = (1 << NODE_BITS) - 1
MAX_MS = (1 << 64 - MS_SHIFT) - 1
WITHOUT_NODE = (1 << 64) - 1 ^ SEVERAL << COUNT_BITS
SLICE_BYTES = 64 << 10
SLICE_LISTINGS = 256
_LITTLE = sys.byteorder == "little"

_Leaf = array  # of 2n numbers: n users in ascending order, then their n packed votes


class VoteChanges(Protocol):
    """Notes changes of votes: see `core/changes.py`."""

    def voted(self, ref: str, user: int) -> None: ...
    def all_gone(self, ref: str) -> None: ...


@final
class _Leaves:
    """The voters of a listing with many. Invariant: two leaves or more, sorted, none empty; `firsts[i]` is
    the first user of leaf i."""

    __slots__ = ("firsts", "leaves")

    def __init__(self, leaves: "list[_Leaf[int]]") -> None:
        self.leaves = leaves
        self.firsts = array("Q", [leaf[0] for leaf in leaves])

    def index_of(self, user: int) -> int:
        """Return the index of the leaf where the user is or would be."""
        return max(bisect_right(self.firsts, user) - 1, 0)

    def split(self, index: int) -> None:
        # Ids grow with time, so new users arrive at the right end: leaving the left leaf nearly full
        # there keeps the table dense.
        leaf, is_last = self.leaves[index], index == len(self.leaves) - 1
        left, right = _cut(leaf, LEAF if is_last else LEAF // 2)
        self.leaves[index : index + 1] = [left, right]
        self.firsts.insert(index + 1, right[0])


class VotesView:
    """Votes by listing and user, as readers see them."""

    def __init__(self) -> None:
        self._listings: dict[str, _Leaf[int] | _Leaves] = {}
        self._parts: dict[str, dict[int, dict[int, int]]] = {}
        self.several: Mapping[str, Mapping[int, Mapping[int, int]]] = self._parts
        """By ref, user and node: the counts of users who voted at several nodes."""
        self._total = 0
        self._counted: dict[str, int] = {}
        """The sum of all counts, by ref."""

    def get(self, ref: str, user: int) -> tuple[int, int] | None:
        """Return (cumulative count, last vote in Unix ms); None if the user never voted."""
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
        return packed & MAX_COUNT, packed >> MS_SHIFT

    def voted(self, refs: Iterable[str], user: int) -> list[str]:
        """Return those of some refs for which the user has voted. A walk through all listings asks for many
        at once, because a call for each takes longer than the look."""
        found, leaf_of = [], self._listings.get
        for ref in refs:
            leaf = leaf_of(ref)
            if leaf is None:
                continue
            if type(leaf) is _Leaves:
                leaf = leaf.leaves[leaf.index_of(user)]
            half = len(leaf) >> 1
            at = bisect_left(leaf, user, 0, half)
            if at < half and leaf[at] == user:
                found.append(ref)
        return found

    def parts(self, ref: str, user: int) -> Mapping[int, int]:
        """Return the user's cumulative count by the number of the node where it was cast."""
        several = self._parts.get(ref, {}).get(user)
        if several is not None:
            return several
        packed = self._packed(ref, user)
        return {packed >> COUNT_BITS & SEVERAL: packed & MAX_COUNT} if packed is not None else {}

    def votes(self, ref: str) -> Iterator[tuple[int, int, int]]:
        """Yield (user, count, last vote in Unix ms) in the order of user ids."""
        for leaf in self._leaves(ref):
            half = len(leaf) >> 1
            for user, packed in zip(leaf[:half], leaf[half:], strict=True):
                yield user, packed & MAX_COUNT, packed >> MS_SHIFT

    def total(self, ref: str) -> int:
        """Return the sum of the cumulative counts of all who have voted for the listing."""
        return self._counted.get(ref, 0)

    def voters(self, ref: str) -> int:
        """Return the number of users who have voted for the listing."""
        return sum(len(leaf) >> 1 for leaf in self._leaves(ref))

    def next_leaf(self, ref: str, after: int) -> bytes | None:
        """Return the users of one leaf behind user `after` (-1: the first ones), then their packed votes.

        All are little-endian 64-bit numbers; None at the end.
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

    def only_leaf(self, ref: str) -> bytes | None:
        """Return all votes of a listing that has few, as `next_leaf`; None if there are several leaves."""
        voters = self._listings.get(ref)
        if type(voters) is _Leaves:
            return None
        return _to_bytes(voters) if voters is not None else b""

    def changed(self, ref: str, users: Sequence[int]) -> tuple[bytes, bytes]:
        """Return a leaf with the votes of some users, in ascending order, and those users without a vote."""
        found = [(user, packed) for user in users if (packed := self._packed(ref, user)) is not None]
        voters = array("Q", [user for user, _ in found])
        removed = array("Q", sorted({*users}.difference(voters)))
        return _to_bytes(voters + array("Q", [packed for _, packed in found])), _to_bytes(removed)

    def by_node(self, ref: str, leaf: bytes) -> tuple[bytes, list[int]]:
        """Return a leaf of the listing without the voters of several nodes, and those voters."""
        content = _from_bytes(leaf)
        half = len(content) >> 1
        if ref not in self._parts:
            return leaf, []
        rest = [at for at in range(half) if content[half + at] >> COUNT_BITS & SEVERAL != SEVERAL]
        several = [content[at] for at in range(half) if content[half + at] >> COUNT_BITS & SEVERAL == SEVERAL]
        kept = array("Q", [content[at] for at in rest] + [content[half + at] for at in rest])
        return _to_bytes(kept), several

    @staticmethod
    def users(leaf: bytes) -> Sequence[int]:
        """Return the users of a leaf, in order."""
        return _from_bytes(leaf[: len(leaf) // 2])

    @staticmethod
    def times(leaf: bytes) -> Iterable[int]:
        """Return the time of the last vote of each user in a leaf (Unix ms)."""
        return [packed >> MS_SHIFT for packed in _from_bytes(leaf[len(leaf) // 2 :])]

    @staticmethod
    def newest(leaf: bytes, most: int) -> list[tuple[int, int, int]]:
        """Return (last vote in Unix ms, user, count) of a leaf's newest votes, the newest first."""
        content = _from_bytes(leaf)
        half = len(content) >> 1
        found = nlargest(most, zip(content[half:], content[:half], strict=True))
        return [(packed >> MS_SHIFT, user, packed & MAX_COUNT) for packed, user in found]

    @staticmethod
    def without_nodes(packed: bytes) -> bytes:
        """Return the second half of a leaf as if all votes had been cast at one node."""
        return _to_bytes(array("Q", [vote & WITHOUT_NODE for vote in _from_bytes(packed)]))

    def __len__(self) -> int:
        """Return the number of (listing, user) pairs."""
        return self._total

    def _packed(self, ref: str, user: int) -> int | None:
        voters = self._listings.get(ref)
        if voters is None:
            return None
        _, leaf = _leaf_of(voters, user)
        half = len(leaf) >> 1
        at = bisect_left(leaf, user, 0, half)
        return leaf[half + at] if at < half and leaf[at] == user else None

    def _leaves(self, ref: str) -> "Iterable[_Leaf[int]]":
        voters = self._listings.get(ref)
        if voters is None:
            return ()
        return voters.leaves if type(voters) is _Leaves else (voters,)


class VoteTable(VotesView):
    def __init__(self, most: Callable[[str], int] = lambda _: MAX_COUNT) -> None:
        """`most` returns the greatest count that a user may have for a listing over all nodes."""
        super().__init__()
        self._most = most
        self.changes: VoteChanges | None = None
        """Gets the votes that are put and removed."""

    def put(self, ref: str, user: int, count: int, last_ms: int, node: int = 0) -> None:
        """Take the user's count at a node and the time of a vote; a greater count and a later time stay.

        A value that does not fit its field becomes the greatest that does: 65,535 votes, the year 2109.
        """
        count, last_ms = min(count, MAX_COUNT), min(max(last_ms, 0), MAX_MS)
        if self.changes is not None:
            self.changes.voted(ref, user)
        voters = self._listings.get(ref)
        if voters is None:
            voters = self._listings[ref] = array("Q")
        index, leaf = _leaf_of(voters, user)
        half = len(leaf) >> 1
        at = bisect_left(leaf, user, 0, half)
        if at < half and leaf[at] == user:
            before = leaf[half + at]
            after = leaf[half + at] = self._joined(ref, user, before, count, last_ms, node)
            self._counted[ref] += (after & MAX_COUNT) - (before & MAX_COUNT)
            return
        if node >= SEVERAL:
            self._parts.setdefault(ref, {})[user] = {node: count}
        packed = last_ms << MS_SHIFT | min(node, SEVERAL) << COUNT_BITS | count
        self._insert(ref, voters, index, at, user, packed)

    def _insert(
        self, ref: str, voters: "_Leaf[int] | _Leaves", index: int, at: int, user: int, packed: int
    ) -> None:
        """Insert a new voter at a place of the leaf with that index."""
        leaf = voters.leaves[index] if type(voters) is _Leaves else voters
        leaf.insert((len(leaf) >> 1) + at, packed)
        leaf.insert(at, user)
        self._total += 1
        self._counted[ref] = self._counted.get(ref, 0) + (packed & MAX_COUNT)
        if type(voters) is _Leaves:
            voters.firsts[index] = leaf[0]
            if len(leaf) > 2 * LEAF:
                voters.split(index)
        elif len(leaf) > 2 * LEAF:
            self._listings[ref] = _Leaves(_cut(leaf, LEAF))

    def merge(self, ref: str, leaf: bytes, nodes: Sequence[int]) -> None:
        """Put each vote of a leaf that `by_node` of another table gave; `nodes[n]` is node n of that."""
        content = _from_bytes(leaf)
        half = len(content) >> 1
        if half and max(nodes) < SEVERAL and self._last_user(ref) < content[0]:
            bits = [node << COUNT_BITS for node in nodes]
            packed = [vote & WITHOUT_NODE | bits[vote >> COUNT_BITS & SEVERAL] for vote in content[half:]]
            joined = _to_bytes(content[:half] + array("Q", packed))
            if self.changes is not None:
                for user in content[:half]:
                    self.changes.voted(ref, user)
            self.load([(ref, joined)], [sum(vote & MAX_COUNT for vote in packed)])
            return
        for user, vote in zip(content[:half], content[half:], strict=True):
            self.put(ref, user, vote & MAX_COUNT, vote >> MS_SHIFT, nodes[vote >> COUNT_BITS & SEVERAL])

    def load(self, leaves: Iterable[tuple[str, bytes]], counted: Iterable[int]) -> None:
        """Append leaves, with their refs, each behind the votes of its listing. `counted` has the sum of the
        counts in each: see `counted_in`."""
        listings, total, sums = self._listings, self._total, self._counted
        for (ref, content), count in zip(leaves, counted, strict=True):
            leaf = array("Q", content) if _LITTLE else _from_bytes(content)  # a start does this for each
            sums[ref] = sums.get(ref, 0) + count
            total += len(leaf) >> 1
            voters = listings.setdefault(ref, leaf)
            if voters is leaf:
                continue
            if type(voters) is _Leaves:
                voters.leaves.append(leaf)
                voters.firsts.append(leaf[0])
            else:
                listings[ref] = _Leaves([voters, leaf])
        self._total = total

    def remove(self, ref: str, user: int) -> None:
        """Remove the user's votes for the listing, if there are any."""
        voters = self._listings.get(ref)
        if voters is None:
            return
        index, leaf = _leaf_of(voters, user)
        removed = _remove(leaf, user)
        if removed is None:
            return
        if self.changes is not None:
            self.changes.voted(ref, user)
        self._total -= 1
        self._counted[ref] -= removed & MAX_COUNT
        self._forget_parts(ref, user)
        if type(voters) is not _Leaves:
            if not leaf:
                del self._listings[ref], self._counted[ref]
        elif leaf:
            voters.firsts[index] = leaf[0]
        else:
            del voters.leaves[index], voters.firsts[index]
            if len(voters.leaves) == 1:
                self._listings[ref] = voters.leaves[0]

    def load_changed(self, ref: str, leaf: bytes, removed: bytes) -> None:
        """Take votes exactly as they are in a leaf, and remove those of some users. Parts follow."""
        for user in _from_bytes(removed):
            self.remove(ref, user)
        content = _from_bytes(leaf)
        half = len(content) >> 1
        for user, packed in zip(content[:half], content[half:], strict=True):
            self._set(ref, user, packed)

    def _set(self, ref: str, user: int, packed: int) -> None:
        voters = self._listings.get(ref)
        if voters is None:
            voters = self._listings[ref] = array("Q")
        index, leaf = _leaf_of(voters, user)
        half = len(leaf) >> 1
        at = bisect_left(leaf, user, 0, half)
        if at < half and leaf[at] == user:
            self._counted[ref] += (packed & MAX_COUNT) - (leaf[half + at] & MAX_COUNT)
            leaf[half + at] = packed
            self._forget_parts(ref, user)
        else:
            self._insert(ref, voters, index, at, user, packed)

    def remove_listing(self, ref: str) -> None:
        if self.changes is not None:
            self.changes.all_gone(ref)
        self._total -= self.voters(ref)
        self._listings.pop(ref, None)
        self._parts.pop(ref, None)
        self._counted.pop(ref, None)

    def _joined(self, ref: str, user: int, packed: int, count: int, last_ms: int, node: int) -> int:
        last_ms = max(last_ms, packed >> MS_SHIFT)
        known = packed >> COUNT_BITS & SEVERAL
        if known == node != SEVERAL:
            return last_ms << MS_SHIFT | node << COUNT_BITS | max(count, packed & MAX_COUNT)
        of_listing = self._parts.setdefault(ref, {})
        if user not in of_listing:
            of_listing[user] = {known: packed & MAX_COUNT} if known != SEVERAL else {}
        parts = of_listing[user]
        parts[node] = max(count, parts.get(node, 0))
        return last_ms << MS_SHIFT | SEVERAL << COUNT_BITS | min(sum(parts.values()), self._most(ref))

    def _forget_parts(self, ref: str, user: int) -> None:
        of_listing = self._parts.get(ref)
        if of_listing is not None and of_listing.pop(user, None) is not None and not of_listing:
            del self._parts[ref]

    def _last_user(self, ref: str) -> int:
        voters = self._listings.get(ref)
        if voters is None:
            return -1
        leaf = voters.leaves[-1] if type(voters) is _Leaves else voters
        return leaf[(len(leaf) >> 1) - 1]


def _leaf_of(voters: "_Leaf[int] | _Leaves", user: int) -> "tuple[int, _Leaf[int]]":
    """Return the index of the leaf where the user is or would be, and the leaf."""
    if isinstance(voters, _Leaves):
        index = voters.index_of(user)
        return index, voters.leaves[index]
    return 0, voters


def _remove(leaf: "_Leaf[int]", user: int) -> int | None:
    """Remove the user and return the packed vote; None if the user is not in the leaf."""
    half = len(leaf) >> 1
    at = bisect_left(leaf, user, 0, half)
    if at == half or leaf[at] != user:
        return None
    packed = leaf.pop(half + at)
    del leaf[at]
    return packed


def _cut(leaf: "_Leaf[int]", at: int) -> "list[_Leaf[int]]":
    """Split a leaf in two, the first with `at` entries."""
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


def counted_in(leaf: bytes) -> int:
    """Return the sum of the cumulative counts in a leaf: those are the low 16 bits of packed votes."""
    packed = leaf[len(leaf) // 2 :]  # sums of bytes are quicker than one of numbers
    return sum(packed[::8]) + (sum(packed[1::8]) << 8)


def leaves_of(votes: VotesView, ref: str) -> Iterator[bytes]:
    """Return all votes of a listing, leaf by leaf; votes may be put meanwhile."""
    after = -1
    while (leaf := votes.next_leaf(ref, after)) is not None:
        yield leaf
        half = len(leaf) // 2
        after = int.from_bytes(leaf[half - 8 : half], "little")


def copy_votes(votes: VotesView, refs: Sequence[str]) -> Iterator[list[tuple[str, bytes]]]:
    """Return (ref, leaf) for all votes of the listings, in slices.

    `refs` are sorted and stay sorted while they change. Each leaf is as it is when its turn comes. A slice
    ends with the leaf that reaches 64 KiB, or with the 256th listing.
    """
    after, rows, size, listings = "", list[tuple[str, bytes]](), 0, 0
    while (index := bisect_right(refs, after)) < len(refs):
        after = refs[index]
        listings += 1
        for leaf in leaves_of(votes, after):
            rows.append((after, leaf))
            size += len(leaf)
            if size >= SLICE_BYTES:
                yield rows
                rows, size, listings = [], 0, 0
        if listings >= SLICE_LISTINGS:
            yield rows
            rows, size, listings = [], 0, 0
    yield rows
