import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.support.certificate_authority import Authority
from tests.support.cutting_proxy import HOST, CuttingProxy, held_port
from tests.support.gateways import WAIT_SECONDS, eventually
from tests.support.redis_server import RedisServer

SHORT_SECONDS = 0.3
LONG = "v" * 10_000


def client_of(proxy: CuttingProxy, timeout_seconds: float = WAIT_SECONDS) -> "redis.Redis":
    retry = Retry(NoBackoff(), 0)
    return redis.Redis(host=HOST, port=proxy.port, socket_timeout=timeout_seconds, retry=retry, protocol=2)


@pytest.fixture
def client(proxy: CuttingProxy) -> Iterator["redis.Redis"]:
    with client_of(proxy) as client:
        client.set("key", LONG)
        yield client


@pytest.fixture
def hasty(proxy: CuttingProxy) -> Iterator["redis.Redis"]:
    """A client that is connected already, and waits for no answer long."""
    with client_of(proxy, SHORT_SECONDS) as hasty:
        assert hasty.ping()
        yield hasty


def test_what_is_said_passes_unchanged(client: "redis.Redis") -> None:
    assert client.get("key") == LONG.encode()


def test_connections_are_counted(proxy: CuttingProxy) -> None:
    for number in (1, 2):
        with client_of(proxy) as client:
            client.ping()
        assert proxy.connections == number


@pytest.mark.parametrize("way", ["requests", "answers"])
def test_a_delay_holds_up_either_direction(proxy: CuttingProxy, hasty: "redis.Redis", way: str) -> None:
    proxy.delay(**{way: 60})
    with pytest.raises(redis.TimeoutError):
        hasty.ping()


def test_a_delayed_answer_arrives(proxy: CuttingProxy, client: "redis.Redis") -> None:
    proxy.delay(requests=0.01, answers=0.01)
    assert client.get("key") == LONG.encode()


@pytest.mark.parametrize("accepts", [False, True])
def test_a_cut_ends_old_connections_and_denies_new_ones(
    proxy: CuttingProxy, client: "redis.Redis", accepts: bool
) -> None:
    proxy.cut(accepts=accepts)
    for _ in ("old", "new"):
        with pytest.raises(redis.ConnectionError):
            client.ping()
    assert (proxy.connections > 1) is accepts
    proxy.restore()
    assert client.ping()


def test_a_cut_is_a_reset(proxy: CuttingProxy) -> None:
    with socket.create_connection((HOST, proxy.port), WAIT_SECONDS) as connection:
        connection.sendall(b"PING\r\n")
        assert connection.recv(100) == b"+PONG\r\n"
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(100)


def test_nothing_goes_through_a_wire_that_hangs(
    redis_server: RedisServer, proxy: CuttingProxy, hasty: "redis.Redis"
) -> None:
    proxy.hang()
    for _ in ("old", "new"):
        with pytest.raises(redis.TimeoutError):
            hasty.set("key", "changed")
    assert proxy.connections == 2
    with redis_server.client() as direct:
        assert direct.get("key") is None


def test_what_hung_goes_on_when_the_wire_is_restored(proxy: CuttingProxy) -> None:
    with socket.create_connection((HOST, proxy.port), WAIT_SECONDS) as connection:
        proxy.hang()
        connection.sendall(b"PING\r\n")
        proxy.restore()
        assert connection.recv(100) == b"+PONG\r\n"


def test_requests_arrive_though_their_answers_do_not(
    redis_server: RedisServer, proxy: CuttingProxy, hasty: "redis.Redis"
) -> None:
    proxy.hang_answers()
    with pytest.raises(redis.TimeoutError):
        hasty.set("key", "changed")
    with redis_server.client() as direct:
        eventually(lambda: direct.get("key") == b"changed")
    proxy.restore()
    with client_of(proxy) as client:
        assert client.get("key") == b"changed"


def test_a_connection_is_cut_in_the_middle_of_an_answer(proxy: CuttingProxy) -> None:
    with socket.create_connection((HOST, proxy.port), WAIT_SECONDS) as connection:
        connection.sendall(b"PING\r\n")
        assert connection.recv(100) == b"+PONG\r\n"
        proxy.bytes_cut_after(10)
        connection.sendall(b"PING\r\n")
        assert connection.recv(100) == b"+PONG\r\n"
        connection.sendall(b"PING\r\n")
        assert connection.recv(100) == b"+PO"
        with pytest.raises(ConnectionResetError):
            connection.recv(100)


def test_only_one_connection_is_cut(proxy: CuttingProxy, client: "redis.Redis") -> None:
    proxy.bytes_cut_after(100)
    with pytest.raises(redis.ConnectionError):
        client.get("key")
    assert client.get("key") == LONG.encode()


def test_a_server_that_is_down_ends_the_connection(redis_server: RedisServer, proxy: CuttingProxy) -> None:
    redis_server.kill()
    with client_of(proxy) as client, pytest.raises(redis.ConnectionError):
        client.ping()


def test_it_can_be_a_server_with_tls(redis_server: RedisServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with CuttingProxy(redis_server.port, authority.server(HOST)) as proxy:
        with redis.Redis.from_url(proxy.url, ssl_ca_certs=str(authority.file), protocol=2) as client:
            assert client.ping()
        stranger = redis.Redis.from_url(proxy.url, retry=Retry(NoBackoff(), 0), protocol=2)
        with stranger, pytest.raises(redis.ConnectionError, match="certificate verify failed"):
            stranger.ping()


def test_a_wire_with_tls_hangs_and_breaks_like_any_other(redis_server: RedisServer, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with CuttingProxy(redis_server.port, authority.server(HOST)) as proxy:
        trusting = {"ssl_ca_certs": str(authority.file), "retry": Retry(NoBackoff(), 0), "protocol": 2}
        with redis.Redis.from_url(proxy.url, **trusting, socket_timeout=SHORT_SECONDS) as hasty:
            proxy.hang()
            with pytest.raises(redis.TimeoutError):
                hasty.ping()
            proxy.restore()
        with redis.Redis.from_url(proxy.url, **trusting) as client:
            client.set("key", LONG)
            proxy.bytes_cut_after(100)
            with pytest.raises(redis.ConnectionError):
                client.get("key")
            assert client.get("key") == LONG.encode()
            proxy.cut()
            with pytest.raises(redis.ConnectionError):
                client.get("key")


def test_a_held_port_is_free_for_a_listener_and_refuses_until_then() -> None:
    with held_port() as held, socket.socket() as listener:
        address = held.getsockname()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, WAIT_SECONDS)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
        socket.create_connection(address, WAIT_SECONDS).close()
