"""Fixtures for pytest. Name this module in the `conftest.py` of your tests:

pytest_plugins = ["votegate_client.testing.fixtures"]
"""

from collections.abc import Iterator

import pytest

from votegate_client.testing.fake_clock import FakeClock
from votegate_client.testing.fake_gateway import FakeGateway


@pytest.fixture
def fake_gateway() -> Iterator[FakeGateway]:
    """A gateway of this test alone."""
    with FakeGateway() as gateway:
        yield gateway


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock that stands still until the test moves it."""
    return FakeClock()
