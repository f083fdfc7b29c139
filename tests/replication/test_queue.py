"""replication/publisher.py: records wait until the stream has them; too many are read back."""

import asyncio
from pathlib import Path

import pytest

from core.events import EndpointHealthSet, Event, Merged, NodeNamed, VoteCast, encode_record
from core.ledger import Ledger
from core.rows import Suspension
from journal.journal import Journal
from replication.capture import Capture
from replication.facts import Fact, VoteFact
from replication.publisher import ENTRY_COST, LISTING_COST, Batch, Captured, Outgoing, entries, proof_of
from tests.support.coroutines import run, until
from tests.support.cutting_proxy import CuttingProxy
from tests.support.journals import on, recording
from tests.support.memory_nodes import DIGESTS, a_node
from tests.support.publishing_node import publishing, users_in
from tests.support.redis_server import RedisServer
from tests.support.sample_rows import BOT_REF, NOW_MS, listed, voted

MOST = 10


async def durable(ledger: Ledger, event: Event) -> int:
    """Commit the event, and return the position of its record once it is durable."""
    position = ledger.commit([event])
    await ledger.durable(position)
    return position


async def outgoing_of(ledger: Ledger, journal: Journal, folder: Path, most: int = MOST) -> Outgoing:
    """Return the outgoing records of a node with a bot."""
    ledger.commit([NodeNamed("a.1")])
    await ledger.durable(ledger.commit(listed()))
    outgoing = Outgoing(ledger, journal, on(folder), Capture(ledger.state, DIGESTS.user), most)
    ledger.subscribe(outgoing.on_record)
    return outgoing


def positions(batch: Batch) -> list[int]:
    return [one.position for one in batch.captured]


# -- records that wait -------------------------------------------------------------------------------------


def test_durable_records_come_in_order_and_stay_until_they_are_sent(tmp_path: Path) -> None:
    async def story() -> None:
        async with recording(tmp_path) as (ledger, journal):
            outgoing = await outgoing_of(ledger, journal, tmp_path)
            first, second = [ledger.commit([voted(user)]) for user in (5, 6)]
            assert positions(await outgoing.next(first - 1)) == []

            await ledger.durable(second)
            third = ledger.commit([voted(7)])
            assert positions(await outgoing.next(first - 1)) == [first, second]
            assert outgoing.missing(first - 1) == 3

            outgoing.sent(second)
            await ledger.durable(third)
            assert (outgoing.complete_from, positions(await outgoing.next(second))) == (second, [third])
            outgoing.sent(first)
            outgoing.sent(third + 5)
            assert (outgoing.complete_from, outgoing.has_work) == (third, False)
            outgoing.close()

    run(story())


def test_records_of_others_and_of_this_node_alone_are_not_sent(tmp_path: Path) -> None:
    async def story() -> None:
        async with recording(tmp_path) as (ledger, journal):
            outgoing = await outgoing_of(ledger, journal, tmp_path)
            ledger.commit([Merged("b.1", 3), VoteCast(BOT_REF, "5", 1, NOW_MS, "b.1")])
            ledger.commit([EndpointHealthSet(BOT_REF, 3, Suspension(NOW_MS, "refused", 1, NOW_MS))])
            assert not outgoing.has_work
            outgoing.close()

    run(story())


def test_records_that_are_read_back_leave_when_everything_that_their_facts_say_is_durable(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        async with recording(tmp_path) as (ledger, journal):
            outgoing = await outgoing_of(ledger, journal, tmp_path)
            top = ledger.head
            position = await durable(ledger, voted(5))
            await durable(ledger, Merged("b.1", 3))
            outgoing.sent(position)
            await outgoing.resume(top)

            newest = ledger.commit([voted(5, 2)])
            batch = await outgoing.next(top)

            assert journal.durable_position == newest
            (captured,) = batch.captured
            (fact,) = captured.facts
            assert isinstance(fact, VoteFact)
            assert (captured.position, fact.user, fact.count, batch.has_more) == (position, "5", 2, True)
            outgoing.close()

    run(story())


def test_a_full_queue_leaves_out_records_up_to_the_newest_one(tmp_path: Path) -> None:
    async def story() -> None:
        async with recording(tmp_path) as (ledger, journal):
            outgoing = await outgoing_of(ledger, journal, tmp_path, most=3)
            for user in (5, 6, 7):
                await durable(ledger, voted(user))
            assert not outgoing.has_overflowed

            fourth = await durable(ledger, voted(8))

            assert (outgoing.has_overflowed, outgoing.complete_from) == (True, fourth - 1)
            assert positions(await outgoing.next(fourth - 1)) == [fourth]
            outgoing.close()

    run(story())


# -- entries -----------------------------------------------------------------------------------------------


def captured_of(position: int, facts: int) -> Captured:
    """Return a record with so many facts."""
    events = [VoteCast(BOT_REF, str(position), 1, NOW_MS)]
    about: list[Fact] = [VoteFact(BOT_REF, str(user), 1, NOW_MS) for user in range(facts)]
    return Captured(position, about, events)


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
def test_records_become_few_entries_each_of_which_says_behind_which_position_it_begins(
    facts: list[int], ends: list[int]
) -> None:
    told = [captured_of(position, count) for position, count in enumerate(facts, 1)]

    found = list(entries(told, before=0))

    assert [position for position, _ in found] == ends
    assert [entry.before for _, entry in found] == [0, *ends][: len(ends)]
    assert sum(len(entry.facts) for _, entry in found) == sum(facts)
    for position, entry in found:
        assert entry.proof == proof_of(encode_record(told[position - 1].events))


def test_an_entry_has_fewer_listings_than_votes_because_they_are_larger() -> None:
    listing = a_node().capture.listing(BOT_REF)
    assert listing is not None
    fits = ENTRY_COST // LISTING_COST
    told = [captured_of(position, 0)._replace(facts=[listing]) for position in range(1, fits + 2)]
    assert [position for position, _ in entries(told, before=0)] == [fits, fits + 1]


# -- a full queue while the stream is written ---------------------------------------------------------------


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
            assert node.outgoing.has_overflowed is (more >= MOST)
            proxy.restore()
            await step
            await node.tell_all()

            stream = await node.stream()
            assert sorted(users_in(stream), key=int) == [str(user) for user in range(1, 2 + more)]
            ends = [position for position, _ in stream]
            assert [entry.before for _, entry in stream[1:]] == ends[:-1]
            assert ends[-1] == node.ledger.head

    run(story())
