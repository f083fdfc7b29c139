"""A fleet under load while everything around it breaks.

Invariant: afterwards all nodes have the same content, and everything that they acknowledged. No node keeps a
page that the last change of a listing has made wrong.

    python -m tests.system.fleet.soak --seconds 120 --seed N

There are three nodes, each with its own wire to one Redis. Nodes are killed and restarted. Wires are cut,
hang and are slow. Redis is killed, frozen, flushed, trimmed and put back to an older dump. Then all is
restored. When the nodes have the same content, it is compared with the record of everything acknowledged.
The seed decides the steps; the machine decides the order of the threads. The command ends with status 1 if
anything was wrong; the folders of the nodes are kept then.
"""

import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click

from tests.support.cutting_proxy import CuttingProxy
from tests.support.fleet_processes import Edge, FleetOfEdges, fleet_of
from tests.support.redis_server import RedisServer
from tests.system.faults.crash import drawn_seed
from tests.system.fleet.soak_load import Actor, accepting
from tests.system.fleet.soak_record import Findings, Node, World, check, check_pages, read_pages

NAMES = ("a", "b", "c")
ACTORS = 4
QUIET_SECONDS = (0.1, 1.5)
FAULT_SECONDS = (0.05, 1.5)
CONVERGE_SECONDS = 60
STUCK_SECONDS = 60
TRIMMED_TO = 20  # entries at most
COPY_GIVEN = "takes a copy of this one"
SETTINGS = {
    "VOTEGATE_VOTES__COOLDOWN_SECONDS": "0.5",
    "VOTEGATE_KEYS__PER_LISTING": "1000",
    "VOTEGATE_LIMITS__STATS__REQUESTS": "1000000",
    "VOTEGATE_LIMITS__VOTERS__REQUESTS": "1000000",
    "VOTEGATE_LIMITS__FAILURES__REQUESTS": "1000000",
    "VOTEGATE_REDIS__LEASE_SECONDS": "2",
    "VOTEGATE_SNAPSHOT__INTERVAL_SECONDS": "5",
    "VOTEGATE_JOURNAL__SEGMENT_BYTES": "1048576",
    # Pages for strangers. Nothing answers in place of the chat platform, and no page here waits for it.
    "VOTEGATE_WEB__PUBLIC_URL": "http://127.0.0.1:8080",
    "VOTEGATE_CHAT_PLATFORM__API_URL": "http://127.0.0.1:9/api/v10",
    "VOTEGATE_CHAT_PLATFORM__AUTHORIZE_URL": "http://127.0.0.1:9/oauth2/authorize",
    "VOTEGATE_CHAT_PLATFORM__CLIENT_ID": "900000000000000001",
    "VOTEGATE_CHAT_PLATFORM__CLIENT_SECRET": "a-secret-of-the-soak",
}
Fault = Callable[[], None]


@dataclass
class Tally:
    seed: int
    findings: Findings
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)
    copies: int = 0
    converged_seconds: float | None = None

    @property
    def holds(self) -> bool:
        return not self.findings.violations and self.converged_seconds is not None

    def lines(self) -> str:
        findings = self.findings
        took = self.converged_seconds
        rows = [
            ("seed", self.seed),
            ("load", f"{self.seconds:.0f} s"),
            ("votes acknowledged", findings.acknowledged),
            ("votes lost", findings.lost),
            ("409 at votes", findings.conflicts),
            ("pages read", findings.pages),
            ("users erased", findings.erased),
            ("listings removed", findings.removed),
            ("answers", ", ".join(f"{n} {code}" for code, n in sorted(findings.answers.items()))),
            ("5xx", f"{findings.errors}, all of nodes being stopped unless told below"),
            ("unanswered", f"{findings.unanswered}, likewise"),
            ("faults", ", ".join(f"{n} {what}" for what, n in sorted(self.faults.items()))),
            ("copies taken", self.copies),
            ("converged", "never" if took is None else f"in {took:.1f} s"),
            ("violations", len(findings.violations)),
        ]
        return "\n".join([f"{name:<21}{value}" for name, value in rows] + findings.violations[:50])


class Trouble:
    """Faults of one kind of thing, one after the other, each undone before the next."""

    def __init__(self, kinds: Mapping[str, Fault], tally: Tally, stop: threading.Event, seed: str) -> None:
        self._kinds = kinds
        self._tally = tally
        self._stop = stop
        self._random = random.Random(seed)

    def run(self) -> None:
        while not self._stop.wait(self._random.uniform(*QUIET_SECONDS)):
            kind = self._random.choice(list(self._kinds))
            self._tally.faults[kind] += 1
            self._kinds[kind]()


class Breaking:
    """The things that break."""

    def __init__(
        self,
        nodes: Mapping[str, Edge],
        world: World,
        wires: Mapping[str, CuttingProxy],
        redis: RedisServer,
        stop: threading.Event,
        seed: int,
    ) -> None:
        self._edges = nodes
        self._world = world
        self._wires = wires
        self._redis = redis
        self._stop = stop
        self._random = random.Random(f"{seed}/breaking")  # its order is that of the threads

    def _wait(self) -> None:
        self._stop.wait(self._random.uniform(*FAULT_SECONDS))

    @property
    def kinds(self) -> Mapping[str, Mapping[str, Fault]]:
        """By what breaks, and how."""
        return {
            "nodes": {
                "nodes killed": lambda: self._restart(signal.SIGKILL),
                "nodes restarted": lambda: self._restart(signal.SIGTERM),
            },
            "wires": {
                "wires cut": lambda: self._wire(CuttingProxy.cut),
                "wires closing": lambda: self._wire(lambda wire: wire.cut(accepts=True)),
                "wires hanging": lambda: self._wire(CuttingProxy.hang),
                "wires without answers": lambda: self._wire(CuttingProxy.hang_answers),
                "wires slow": lambda: self._wire(lambda wire: wire.delay(0.05, 0.05)),
                "wires cut within an answer": lambda: self._wire(
                    lambda wire: wire.bytes_cut_after(self._random.randint(1, 5_000))
                ),
            },
            "redis": {
                "Redis killed, empty": lambda: self._redis_restart(empty=True),
                "Redis killed, back at a dump": lambda: self._redis_restart(empty=False),
                "Redis dumped": self._redis.save,
                "Redis flushed": self._redis.flush,
                "Redis frozen": self._freeze,
                "streams trimmed": self._trim,
            },
        }

    def _restart(self, how: signal.Signals) -> None:
        node = self._random.choice(self._world.nodes)
        edge = self._edges[node.name]
        node.life += 1
        status = edge.signal(how)
        if status != (-signal.SIGKILL if how is signal.SIGKILL else 0):
            self._world.findings.violations.append(f"{node.name} ended with status {status}")
        self._wait()
        edge.start()
        node.life += 1

    def _wire(self, fault: Callable[[CuttingProxy], None]) -> None:
        wire = self._wires[self._random.choice(NAMES)]
        fault(wire)
        self._wait()
        wire.restore()

    def _redis_restart(self, *, empty: bool) -> None:
        self._redis.kill()
        if empty:
            self._redis.dump.unlink(missing_ok=True)
        self._wait()
        self._redis.start()

    def _freeze(self) -> None:
        self._redis.freeze()
        self._wait()
        self._redis.thaw()

    def _trim(self) -> None:
        with self._redis.client() as client:
            client.xtrim(
                f"votegate:stream:{self._random.choice(NAMES)}",
                maxlen=self._random.randint(0, TRIMMED_TO),
                approximate=False,
            )


def soak(path: Path, seconds: float, seed: int) -> Tally:
    """Works in the folder at `path`."""
    with ExitStack() as stack:
        folder = path / "redis"
        folder.mkdir()
        redis = RedisServer(folder)
        stack.callback(redis.close)
        redis.start()
        wires = {name: stack.enter_context(CuttingProxy(redis.port)) for name in NAMES}
        fleet = stack.enter_context(fleet_of(path, redis.url))
        edges = {name: fleet.edge(name, wires[name].url, **SETTINGS) for name in NAMES}
        webhook_url = stack.enter_context(accepting())
        world = World([Node(name, edge) for name, edge in edges.items()], webhook_url)
        tally = Tally(seed, world.findings)
        Actor(world, f"{seed}/first").prepare()
        fleet.converge(*edges.values())
        stop = threading.Event()
        breaking = Breaking(edges, world, wires, redis, stop, seed)
        _run(world, breaking, tally, stop, seconds)
        _check(world, fleet, tally)
        return tally


def _run(world: World, breaking: Breaking, tally: Tally, stop: threading.Event, seconds: float) -> None:
    """Load and faults, for so long; by the return all that was broken is whole."""
    actors = [Actor(world, f"{tally.seed}/{number}") for number in range(ACTORS)]
    troubles = [Trouble(kinds, tally, stop, f"{tally.seed}/{what}") for what, kinds in breaking.kinds.items()]
    runs = [*(partial(actor.run, stop) for actor in actors), *(trouble.run for trouble in troubles)]

    def watched(run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as error:  # whatever it is, it is told in the tally
            world.findings.violations.append(f"the soak itself: {error!r}")
            raise

    threads = [threading.Thread(target=watched, args=(run,), daemon=True) for run in runs]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    stop.wait(seconds)
    stop.set()
    for thread in threads:
        thread.join(STUCK_SECONDS)
        if thread.is_alive():
            world.findings.violations.append(f"a thread is stuck: {thread}")
    tally.seconds = time.monotonic() - started


def _check(world: World, fleet: FleetOfEdges, tally: Tally) -> None:
    started = time.monotonic()
    while tally.converged_seconds is None and time.monotonic() < started + CONVERGE_SECONDS:
        for node in world.nodes:  # what they keep of the pages is dropped by the changes that still come
            read_pages(world, node)
        if len({edge.fleet_digest for edge in fleet.edges}) == 1:
            tally.converged_seconds = time.monotonic() - started
            for node in world.nodes:
                check_pages(world, node)
        time.sleep(0.05)  # between two looks; the digests alone decide when it is over
    violations = world.findings.violations
    if tally.converged_seconds is None:
        violations += [f"{edge.name} is another: {edge.replication}" for edge in fleet.edges]
    for node, edge in zip(world.nodes, fleet.edges, strict=True):
        check(world, node)
        verified = edge.done("POST", "/debug/verify")
        if not verified["equal"]:
            violations.append(f"{node.name}: its disk is another: {verified}")
        tally.copies += edge.log.count(COPY_GIVEN)
        violations += [
            f"{node.name} says: {line}"
            for line in edge.log.splitlines()
            if " ERROR " in line or line.startswith("Traceback")
        ]


@click.command()
@click.option("--seconds", type=click.FloatRange(min=1), default=150)
@click.option("--seed", type=int, help="Drawn when it is not given.")
def main(seconds: float, seed: int | None) -> None:
    """Break everything around a fleet and look for what it lost."""
    path = Path(tempfile.mkdtemp(prefix="votegate-soak-"))
    seed = drawn_seed() if seed is None else seed
    click.echo(f"{seconds:g} s with seed {seed} in {path}")
    tally = soak(path, seconds, seed)
    click.echo(tally.lines())
    if tally.holds:
        shutil.rmtree(path)
    sys.exit(0 if tally.holds else 1)


if __name__ == "__main__":
    main()
