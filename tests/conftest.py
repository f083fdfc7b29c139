"""Fixtures that most tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import Served, serving
from tests.gateway import ProcessGateway, ThreadGateway, running
from tests.receiver import Receiver, receiving

os.umask(0o022)
"""Tests make data folders too, and one that its group may write, as with 002, is refused."""

TESTS = Path(__file__).parent
LONGEST_FIRST = ["test_schemathesis.py", "wire", "faults", "unit_io", "unit"]
"""Rooms with modules that take long; those of the others end close together."""


def room(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0]


@pytest.hookimpl(trylast=True)  # once Hypothesis has marked its own
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Orders modules so that no worker is left alone with a long one, and keeps properties from being traced.

    Tracing makes a test twice as slow. A property would pay that for each of its examples, and covers no
    more by them than the examples by hand beside it.
    """
    items.sort(key=lambda item: [*LONGEST_FIRST, room(item)].index(room(item)))
    if config.pluginmanager.hasplugin("_cov"):  # otherwise pytest-cov 7.1 trips over its own marker
        for item in items:
            if item.get_closest_marker("hypothesis"):
                item.add_marker("no_cover")


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[ThreadGateway]:
    """A gateway with default settings and a clock that the test moves."""
    with running(tmp_path / "data") as gateway:
        yield gateway


@pytest.fixture
def process(tmp_path: Path) -> Iterator[ProcessGateway]:
    """A gateway in a process of its own, not started yet."""
    gateway = ProcessGateway(tmp_path / "data")
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


@pytest.fixture
def served(shared: Served) -> Iterator[Served]:
    """One gateway for all tests of a module that change nothing; proves that they change nothing."""
    before = shared.digest()
    yield shared
    assert shared.digest() == before
