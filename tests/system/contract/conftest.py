"""Fixtures of the contract's tests."""

import os
from collections.abc import Iterator

import pytest

from tests.support.gateways import ThreadGateway
from tests.support.searched_logs import searching_logs


@pytest.fixture(scope="module", autouse=True)
def no_log_holds_a_secret() -> Iterator[None]:
    """Check that no log of a module's gateways holds a secret that was used."""
    with searching_logs() as searched:
        yield
    assert searched.leaks() == []


REACH_INSIDE = {"caplog", "monkeypatch"}
"""Fixtures by which a test hears or changes the gateway's process."""
STILL_CLOCK = {
    "test_the_delay_begins_with_the_failure",
    "test_a_test_answers_with_the_delivery_and_its_result",
    "test_the_age_of_a_snapshot_outlives_a_restart",
}
"""Tests that count on a clock that stands still, without moving it themselves."""


@pytest.fixture(autouse=True)
def only_what_can_be_asked_of_a_program(request: pytest.FixtureRequest) -> None:
    """Skips a test that needs a gateway in this process, if it is in another one."""
    if "TESTED_VOTEGATE" not in os.environ:
        return
    if REACH_INSIDE & set(request.fixturenames) or request.node.name in STILL_CLOCK:
        pytest.skip("this test reaches into the gateway's process")


@pytest.fixture
def key(gateway: ThreadGateway) -> str:
    """An API key of an approved bot that is in 1,000 servers."""
    return gateway.list_bot()
