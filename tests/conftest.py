"""Fixtures that most tests share."""

import gc
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tests.support.examples  # noqa: F401 (it says how properties are tested)
from core.ledger import Ledger
from core.state import State
from journal import journal as journal_module
from tests.support.contract import Served, serving
from tests.support.cutting_proxy import CuttingProxy
from tests.support.forked_gateway import ForkedGateway
from tests.support.gateways import ProcessGateway, ThreadGateway, running, tested_kind
from tests.support.memory_ledger import MemoryJournal, empty_state, fold
from tests.support.redis_server import RedisServer
from tests.support.watched_disk import WatchedDisk
from tests.support.webhook_receiver import Receiver, receiving

IN_MEMORY = Path("/dev/shm")
ON_DISK = ("journal", "snapshot", "storage", "system/faults")
"""Rooms whose tests test the disk."""
if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))  # pytest's folders of tests lie there

os.umask(0o022)
"""Tests make data folders too, and one that its group may write, as with 002, is refused."""

TESTS = Path(__file__).parent
LONGEST_FIRST = [
    *("openapi/test_schemathesis.py", "system/fleet", "system/faults"),
    *("system/processes", "docs", "wire/test_timeouts.py", "wire"),
]
SHORTEST_LAST = ["replication", "listings", "settings", "handlers", "ratelimit", "grammars", "guild_counts"]
"""Modules that take long come first, so that no worker is left alone with one; the shortest come last."""


@cache
def turn(module: Path) -> int:
    """The place of a module's room in the order; rooms that are not named share the place in the middle."""
    path = module.relative_to(TESTS)
    order = [*LONGEST_FIRST, None, *SHORTEST_LAST]
    named = [place for place, room in enumerate(order) if room is not None and path.is_relative_to(room)]
    return min(named, default=len(LONGEST_FIRST))


@pytest.hookimpl(trylast=True)  # once Hypothesis has marked its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Orders modules so that no worker is left alone with a long one, and keeps properties from being traced.

    Tracing makes a test twice as slow. A property would pay that for each of its examples, and covers no
    more by them than the examples by hand beside it.
    """
    items.sort(key=lambda item: turn(item.path))
    if config.pluginmanager.hasplugin("_cov"):  # otherwise pytest-cov 7.1 trips over its own marker
        for item in items:
            if item.get_closest_marker("hypothesis"):
                item.add_marker("no_cover")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Tests stay to the end: no collection of garbage looks ten thousand of them over again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own: on the disk where tests test the disk, else in memory if possible."""
    room = request.path.relative_to(TESTS)
    if not any(room.is_relative_to(tested) for tested in ON_DISK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="votegate-test-") as folder:
        yield Path(folder)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway with default settings and a clock that the test moves."""
    with running(tmp_path / "data") as gateway:
        yield gateway


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ProcessGateway]:
    """A gateway in a process of its own, not started yet."""
    gateway = ForkedGateway(tmp_path / "data")
    yield gateway
    if hasattr(gateway, "process"):
        gateway.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A webhook receiver that accepts everything until told otherwise."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("shared") / "data") as served:
        yield served


@pytest.fixture(scope="module")
def unchanged(shared: Served) -> str:
    """The digest that the shared gateway has before any test."""
    return shared.digest()


@pytest.fixture
def served(shared: Served, unchanged: str) -> Iterator[Served]:
    """One gateway for all tests of a module that change nothing; proves that they change nothing.

    The first test that fails here is the one that changed something. A program of its own has a real
    clock, by which it writes each minute which keys were used.
    """
    yield shared
    assert tested_kind() is not ThreadGateway or shared.digest() == unchanged


@pytest.fixture
def journal() -> MemoryJournal:
    """A journal in memory."""
    return MemoryJournal()


@pytest.fixture
def ledger(journal: MemoryJournal) -> Iterator[Ledger]:
    """An empty ledger; when its test ends, its records must fold to the state that was live."""
    ledger = Ledger(empty_state(), journal, head=0)
    yield ledger
    assert ledger.head == len(journal.records)
    assert fold(journal.records).digest() == ledger.state.digest()


@pytest.fixture
def state(ledger: Ledger) -> State:
    """The state of that ledger."""
    return ledger.state


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedDisk]:
    """A disk that a test watches, holds up and lets fail."""
    monkeypatch.setattr(journal_module, "RETRY_SECONDS", 0.001)
    disk = WatchedDisk(monkeypatch)
    yield disk
    disk.may_sync.set()


@pytest.fixture
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without settings."""
    for name in [name for name in os.environ if name.startswith("VOTEGATE_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="module")
def redis_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One Redis on this machine for all tests of a module."""
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    try:
        yield server.start()
    finally:
        server.close()


@pytest.fixture
def redis_server(redis_of_module: RedisServer) -> Iterator[RedisServer]:
    """An empty Redis on this machine; a test may do to it what it likes."""
    yield redis_of_module
    redis_of_module.renew()


@pytest.fixture
def proxy(redis_server: RedisServer) -> Iterator[CuttingProxy]:
    """A wire to that Redis."""
    with CuttingProxy(redis_server.port) as proxy:
        yield proxy
