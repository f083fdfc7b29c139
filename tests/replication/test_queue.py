"""replication/publisher.py: what is to be told is kept until it is; what is too much is read back."""

import asyncio
from pathlib import Path

import pytest

from core.events import EndpointHealthSet, Merged, VoteCast, encode_record
from core.rows import Suspension
from replication.facts import Fact, VoteFact
from replication.publisher import ENTRY_COST, LISTING_COST, Captured, Queue, entries, proof_of
from tests.support.coroutines import run, until
from tests.support.cutting_proxy import CuttingProxy
from tests.support.memory_nodes import Node, a_node
from tests.support.publishing_node import publishing, users_in
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, NOW_MS

MOST = 10


@pytest.fixture
def node() -> Node:
    return a_node()


def queue_of(node: Node, most: int = MOST) -> Queue:
    queue = Queue(node.capture, node.ledger.head, most)
    node.ledger.subscribe(queue.on_record)
    return queue


def vote(node: Node, *users: int) -> list[int]:
    """The positions of the votes."""
    return [node.ledger.commit([VoteCast(BOT_REF, str(user), 1, NOW_MS)]) for user in users]


def positions(told: list[Captured]) -> list[int]:
    return [one.position for one in told]


# -- what is kept ------------------------------------------------------------------------------------------


def test_what_is_durable_comes_in_order_and_stays_until_it_has_arrived(node: Node) -> None:
    queue = queue_of(node)
    first, second, third = vote(node, 5, 6, 7)

    assert positions(queue.durable(second, MOST)) == [first, second]
    assert positions(queue.durable(third, 1)) == [first]
    assert queue.durable(first - 1, MOST) == []
    assert len(queue) == 3

    queue.sent(second)
    assert (queue.complete_from, positions(queue.durable(third, MOST))) == (second, [third])
    queue.sent(first)
    queue.sent(third + 5)
    assert (queue.complete_from, len(queue)) == (third, 0)


def test_what_came_from_others_or_is_nobody_else_s_is_not_told(node: Node) -> None:
    queue = queue_of(node)
    node.commit(Merged("b.1", 3), VoteCast(BOT_REF, "5", 1, NOW_MS, "b.1"))
    node.commit(EndpointHealthSet(BOT_REF, 3, Suspension(NOW_MS, "refused", 1, NOW_MS)))
    assert len(queue) == 0


def test_what_is_read_back_is_told_when_all_that_it_was_made_of_is_durable(node: Node) -> None:
    queue = Queue(node.capture, node.ledger.head)
    position = node.ledger.head + 1
    vote(node, 5)
    records = [(position, node.records[-1]), (position + 1, [Merged("b.1", 3)])]

    (told,) = queue.capture(records, head=position + 7)

    assert (told.position, told.durable, told.events) == (position, position + 7, node.records[-1])
    (fact,) = told.facts
    assert isinstance(fact, VoteFact)
    assert fact.user == "5"


def test_what_does_not_fit_is_left_out_up_to_the_newest_record(node: Node) -> None:
    queue = queue_of(node, most=3)
    vote(node, 5, 6, 7)
    assert not queue.overflowed

    (fourth,) = vote(node, 8)

    assert (queue.overflowed, queue.complete_from) == (True, fourth - 1)
    assert positions(queue.durable(fourth, MOST)) == [fourth]


# -- entries -----------------------------------------------------------------------------------------------


def told_of(position: int, facts: int) -> Captured:
    """A record that says so much."""
    events = [VoteCast(BOT_REF, str(position), 1, NOW_MS)]
    about: list[Fact] = [VoteFact(BOT_REF, str(user), 1, NOW_MS) for user in range(facts)]
    return Captured(position, position, about, events)


@pytest.mark.parametrize(
    ("facts", "ends"),
    [
        ([1], [1]),
        ([1, 1, 1], [3]),
        ([ENTRY_COST - 1, 1, 1], [2, 3]),
        ([ENTRY_COST * 2, 1], [1, 2]),
        ([], []),
    ],
)
def test_records_become_few_entries_each_of_which_says_behind_what_it_begins(
    facts: list[int], ends: list[int]
) -> None:
    told = [told_of(position, count) for position, count in enumerate(facts, 1)]

    found = list(entries(told, before=0))

    assert [position for position, _ in found] == ends
    assert [entry.before for _, entry in found] == [0, *ends][: len(ends)]
    assert sum(len(entry.facts) for _, entry in found) == sum(facts)
    for position, entry in found:
        assert entry.proof == proof_of(encode_record(told[position - 1].events))


def test_an_entry_has_fewer_listings_than_votes_because_they_are_larger(node: Node) -> None:
    listing = node.capture.listing(BOT_REF)
    assert listing is not None
    fits = ENTRY_COST // LISTING_COST
    told = [told_of(position, 0)._replace(facts=[listing]) for position in range(1, fits + 2)]
    assert [position for position, _ in entries(told, before=0)] == [fits, fits + 1]


# -- more than fits, while it is told ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [MOST - 1, MOST, MOST + 1, 3 * MOST])
def test_nothing_is_lost_when_more_is_queued_than_fits_while_redis_is_asked(
    redis_server: RedisServer, proxy: CuttingProxy, tmp_path: Path, more: int
) -> None:
    async def story() -> None:
        async with publishing(tmp_path, proxy.url, MOST) as node:
            with redis_server.client() as client:
                before = client.xlen("votegate:stream:a")
                await node.vote(1)
                proxy.hang_answers()
                step = asyncio.create_task(node.publisher.step())
                await until(lambda: client.xlen("votegate:stream:a") != before)  # and nobody knows yet

            await node.vote(*range(2, 2 + more))
            assert node.queue.overflowed is (more >= MOST)
            proxy.restore()
            await step
            await node.tell_all()

            stream = await node.stream()
            assert sorted(users_in(stream), key=int) == [str(user) for user in range(1, 2 + more)]
            ends = [position for position, _ in stream]
            assert [entry.before for _, entry in stream[1:]] == ends[:-1]
            assert ends[-1] == node.ledger.head

    run(story())
