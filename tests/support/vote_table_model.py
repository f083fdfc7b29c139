"""The model of core/vote_table.py: a dict of counts by node and the last vote, by listing and user.

Putting is a join: for each node the greatest count wins, and the latest time.
"""

import struct
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from hypothesis import strategies as st

from core import vote_table
from core.vote_table import MAX_COUNT, MAX_MS, SEVERAL, VoteTable, counted_in
from core.vote_table import leaves_of as leaves_in

REFS = ("bots/1", "bots/2", "servers/1")
MAX_USER = (1 << 64) - 1
MANY_NODES = 71


class Vote(NamedTuple):
    """A vote that a step puts."""

    count: int  # type: ignore[assignment] # a tuple's method, which nothing here calls
    last_ms: int
    node: int = 0


class Joined(NamedTuple):
    """The votes of a user for a listing: a count for each node, and the latest time."""

    counts: Mapping[int, int]
    last_ms: int

    @property
    def got(self) -> tuple[int, int]:
        return min(sum(self.counts.values()), MAX_COUNT), self.last_ms


Model = dict[tuple[str, int], Joined]
Change = tuple[str, str, int, Vote]

refs = st.sampled_from(REFS)
few_users = st.integers(0, 30) | st.integers(MAX_USER - 3, MAX_USER)
nodes = st.sampled_from([0, 0, 0, 1, SEVERAL - 1, SEVERAL]) | st.integers(0, MANY_NODES - 1)
votes = st.builds(Vote, st.integers(0, MAX_COUNT), st.integers(0, MAX_MS), nodes)
often = ["put", "put", "put", "put", "remove user", "remove user"]
whats = st.sampled_from([*often, "remove listing", "reload"])
changes = st.tuples(whats, refs, few_users, votes)


@contextmanager
def leaves_of(size: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vote_table, "LEAF", size)
        yield


def change(votes: VoteTable, model: Model, what: str, ref: str, user: int, vote: Vote) -> None:
    match what:
        case "put":
            votes.put(ref, user, *vote)
            join(model, ref, user, vote)
        case "remove user":
            votes.remove(ref, user)
            model.pop((ref, user), None)
        case "remove listing":
            votes.remove_listing(ref)
            for gone in [key for key in model if key[0] == ref]:
                del model[gone]
        case "reload":
            reload(votes, ref)


def join(model: Model, ref: str, user: int, vote: Vote) -> None:
    known = model.get((ref, user), Joined({}, 0))
    count = max(vote.count, known.counts.get(vote.node, 0))
    model[ref, user] = Joined({**known.counts, vote.node: count}, max(vote.last_ms, known.last_ms))


def reload(votes: VoteTable, ref: str) -> None:
    """Puts a listing's votes back as a snapshot would."""
    leaves = list(leaves_in(votes, ref))
    parts = {user: dict(counts) for user, counts in votes.several.get(ref, {}).items()}
    votes.remove_listing(ref)
    votes.load([(ref, leaf) for leaf in leaves], map(counted_in, leaves))
    for user, counts in parts.items():
        for node, count in counts.items():
            votes.put(ref, user, count, 0, node)


def unpacked(leaf: bytes) -> list[tuple[int, int, int]]:
    """(user, count, last vote) as the leaf's definition spells them."""
    numbers = struct.unpack(f"<{len(leaf) // 8}Q", leaf)
    users, packed = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
    return [(user, vote & 0xFFFF, vote >> 22) for user, vote in zip(users, packed, strict=True)]


def read(votes: VoteTable, ref: str) -> list[tuple[int, int, int]]:
    return [vote for leaf in leaves_in(votes, ref) for vote in unpacked(leaf)]


def assert_equals(votes: VoteTable, model: Model) -> None:
    assert_got(votes, {key: joined.got for key, joined in model.items()})
    for (ref, user), joined in model.items():
        assert votes.parts(ref, user) == joined.counts
    several = {(ref, user): counts for ref, users in votes.several.items() for user, counts in users.items()}
    assert several == {
        key: joined.counts
        for key, joined in model.items()
        if len(joined.counts) > 1 or max(joined.counts) >= SEVERAL
    }


def assert_got(votes: VoteTable, got: Mapping[tuple[str, int], tuple[int, int]]) -> None:
    """Check that the table has these counts and times, summed over all nodes, and no others."""
    assert len(votes) == len(got)
    totals = dict.fromkeys((ref for ref, _ in got), 0)
    for (ref, _), (count, _) in got.items():
        totals[ref] += count
    assert {ref: votes.total(ref) for ref in totals} == totals
    for ref in REFS:
        expected = sorted((user, *vote) for (at, user), vote in got.items() if at == ref)
        assert list(votes.votes(ref)) == expected
        assert votes.voters(ref) == len(expected)
        voters = {user for user, _, _ in expected}
        for user, count, last_ms in expected:
            assert votes.get(ref, user) == (count, last_ms)
            for stranger in {user - 1, user + 1} - voters:
                assert votes.get(ref, stranger) is None
                assert votes.parts(ref, stranger) == {}
        assert read(votes, ref) == expected


def assert_leaves_are_sound(votes: VoteTable) -> None:
    for voters in votes._listings.values():
        leaves = [voters] if isinstance(voters, array) else voters.leaves
        if not isinstance(voters, array):
            assert len(leaves) >= 2
            assert list(voters.firsts) == [leaf[0] for leaf in leaves]
        for leaf in leaves:
            assert 1 <= len(leaf) // 2 <= vote_table.LEAF
            assert len(leaf) % 2 == 0
