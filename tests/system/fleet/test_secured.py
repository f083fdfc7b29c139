"""Nodes and a Redis that asks who they are: credentials, rights and certificates; and what is never shown."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.certificate_authority import Authority
from tests.support.contract import BOT_PATH, deliveries
from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, fleet_of
from tests.support.gateways import OTHER_USER, USER, eventually
from tests.support.redis_server import RedisServer
from tests.support.webhook_receiver import Receiver

PASSWORD, OPERATORS = "a-password-of-the-nodes", "the-password-of-redis-operators"
RIGHTS = [
    *("+get", "+set", "+del", "+expire", "+hset", "+hgetall", "+hdel"),
    *("+xadd", "+xread", "+xrevrange", "+xtrim", "+xlen", "+memory|usage", "+info"),
]
"""All that a node has to be allowed."""
PACE = {"VOTEGATE_REDIS__LEASE_SECONDS": "0.3"}


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis where nodes have a user of their own, who may do what nodes do."""
    folder = tmp_path / "redis"
    folder.mkdir()
    rules = ("--user", "edge", "on", f">{PASSWORD}", "resetchannels", "~votegate:*", "-@all", *RIGHTS)
    server = RedisServer(folder, *rules, password=OPERATORS)
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def as_edge(redis: RedisServer) -> str:
    return redis.url.replace("//", "//edge@")


def password_file(folder: Path, password: str) -> dict[str, str]:
    file = folder / "password"
    file.write_text(f"{password}\n")
    return {"VOTEGATE_REDIS__PASSWORD_FILE": str(file)}


def shown(*nodes: Edge) -> str:
    """All that nodes say of themselves."""
    return "".join(node.log + json.dumps(node.done("GET", "/debug/overview.json")) for node in nodes)


def assert_works_alone(node: Edge) -> None:
    """Everything that a gateway is for, without any other node."""
    key = node.list_bot()
    assert node.cast()["vote"] == 1
    assert node.voters(key).json()["voted"]
    assert node.stats(key, {"server_count": 1_000}).status_code == 200
    ready = node.request("GET", "/readyz")  # for all that it knows, its fleet knows more
    assert (ready.status_code, "Redis has not answered" in ready.text) == (503, True)


def length(redis: RedisServer, stream: str) -> Any:
    with redis.client() as client:
        return client.xlen(stream)


def failing(node: Edge) -> Any:
    """Wait until something fails, and return the failures with their reasons."""
    return eventually(lambda: node.replication["failing"])


def test_nodes_need_no_more_rights_than_are_written_down(
    locked: RedisServer, tmp_path: Path, receiver: Receiver
) -> None:
    own = {**PACE, **password_file(tmp_path, PASSWORD)}
    with fleet_of(tmp_path, as_edge(locked)) as fleet:
        a, b = fleet.edge("a", **own), fleet.edge("b", **own)
        key = a.list_bot()
        a.done("PUT", f"{BOT_PATH}/webhook", {"url": receiver.url})
        fleet.converge(a, b)
        a.cast()
        eventually(lambda: receiver.received)
        eventually(lambda: b.voters(key).json()["voted"])
        assert b.operate("POST", f"{BOT_PATH}/votes", {"user": USER}).status_code == 409
        receiver.default = receiver.hang
        a.cast(OTHER_USER)
        eventually(lambda: len(deliveries(b)) == 2)
        eventually(lambda: length(locked, "votegate:stream:a") == 1)  # all else is read, and cut off
        a.kill()
        eventually(lambda: "is gone: sending its 1 webhooks" in b.log)
        b.done("DELETE", f"/manage/users/{USER}")
        c = fleet.edge("c", **own)
        fleet.converge(b, c)
        assert c.cast()["vote"] == 1
        c.stop()

        with locked.client() as client:
            refused: Any = client.acl_log()
        assert [entry["object"] for entry in refused] == []
        assert b.replication["failing"] == {}
        assert PASSWORD not in shown(b)


def test_a_wrong_password_is_shown_and_everything_else_works(locked: RedisServer, tmp_path: Path) -> None:
    wrong = "a-password-that-is-wrong"
    with fleet_of(tmp_path, as_edge(locked)) as fleet:
        a = fleet.edge("a", **password_file(tmp_path, wrong))
        assert "invalid username-password pair" in failing(a)["registry"]
        assert_works_alone(a)
        assert (
            "Redis: hearing of other nodes fails: AuthenticationError: invalid username-password pair"
            in a.log
        )
        assert wrong not in shown(a)

        with locked.client() as client:
            client.acl_setuser("edge", enabled=True, passwords=[f"+{wrong}"])
        b = fleet.edge("b", **password_file(tmp_path, wrong))
        fleet.converge(a, b)
        assert b.votes_of([USER]) == [1]


@pytest.mark.long
def test_a_user_and_a_password_may_stand_in_the_url(locked: RedisServer, tmp_path: Path) -> None:
    url = locked.url.replace("//", f"//edge:{PASSWORD}@")
    with fleet_of(tmp_path, url) as fleet:
        a, b = fleet.edge("a"), fleet.edge("b")
        a.list_bot()
        a.cast()
        fleet.converge(a, b)
        locked.stop()
        failing(a)
        assert PASSWORD not in shown(a, b)


def test_nodes_speak_tls_with_a_redis_whose_authority_they_are_given(
    redis_server: RedisServer, tmp_path: Path, authority: Authority
) -> None:
    with CuttingProxy(redis_server.port, tls=authority.server("127.0.0.1")) as front:
        trusting = {"VOTEGATE_REDIS__CA": str(authority.file)}
        with fleet_of(tmp_path, front.url) as fleet:
            a, b = fleet.edge("a", **trusting), fleet.edge("b", **trusting)
            a.list_bot()
            a.cast()
            fleet.converge(a, b)
            assert b.votes_of([USER]) == [1]
            assert front.connections >= 2
            front.cut()
            failing(a)
            front.restore()
            b.cast(OTHER_USER)
            fleet.converge(a, b)


@pytest.mark.parametrize(
    ("name", "trusts_it"), [("127.0.0.1", False), ("redis.example", True)], ids=["authority", "name"]
)
def test_a_redis_that_cannot_prove_who_it_is_gets_nothing(
    redis_server: RedisServer, tmp_path: Path, authority: Authority, name: str, trusts_it: bool
) -> None:
    others = tmp_path / "others"
    others.mkdir()
    trusted = authority if trusts_it else Authority(others)
    with CuttingProxy(redis_server.port, tls=authority.server(name)) as front:
        trusting = {"VOTEGATE_REDIS__CA": str(trusted.file), **password_file(tmp_path, PASSWORD)}
        with fleet_of(tmp_path, front.url) as fleet:
            a = fleet.edge("a", **trusting)
            assert "CERTIFICATE_VERIFY_FAILED" in failing(a)["registry"]
            assert_works_alone(a)
            with redis_server.client() as client:
                assert client.keys() == []
            assert PASSWORD not in shown(a)
