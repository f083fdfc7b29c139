"""The port of the vote table: the votes as the state needs them. `votes/table.py` is behind it.

Invariant: a leaf is a copy. A reader that goes on behind the last user of each leaf meets every vote once,
also while votes are put.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

SLICE_BYTES = 64 << 10
SLICE_LISTINGS = 256


class VotesView(Protocol):
    """Votes by listing and user, as readers see them."""

    def get(self, ref: str, user: int) -> tuple[int, int] | None:
        """Return (cumulative count, last vote in Unix ms); None if the user never voted."""

    def voters(self, ref: str) -> int:
        """Return the number of users who have voted for the listing."""

    def total(self, ref: str) -> int:
        """Return the sum of the cumulative counts of all who have voted for the listing."""

    def votes(self, ref: str) -> Iterator[tuple[int, int, int]]:
        """Return (user, count, last vote in Unix ms), in the order of user ids."""

    def parts(self, ref: str, user: int) -> Mapping[int, int]:
        """Return the user's cumulative count by the number of the node where it was cast."""

    @property
    def several(self) -> Mapping[str, Mapping[int, Mapping[int, int]]]:
        """The same by ref and user, for users who voted at several nodes."""

    def next_leaf(self, ref: str, after: int) -> bytes | None:
        """Return the next users behind user `after` (-1: the first ones), then their packed votes.

        All are little-endian 64-bit numbers; None at the end.
        """

    def by_node(self, ref: str, leaf: bytes) -> tuple[bytes, list[int]]:
        """Return a leaf of the listing without the voters of several nodes, and those voters."""

    @staticmethod
    def users(leaf: bytes) -> Sequence[int]:
        """Return the users of a leaf, in order."""

    @staticmethod
    def times(leaf: bytes) -> Iterable[int]:
        """Return the time of the last vote of each user in a leaf (Unix ms)."""

    @staticmethod
    def newest(leaf: bytes, most: int) -> Sequence[tuple[int, int, int]]:
        """Return (last vote in Unix ms, user, count) of a leaf's newest votes, the newest first."""

    @staticmethod
    def without_nodes(packed: bytes) -> bytes:
        """Return the second half of a leaf as if all votes had been cast at one node."""

    def __len__(self) -> int:
        """Return the number of (listing, user) pairs."""


class VoteStore(VotesView, Protocol):
    def put(self, ref: str, user: int, count: int, last_ms: int, node: int = 0) -> None:
        """Take the user's count at a node and the time of a vote; a greater count and a later time stay."""

    def merge(self, ref: str, leaf: bytes, nodes: Sequence[int]) -> None:
        """Put each vote of a leaf that `by_node` of another table gave; `nodes[n]` is node n of that."""

    def load(self, leaves: Iterable[tuple[str, bytes]], counted: Iterable[int]) -> None:
        """Take leaves. `counted` has the sum of the counts in each: see `counted_in`."""

    def remove_listing(self, ref: str) -> None: ...
    def remove(self, ref: str, user: int) -> None: ...


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
