"""The sealing keys of a fleet, changed while all nodes run."""

import signal
from pathlib import Path

from storage.folder import KEYS
from storage.sealing import Keyring, keyring_of, new_key
from tests.support.contract import users
from tests.support.fleet_processes import Edge, fleet_of
from tests.support.gateways import eventually
from tests.support.redis_server import RedisServer


def test_sealing_keys_of_a_fleet_are_replaced_without_a_stop(
    redis_server: RedisServer, tmp_path: Path
) -> None:
    voters = iter(users(20))

    def give(node: Edge, text: str) -> None:
        before, ring = len(node.log), keyring_of(text)
        (node.folder / KEYS).write_text(f"{text}\n")
        node.process.send_signal(signal.SIGHUP)
        said = f"sealing keys: {len(ring.key_ids)}; new files use {ring.newest.hex()}"
        eventually(lambda: said in node.log[before:])
        for each in (a, b):
            each.cast(next(voters))
        fleet.converge(a, b)
        assert not a.replication["refused"]
        assert not b.replication["refused"]

    with fleet_of(tmp_path, redis_server.url) as fleet:
        a, b = fleet.edge("a"), fleet.edge("b")
        a.list_bot()
        fleet.converge(a, b)
        old, new = (a.folder / KEYS).read_text().strip(), Keyring([new_key()]).to_text()
        for text in (f"{old}\n{new}", f"{new}\n{old}"):
            for node in (a, b):
                give(node, text)
        unneeded = f"no file in the data folder needs sealing key {keyring_of(old).newest.hex()} any more"
        for node in (a, b):
            for _ in range(2):
                node.done("POST", "/debug/snapshot", {})
                node.cast(next(voters))
            node.done("POST", "/debug/snapshot", {})
        eventually(lambda: all(unneeded in node.log for node in (a, b)))
        fleet.converge(a, b)
        for node in (a, b):
            give(node, new)
        c = fleet.edge("c")
        fleet.converge(a, b, c)
