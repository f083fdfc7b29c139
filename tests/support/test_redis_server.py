import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from tests.support.cutting_proxy import CuttingProxy
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[RedisServer]:
    """A server with a password, and a user with few rights."""
    user = ("--user", "edge", "on", ">edges-own", "~votegate:*", "-@all", "+ping", "+get")
    server = RedisServer(tmp_path, *user, password="secret")
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def replica(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    try:
        yield server.start()
    finally:
        server.close()


def value(server: RedisServer) -> object:
    with server.client() as client:
        return client.get("key")


def put(server: RedisServer, value: str) -> None:
    with server.client() as client:
        client.set("key", value)


def test_it_forgets_everything_when_it_stops(redis_server: RedisServer) -> None:
    put(redis_server, "1")
    url = redis_server.url
    redis_server.stop()
    redis_server.start()
    assert redis_server.url == url
    assert value(redis_server) is None


@pytest.mark.parametrize("end", [RedisServer.stop, RedisServer.kill])
def test_it_comes_back_with_what_was_saved(redis_server: RedisServer, end: object) -> None:
    put(redis_server, "saved")
    redis_server.save()
    put(redis_server, "not saved")
    assert callable(end)
    end(redis_server)
    redis_server.start()
    assert value(redis_server) == b"saved"


def test_it_comes_back_empty_when_its_dump_is_gone(redis_server: RedisServer) -> None:
    put(redis_server, "saved")
    redis_server.save()
    redis_server.kill()
    redis_server.dump.unlink()
    redis_server.start()
    assert value(redis_server) is None


def test_connections_are_refused_while_it_is_down(redis_server: RedisServer) -> None:
    redis_server.stop()
    with pytest.raises(redis.ConnectionError, match="refused"):
        value(redis_server)


def test_a_frozen_server_is_silent_and_goes_on_where_it_was(redis_server: RedisServer) -> None:
    put(redis_server, "1")
    redis_server.freeze()
    with redis_server.client(socket_timeout=0.05) as client, pytest.raises(redis.TimeoutError):
        client.get("key")
    redis_server.thaw()
    assert value(redis_server) == b"1"


def test_a_flush_leaves_nothing(redis_server: RedisServer) -> None:
    put(redis_server, "1")
    redis_server.flush()
    assert value(redis_server) is None


def test_a_full_server_refuses_what_needs_memory(redis_server: RedisServer) -> None:
    redis_server.config("maxmemory", 1)
    with pytest.raises(redis.OutOfMemoryError):
        put(redis_server, "1")
    assert value(redis_server) is None
    redis_server.config("maxmemory", 0)
    put(redis_server, "1")
    assert value(redis_server) == b"1"


def test_a_start_need_not_wait_until_all_is_loaded(tmp_path: Path) -> None:
    slow = ("--key-load-delay", "20000", "--rdbcompression", "no")
    server = RedisServer(tmp_path, *slow).start()
    try:
        with server.client() as client:
            client.mset({f"key-{number}": "v" * 1_000_000 for number in range(20)})
        server.save()
        server.kill()
        server.start(loaded=False)
        with pytest.raises(redis.BusyLoadingError):
            value(server)
    finally:
        server.close()


def test_a_password_is_wanted(locked: RedisServer) -> None:
    assert value(locked) is None
    with locked.client(password=None) as client, pytest.raises(redis.AuthenticationError):
        client.get("key")


def test_a_user_may_do_what_its_rules_say(locked: RedisServer) -> None:
    with locked.client(username="edge", password="edges-own") as client:
        assert client.get("votegate:key") is None
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.get("key")
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.set("votegate:key", "1")


def test_a_promoted_replica_has_lost_what_it_had_not_received(
    redis_server: RedisServer, proxy: CuttingProxy, replica: RedisServer
) -> None:
    put(redis_server, "received")
    replica.follow(proxy.port)
    eventually(lambda: value(replica) == b"received")
    with pytest.raises(redis.ReadOnlyError):
        put(replica, "1")
    proxy.hang()
    put(redis_server, "lost")
    redis_server.kill()
    proxy.cut()
    replica.promote()
    assert value(replica) == b"received"
    put(replica, "new")
    assert value(replica) == b"new"


def test_closing_leaves_no_process_behind(tmp_path: Path) -> None:
    server = RedisServer(tmp_path).start()
    with server.client() as client:
        process = client.info("server")["process_id"]
    server.freeze()
    server.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--no-such-setting", "1")
    try:
        with pytest.raises(AssertionError, match="no-such-setting"):
            server.start()
    finally:
        server.close()
