"""Fixtures that most tests share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract import Served, serving
from tests.gateway import ProcessGateway, ThreadGateway, running
from tests.receiver import Receiver, receiving


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
