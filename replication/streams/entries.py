"""The entries of a node's stream. Invariant: an entry contains all facts behind one position, up to another.

Entries stand in Redis: nodes of other versions must understand them.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from core.events import Event, encode_record
from replication.facts.kinds import Fact, ListingFact

ENTRY_COST = 128  # facts; those of listings are larger
LISTING_COST = 8


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """All facts of the positions behind `before`, up to that of the entry's id.

    `proof` is of the record at that position: another proof there means another journal.
    """

    before: int
    proof: bytes
    facts: list[Fact]


class Captured(NamedTuple):
    """The facts of the record at `position`, as of the time when the record at `durable` was the newest."""

    position: int
    durable: int
    facts: list[Fact]
    events: Sequence[Event]


def proof_of(record: bytes) -> bytes:
    return hashlib.blake2b(record, digest_size=8).digest()


def entries(captured: Sequence[Captured], before: int) -> Iterator[tuple[int, Entry]]:
    """Yield (position, entry) for entries that say all this, behind position `before`."""
    facts: list[Fact] = []
    cost = 0
    for index, one in enumerate(captured):
        facts += one.facts
        cost += sum(LISTING_COST if isinstance(fact, ListingFact) else 1 for fact in one.facts)
        if cost >= ENTRY_COST or index == len(captured) - 1:
            yield one.position, Entry(before, proof_of(encode_record(one.events)), facts)
            before, facts, cost = one.position, [], 0
