"""Redis forgets: all of it, the newest, or what somebody had not read yet. The nodes' journals do not."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cutting import CuttingProxy
from tests.gateway import eventually
from tests.redis_server import RedisServer
from tests.replication.edges import Edge
from tests.replication.visitors import BOT_PATH, Visitors, failing, wired


class Place(NamedTuple):
    server: RedisServer
    proxy: CuttingProxy
    visitors: Visitors

    @property
    def nodes(self) -> list[Edge]:
        return self.visitors.fleet.edges

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
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two nodes whose Redis loses one thing after another."""
    with wired(tmp_path_factory.mktemp("fleet")) as parts:
        yield Place(*parts)


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    try:
        yield server.start()
    finally:
        server.close()


def copies_taken(edge: Edge) -> int:
    return edge.log.count("took a copy")


def test_redis_comes_back_empty(place: Place) -> None:
    place.vote()
    place.server.kill()
    place.vote()
    place.server.start()
    place.vote()
    place.begin_again()


def test_redis_comes_back_with_an_old_dump(place: Place) -> None:
    place.vote()
    place.server.save()
    place.vote()
    place.visitors.all_known(*place.nodes)
    place.server.kill()
    place.vote()
    place.server.start()
    place.begin_again()
    place.server.dump.unlink()


def test_redis_comes_back_with_a_dump_older_than_what_only_one_node_had_read(place: Place) -> None:
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


@pytest.mark.parametrize("times", [1, 5])
def test_redis_is_flushed_under_load(place: Place, times: int) -> None:
    for _ in range(times):
        place.vote()
        place.server.flush()
        place.vote()
    place.begin_again()


def test_redis_fails_over_to_a_replica_that_lags(place: Place, replica: RedisServer) -> None:
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
    place: Place, replica: RedisServer
) -> None:
    place.server.follow(replica.port)
    place.visitors.visiting_until(lambda: all(map(failing, place.nodes)), *place.nodes)
    place.server.promote()
    place.begin_again()


def test_a_stream_is_trimmed_past_what_a_node_has_read(place: Place) -> None:
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


def test_a_stream_is_deleted_that_a_node_has_not_read_and_its_author_is_gone(place: Place) -> None:
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
