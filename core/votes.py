"""What the state needs of a vote table, and how votes are read while they change.

Law: a leaf is a copy; going on behind its last user, a reader meets every vote once.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

SLICE_BYTES = 64 << 10
SLICE_LISTINGS = 256


class VotesView(Protocol):
    """Votes by listing and user, as readers see them."""

    def get(self, ref: str, user: int) -> tuple[int, int] | None:
        """(cumulative count, last vote in Unix milliseconds), or None when the user never voted."""

    def voters(self, ref: str) -> int:
        """How many users have voted for the listing."""

    def votes(self, ref: str) -> Iterator[tuple[int, int, int]]:
        """(user, count, last vote in Unix milliseconds) in the order of user ids."""

    def parts(self, ref: str, user: int) -> Mapping[int, int]:
        """The user's cumulative count by the numbers of the nodes where it was cast."""

    @property
    def several(self) -> Mapping[str, Mapping[int, Mapping[int, int]]]:
        """The same by ref and user for all users who voted at several nodes."""

    def next_leaf(self, ref: str, after: int) -> bytes | None:
        """Some of the users behind user `after` (-1: from the first), then their packed votes, as
        little-endian 64-bit numbers; None at the end."""

    def by_node(self, ref: str, leaf: bytes) -> tuple[bytes, list[int]]:
        """What `next_leaf` gave for the listing, without the voters of several nodes; and those."""

    @staticmethod
    def users(leaf: bytes) -> Sequence[int]:
        """Those of a leaf, in order."""

    @staticmethod
    def without_nodes(packed: bytes) -> bytes:
        """The second half of a leaf, as if all votes had been cast at one node."""

    def __len__(self) -> int:
        """(listing, user) pairs held."""


class Votes(VotesView, Protocol):
    def put(self, ref: str, user: int, count: int, last_ms: int, node: int = 0) -> None:
        """The user's count at a node, and the time of a vote there, unless more or later is known."""

    def merge(self, ref: str, leaf: bytes, nodes: Sequence[int]) -> None:
        """Puts each vote of a leaf that `by_node` of another table gave; `nodes[n]` is node n of that."""

    def load(self, leaves: Iterable[tuple[str, bytes]]) -> None: ...
    def remove_listing(self, ref: str) -> None: ...
    def remove(self, ref: str, user: int) -> None: ...


def leaves_of(votes: VotesView, ref: str) -> Iterator[bytes]:
    """All votes of a listing, leaf by leaf; votes may be put meanwhile."""
    after = -1
    while (leaf := votes.next_leaf(ref, after)) is not None:
        yield leaf
        half = len(leaf) // 2
        after = int.from_bytes(leaf[half - 8 : half], "little")


def copy_votes(votes: VotesView, refs: Sequence[str]) -> Iterator[list[tuple[str, bytes]]]:
    """(ref, leaf) for all votes of the listings, which are sorted and stay so while they change.

    Each leaf is as it is when its turn comes. A slice ends at 64 KiB or 256 listings, whichever comes first,
    but for one leaf more.
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
