"""The pieces of a copy. Invariant: pieces are numbered from 0, and only the last one has cursors.

Pieces stand in Redis: nodes of other versions must understand them.
"""

from collections.abc import Iterator

import msgspec

from replication.facts.kinds import CountsFact, DeliveryFact, Fact, ListingFact, UserFact, VotesFact

PIECE_COST = 32_768  # bytes of votes; an equal cost for
COSTS = {ListingFact: 512, UserFact: 512, DeliveryFact: 512, CountsFact: 2_048}
"""Counts take 0.1 ms to decode, and the loop waits for the whole piece."""
PIECES_AHEAD = 16  # of the reader


class CopyLost(Exception):
    """The copy does not come, or nobody takes it."""


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A part of a copy. With the last one the copy holds everything up to the `cursors`, by node id."""

    number: int
    facts: list[Fact]
    cursors: dict[str, int] | None = None


def pieces_of(facts: Iterator[Fact]) -> Iterator[list[Fact]]:
    """Yield the facts in groups of about the same cost, each of one kind."""
    group: list[Fact] = []
    cost = 0
    for fact in facts:
        if group and (cost >= PIECE_COST or type(fact) is not type(group[0])):
            yield group
            group, cost = [], 0
        group.append(fact)
        cost += 1 + len(fact.leaf) if isinstance(fact, VotesFact) else COSTS.get(type(fact), 1)
    if group:
        yield group
