"""Redis is slow, silent, gone, full or unwilling: meanwhile every node serves, and nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
from redis.exceptions import BusyLoadingError

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_visitors import CLAIM_SECONDS, LOOPS, Place, failing, told, wired
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer

ALL = frozenset(LOOPS)
NODES = "votegate:nodes"


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """Two nodes that go through one outage after another."""
    with wired(tmp_path_factory.mktemp("fleet")) as place:
        yield place


@pytest.fixture
def place(started: Place) -> Place:
    """The nodes, over the last outage."""

    def calm() -> bool:
        return all(edge.replication["claims_votes"] and not failing(edge) for edge in started.nodes)

    started.visitors.visiting_until(calm, *started.nodes)
    return started


Outage = Callable[[RedisServer, CuttingProxy], AbstractContextManager[None]]


@contextmanager
def hanging(_: RedisServer, proxy: CuttingProxy) -> Iterator[None]:
    proxy.hang()
    try:
        yield
    finally:
        proxy.restore()


@contextmanager
def half_open(_: RedisServer, proxy: CuttingProxy) -> Iterator[None]:
    proxy.hang_answers()
    try:
        yield
    finally:
        proxy.restore()


@contextmanager
def refusing(_: RedisServer, proxy: CuttingProxy) -> Iterator[None]:
    proxy.cut()
    try:
        yield
    finally:
        proxy.restore()


@contextmanager
def closing(_: RedisServer, proxy: CuttingProxy) -> Iterator[None]:
    proxy.cut(accepts=True)
    try:
        yield
    finally:
        proxy.restore()


@contextmanager
def frozen(server: RedisServer, _: CuttingProxy) -> Iterator[None]:
    server.freeze()
    try:
        yield
    finally:
        server.thaw()


@contextmanager
def loading(server: RedisServer, _: CuttingProxy) -> Iterator[None]:
    """It answers LOADING for longer than any test waits, because it reads its dump. Then it starts empty."""
    slow = ["--key-load-delay", "150000"]
    server.config("rdbcompression", "no")  # it looks at its clients once every 2 MB of the dump
    with server.client() as client:
        client.flushall()  # or each of the claims would take its time
        client.execute_command("DEBUG", "POPULATE", 200, "other", 1_000_000)
        client.save()
    server.arguments += slow
    server.kill()
    server.start(loaded=False)
    try:
        with server.client() as client, pytest.raises(BusyLoadingError):
            client.ping()
        yield
        with server.client() as client, pytest.raises(BusyLoadingError):
            client.ping()
    finally:
        del server.arguments[-len(slow) :]
        server.dump.unlink()
        server.kill()
        server.start()


@contextmanager
def full(server: RedisServer, _: CuttingProxy) -> Iterator[None]:
    server.config("maxmemory-policy", "noeviction")
    server.config("maxmemory", 1)
    try:
        yield
    finally:
        server.config("maxmemory", 0)


@contextmanager
def without(server: RedisServer, *commands: str) -> Iterator[None]:
    """Nobody may give these commands."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "default", *(f"-{command}" for command in commands))
        try:
            yield
        finally:
            client.execute_command("ACL", "SETUSER", "default", "+@all")


def without_rights(server: RedisServer, _: CuttingProxy) -> AbstractContextManager[None]:
    return without(server, "xadd", "xread", "hset", "set")


@contextmanager
def another_password(server: RedisServer, proxy: CuttingProxy) -> Iterator[None]:
    with server.client() as client:
        client.config_set("requirepass", "another")
        try:
            proxy.cut()  # those who are in may stay
            proxy.restore()
            yield
        finally:
            client.config_set("requirepass", "")


@contextmanager
def of_wrong_type(server: RedisServer, _: CuttingProxy) -> Iterator[None]:
    with server.client() as client:
        client.delete(NODES)
        client.set(NODES, "x")
        try:
            yield
        finally:
            client.delete(NODES)


@pytest.mark.parametrize(
    ("outage", "at_rome", "at_oslo"),
    [
        (hanging, ALL, ALL),
        (half_open, ALL, ALL),
        (refusing, ALL, ALL),
        (closing, ALL, ALL),
        (frozen, ALL, ALL),
        (loading, ALL, ALL),
        (full, ALL - {"following"}, ALL - {"following"}),
        (without_rights, ALL, ALL),
        (another_password, ALL, ALL),
        (of_wrong_type, {"registry"}, {"registry"}),
    ],
)
def test_an_outage_is_served_through_shown_told_once_and_made_up_for(
    place: Place, outage: Outage, at_rome: set[str], at_oslo: set[str]
) -> None:
    visitors, (rome, oslo) = place.visitors, place.nodes
    logs, answered, voted = [len(edge.log) for edge in place.nodes], visitors.answered, len(visitors.voted)

    with outage(place.server, place.proxy):
        visitors.visiting_until(lambda: failing(rome) >= at_rome and failing(oslo) >= at_oslo, rome, oslo)
        if "publishing" in at_rome:
            assert rome.replication["unsent"] > 0

    eventually(lambda: not failing(rome) and not failing(oslo))
    visitors.all_known(rome, oslo)
    eventually(lambda: not rome.replication["unsent"] and not oslo.replication["unsent"])
    assert visitors.answered - answered == 8 * (len(visitors.voted) - voted) > 0
    for edge, log, loops in zip(place.nodes, logs, (at_rome, at_oslo), strict=True):
        outages = {loop: told(edge.log[log:], loop) for loop in ALL}
        assert {loop: outages[loop] for loop in loops} == dict.fromkeys(loops, (1, 1))
        assert set(outages.values()) <= {(1, 1), (0, 0)}
        assert edge.log[log:].count("votes are not claimed") <= 1


def test_a_slow_redis_is_waited_for_by_nobody_but_the_nodes(place: Place) -> None:
    visitors, nodes = place.visitors, place.nodes
    logs = [len(edge.log) for edge in nodes]

    place.proxy.delay(answers=CLAIM_SECONDS * 1.5)
    try:
        visitors.visiting_until(lambda: not any(edge.replication["claims_votes"] for edge in nodes), *nodes)
        visitors.all_known(*nodes)
        assert [failing(edge) for edge in nodes] == [set(), set()]
    finally:
        place.proxy.restore()

    visitors.visiting_until(lambda: all(edge.replication["claims_votes"] for edge in nodes), *nodes)
    visitors.all_known(*nodes)
    for edge, log in zip(nodes, logs, strict=True):
        assert edge.log[log:].count("votes are not claimed") == 1


def test_a_user_who_voted_at_nodes_that_did_not_hear_of_each_other_has_two_votes_at_both(
    place: Place,
) -> None:
    user, nodes = "555555555555555555", place.nodes

    with refusing(place.server, place.proxy):
        for edge in nodes:
            edge.cast(user)

    place.visitors.all_known(*nodes)
    for edge in nodes:
        assert edge.voters(place.visitors.key, user=user).json()["vote"] == 2


@pytest.mark.parametrize("command", ["xadd", "xrevrange"])
def test_entries_that_redis_refuses_are_sent_once_it_takes_them_even_after_a_restart(
    place: Place, command: str
) -> None:
    visitors, (rome, oslo) = place.visitors, place.nodes

    with without(place.server, command, "xtrim"):
        for _ in range(3):
            visitors.vote(rome)
        visitors.visiting_until(lambda: bool(failing(rome)), rome)
        rome.close()
        rome.start()
        visitors.visiting_until(lambda: "publishing" in failing(rome), rome)

    visitors.vote(rome)
    visitors.all_known(rome, oslo)
