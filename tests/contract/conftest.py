"""Fixtures of the contract's tests."""

from collections.abc import Iterator

import pytest

from tests.contract import Served, serving
from tests.gateway import DEFAULTS, ThreadGateway


@pytest.fixture(params=["httptools", "tornado"], scope="module", autouse=True)
def wire(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of the contract runs over both servers."""
    chosen: str = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DEFAULTS, "server.wire", chosen)
        yield chosen


@pytest.fixture
def key(gateway: ThreadGateway) -> str:
    """An API key of an approved bot that is in 1,000 servers."""
    return gateway.list_bot()


@pytest.fixture(scope="module")
def shared(wire: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp(wire) / "data") as served:
        yield served
