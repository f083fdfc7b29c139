"""Fixtures of the contract's tests."""

import os
from collections.abc import Iterator

import pytest

from tests.support.gateways import ThreadGateway
from tests.support.searched_logs import searching_logs


@pytest.fixture(scope="module", autouse=True)
def no_log_holds_a_secret() -> Iterator[None]:
    """Whatever a module does, no log of its gateways holds a secret that was used."""
    with searching_logs() as searched:
        yield
    assert searched.leaks() == []


REACH_INSIDE = {"caplog", "monkeypatch"}


@pytest.fixture(autouse=True)
def only_what_can_be_asked_of_a_program(request: pytest.FixtureRequest) -> None:
    """Skips a test that hears or changes the gateway's process, if that is another one."""
    if "TESTED_VOTEGATE" in os.environ and REACH_INSIDE & set(request.fixturenames):
        pytest.skip("this test reaches into the gateway's process")


@pytest.fixture
def key(gateway: ThreadGateway) -> str:
    """An API key of an approved bot that is in 1,000 servers."""
    return gateway.list_bot()
