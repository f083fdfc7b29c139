"""Redis forgets: all of it, the newest, or what somebody had not read yet. The nodes' journals do not."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import pytest

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge
from tests.support.fleet_visitors import BOT_PATH, Place, Visitors, failing, wired
from tests.support.gateways import Client, eventually
from tests.support.redis_server import RedisServer

CALLERS_PER_NODE = 3
FAR = 1_000_000
"""Between the users of one caller and those of the next."""


class Forgotten(Place):
    """Whose Redis loses one thing after another."""

    def vote(self) -> None:
        """A few votes at each node."""
        for edge in self.nodes * 3:
            self.visitors.vote(edge)

    def begin_again(self) -> None:
        """Waits until the nodes have what was voted, and goes on: they hear of each other as before."""
        self.visitors.all_known(*self.nodes)
        for edge in self.nodes:
            self.visitors.visit(edge)
        self.visitors.all_known(*self.nodes)
        eventually(lambda: not any(failing(edge) or edge.replication["unsent"] for edge in self.nodes))
        for edge in self.nodes:  # claims may be lost, votes are not
            for voted in self.visitors.voted[-2:]:
                assert edge.operate("POST", f"{BOT_PATH}/votes", {"user": voted}).status_code == 409


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forgotten]:
    with wired(tmp_path_factory.mktemp("fleet")) as parts:
        yield Forgotten(*parts)


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    try:
        yield server.start()
    finally:
        server.close()


def copies_taken(edge: Edge) -> int:
    return edge.log.count("took a copy")


def test_redis_comes_back_empty(place: Forgotten) -> None:
    place.vote()
    place.server.kill()
    place.vote()
    place.server.start()
    place.vote()
    place.begin_again()


def test_redis_comes_back_with_an_old_dump(place: Forgotten) -> None:
    place.vote()
    place.server.save()
    place.vote()
    place.visitors.all_known(*place.nodes)
    place.server.kill()
    place.vote()
    place.server.start()
    place.begin_again()
    place.server.dump.unlink()


@pytest.mark.long
def test_redis_comes_back_with_a_dump_older_than_what_only_one_node_had_read(place: Forgotten) -> None:
    first, second = place.nodes
    place.server.save()
    place.visitors.vote(first)
    place.visitors.all_known(first, second)
    second.close()
    place.visitors.vote(first)
    place.server.kill()
    place.server.start()
    second.start()
    place.begin_again()
    place.server.dump.unlink()


def vote_on(visitors: Visitors, edge: Edge, over: Event) -> None:
    client = Client()
    client.base_url, client.operator_token = edge.base_url, edge.operator_token
    while not over.is_set():
        visitors.vote(client)
    client.session.close()


@contextmanager
def load(place: Forgotten) -> Iterator[list[Visitors]]:
    """Several callers vote at each node, all the time; each vote is acknowledged."""
    edges = [edge for edge in place.nodes for _ in range(CALLERS_PER_NODE)]
    first = int(place.visitors.next_user) + FAR
    callers = [Visitors(place.visitors.fleet, "", first + number * FAR) for number in range(len(edges))]
    over = Event()
    with ThreadPoolExecutor(len(edges)) as threads:
        voting = [threads.submit(vote_on, *each, over) for each in zip(callers, edges, strict=True)]
        try:
            yield callers
        finally:
            over.set()
            for each in voting:
                each.result()
    for caller in callers:
        place.visitors.voted += caller.voted


def all_vote(callers: list[Visitors]) -> None:
    """Waits until each of them has voted once more."""
    before = [len(caller.voted) for caller in callers]
    eventually(lambda: all(len(each.voted) > count for each, count in zip(callers, before, strict=True)))


def test_redis_is_flushed_under_load(place: Forgotten) -> None:
    with load(place) as callers:
        for _ in range(5):
            all_vote(callers)
            place.server.flush()
            all_vote(callers)
    place.begin_again()


def test_redis_fails_over_to_a_replica_that_lags(place: Forgotten, replica: RedisServer) -> None:
    with CuttingProxy(place.server.port) as replicating:
        replica.follow(replicating.port)
        with replica.client() as client:
            eventually(lambda: client.info("replication")["master_link_status"] == "up")
        place.vote()
        place.visitors.all_known(*place.nodes)
        replicating.hang()
        place.vote()
        place.visitors.all_known(*place.nodes)

        place.proxy.cut()
        place.vote()
        replicating.cut()
        replica.promote()
        place.proxy.target_port = replica.port
        place.proxy.restore()
        place.begin_again()

        place.proxy.cut()  # and back to the old one, whose streams end long before
        place.vote()
        place.proxy.target_port = place.server.port
        place.proxy.restore()
        place.begin_again()


def test_redis_turns_into_a_replica_and_refuses_writes_for_a_while(
    place: Forgotten, replica: RedisServer
) -> None:
    place.server.follow(replica.port)
    place.visitors.visiting_until(lambda: all(map(failing, place.nodes)), *place.nodes)
    place.server.promote()
    place.begin_again()


def test_a_stream_is_trimmed_past_what_a_node_has_read(place: Forgotten) -> None:
    first, second = place.nodes
    taken = copies_taken(second)
    second.close()
    for _ in range(5):
        place.visitors.vote(first)
    eventually(lambda: not first.replication["unsent"])
    with place.server.client() as client:
        client.xtrim("votegate:stream:rome", maxlen=1, approximate=False)
    second.start()
    place.begin_again()
    assert copies_taken(second) > taken


def test_a_stream_is_deleted_that_a_node_has_not_read_and_its_author_is_gone(place: Forgotten) -> None:
    """Then it is known to nobody but its author, who tells it when it is back."""
    first, second = place.nodes
    second.close()
    place.visitors.vote(first)
    eventually(lambda: not first.replication["unsent"])
    first.close()
    place.server.flush()
    second.start()
    place.visitors.vote(second)
    first.start()
    place.begin_again()
