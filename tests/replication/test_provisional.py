"""epochs.py: votes under a label that was another node's are moved, and each counts."""

from pathlib import Path

import pytest

from core.events import ListingRemoved, Merged, UserErased, VoteCast, VotesMerged, VotesRemoved
from core.failures import Unavailable
from core.vote_table import VoteTable
from replication.epochs import MOVED_AT_ONCE, Identity
from replication.members import ReadUpTo
from tests.support.committed_rows import a_listing
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.memory_nodes import Node, assert_folds, finished
from tests.support.publishing_node import publishing
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, NOW_MS, OTHER_USER, USER

OLD, NEW = "a.1", "a.2"


class Restarted:
    """A node whose user has voted `before` times, and which has been started since."""

    def __init__(self, before: int = 2) -> None:
        self.node = Node()
        a_listing(self.node.ledger)
        if before:
            self.cast(before)
        self.node.restart()
        self.identity = Identity("a", self.node.ledger, FakeClock(0))
        self.node.ledger.subscribe(self.identity.on_record)

    def cast(self, count: int, user: str = USER) -> None:
        """The user's vote, after which this node has counted so many."""
        self.node.ledger.commit([VoteCast(BOT_REF, user, count, NOW_MS)])

    def moved(self) -> dict[str, int]:
        """The user's counts by label, after the node has begun a new epoch."""
        finished(self.identity.begin_epoch(1))
        assert_folds(self.node)
        return self.counts()

    def counts(self, user: str = USER) -> dict[str, int]:
        labels = list(self.node.state.fleet.numbers)
        parts = self.node.state.votes.parts(BOT_REF, int(user))
        return {labels[number]: count for number, count in parts.items()}


def test_votes_since_the_start_are_moved_and_earlier_ones_stay() -> None:
    restarted = Restarted(before=2)
    for count in (3, 4):
        restarted.cast(count)
    assert restarted.moved() == {OLD: 2, NEW: 2}


def test_a_user_who_had_not_voted_before_is_of_the_new_label_alone() -> None:
    restarted = Restarted(before=0)
    restarted.cast(1)
    assert restarted.moved() == {NEW: 1}


@pytest.mark.parametrize("told", [2, 3, 9])
def test_the_count_that_others_know_of_the_old_node_id_stays(told: int) -> None:
    restarted = Restarted(before=2)
    restarted.cast(3)
    leaf = VoteTable()
    leaf.put(BOT_REF, int(USER), told, NOW_MS)
    merged = VotesMerged(
        BOT_REF, (OLD,), leaf.next_leaf(BOT_REF, -1) or b"", ((int(OTHER_USER), OLD, 4, NOW_MS),)
    )
    restarted.node.ledger.commit([Merged("", 0), merged])
    assert restarted.moved() == {OLD: told, NEW: 1}
    assert restarted.counts(OTHER_USER) == {OLD: 4}


def test_a_vote_that_comes_while_votes_are_moved_counts_under_the_new_label() -> None:
    restarted = Restarted(before=0)
    users = [str(number) for number in range(1, 2 * MOVED_AT_ONCE)]
    for user in users:
        restarted.cast(1, user)
    moving = restarted.identity.begin_epoch(1)
    moving.send(None)
    restarted.cast(1, users[0])
    restarted.cast(2, users[0])
    restarted.cast(1, users[-1])
    finished(moving)
    assert [restarted.counts(user) for user in (users[0], users[-1])] == [{NEW: 2}, {NEW: 2}]
    assert_folds(restarted.node)


REMOVED = VotesRemoved(BOT_REF, (USER,), "Bought.", NOW_MS)


@pytest.mark.parametrize("gone", [ListingRemoved(BOT_REF), UserErased(USER, (BOT_REF,), "mark"), REMOVED])
def test_removed_votes_are_not_moved(gone: ListingRemoved | UserErased | VotesRemoved) -> None:
    restarted = Restarted()
    restarted.cast(3)
    restarted.node.ledger.commit([gone])
    assert restarted.moved() == {}


def test_only_the_vote_after_a_removal_is_moved() -> None:
    restarted = Restarted()
    restarted.cast(3)
    restarted.node.ledger.commit([REMOVED])
    restarted.cast(1)
    assert restarted.moved() == {NEW: 1}


def test_a_node_with_a_confirmed_id_moves_nothing() -> None:
    restarted = Restarted(before=2)
    restarted.cast(3)
    restarted.identity.confirm()
    restarted.cast(4)
    assert restarted.moved() == {OLD: 4}


def test_a_disk_that_takes_nothing_holds_the_moving_up(monkeypatch: pytest.MonkeyPatch) -> None:
    restarted = Restarted(before=2)
    restarted.cast(3)
    append = restarted.node.journal.append

    def full(record: bytes) -> int:
        if b"votes_moved" in record:
            raise Unavailable("no space")
        return append(record)

    with monkeypatch.context() as patched:
        patched.setattr(restarted.node.journal, "append", full)
        with pytest.raises(Unavailable):
            finished(restarted.identity.begin_epoch(1))
    finished(restarted.identity.move_votes())
    assert restarted.counts() == {OLD: 2, NEW: 1}


# -- as a publisher sees it --------------------------------------------------------------------------------


def test_while_redis_has_lost_everything_a_node_waits_for_what_others_know_before_it_tells(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            known = node.ledger.head
            node.ledger.commit([Merged("b.1", 7)])  # it was not alone
            node.others.is_complete = False
            await node.link.redis.flushall()
            node.publisher.recheck()
            await node.vote(5)
            await node.publisher.step()
            assert await node.stream() == []
            assert not await node.publisher.is_reconciled()

            node.others.is_complete, node.others.read = True, ReadUpTo(known + 9, known + 9)
            node.publisher.recheck()
            await node.tell_all()
            assert node.ledger.state.fleet.label != OLD

    run(story())


def test_a_later_epoch_that_others_know_of_is_followed_by_a_later_one(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, redis_server.url) as node:
            node.others.newest_epoch = 1 << 41
            assert not await node.publisher.is_reconciled()
            node.publisher.recheck()
            await node.tell_all()
            assert node.ledger.state.fleet.label == f"a.{(1 << 41) + 1}"
            assert await node.publisher.is_reconciled()

    run(story())
