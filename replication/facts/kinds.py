"""What nodes tell each other. Law: a fact stands for itself: it may come twice, late, or before its cause.

A fact is how something is now, not what happened to it, and says how much its author had heard of: `life` is
when the listing was last removed, as far as the author knew, and `forgotten` when the user was last erased.
"""

import msgspec

from core.rows import Delivery, Listing


class _Fact(msgspec.Struct, frozen=True, array_like=True, tag_field="type", forbid_unknown_fields=True):
    pass


class ListingFact(_Fact, frozen=True, tag="l"):
    """`row` is a shared one (`core/sharing.py`)."""

    life: int
    row: Listing


class RemovedFact(_Fact, frozen=True, tag="r"):
    ref: str
    ms: int


class VoteFact(_Fact, frozen=True, tag="v"):
    """`count` is the user's at the author's node, `last_ms` the last vote that the author knows of."""

    ref: str
    user: str
    count: int
    last_ms: int
    life: int = 0
    forgotten: int = 0


class VotesFact(_Fact, frozen=True, tag="w"):
    """Many of a listing's votes: see `VotesMerged` in core/events.py."""

    ref: str
    life: int
    nodes: tuple[str, ...]
    leaf: bytes
    parts: tuple[tuple[int, str, int, int], ...] = ()


class DeliveryFact(_Fact, frozen=True, tag="d"):
    """`row.owner` is the node that sends it."""

    life: int
    forgotten: int
    row: Delivery


class FinishedFact(_Fact, frozen=True, tag="f"):
    """A delivery that its author has finished, and has not in its log any more."""

    ref: str
    delivery_id: str


class ErasedFact(_Fact, frozen=True, tag="e"):
    """`user` is told as long as the author knows; the mark is for good."""

    mark: str
    ms: int
    user: str = ""


Fact = ListingFact | RemovedFact | VoteFact | VotesFact | DeliveryFact | FinishedFact | ErasedFact
