"""outbound/client.py: the pool bounds idle connections in number and in time."""

import pytest

from outbound.client import ConnectionPool
from outbound.http1 import ClientConnection


class Kept(ClientConnection):
    """A connection for a pool, without a socket."""

    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


def aborted(connections: list[Kept]) -> list[bool]:
    return [connection.aborted for connection in connections]


def test_the_idle_connections_of_an_endpoint_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outbound.client.IDLE_PER_ORIGIN", 2)
    pool, key, kept = ConnectionPool(), ("http", "a.example", 80), [Kept() for _ in range(3)]
    for connection in kept:
        pool.give(key, connection, now_ns=0)
    assert aborted(kept) == [True, False, False]
    assert [pool.take(key, now_ns=0) for _ in range(3)] == [kept[2], kept[1], None]


def test_the_idle_connections_of_all_endpoints_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("outbound.client.IDLE_TOTAL", 2)
    pool, kept = ConnectionPool(), [Kept() for _ in range(3)]
    for port, connection in enumerate(kept):
        pool.give(("http", "a.example", port), connection, now_ns=0)
    assert aborted(kept) == [True, False, False]


@pytest.mark.parametrize(
    "other", [("https", "a.example", 80), ("http", "b.example", 80), ("http", "a.example", 81)]
)
def test_a_connection_is_not_used_for_another_endpoint(other: tuple[str, str, int]) -> None:
    pool = ConnectionPool()
    pool.give(("http", "a.example", 80), Kept(), now_ns=0)
    assert pool.take(other, now_ns=0) is None


def test_a_sweep_says_when_the_next_is_due() -> None:
    pool, kept = ConnectionPool(), [Kept(), Kept()]
    for seconds, connection in enumerate(kept):
        pool.give(("http", "a.example", 80), connection, seconds * 1_000_000_000)
    assert pool.sweep(1_500_000_000) == 2.5
    assert aborted(kept) == [False, False]
    assert pool.sweep(4_000_000_000) == 1
    assert aborted(kept) == [True, False]
    assert pool.sweep(5_000_000_000) is None
    assert aborted(kept) == [True, True]
