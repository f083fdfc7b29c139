"""Fixtures of the contract's tests."""

import pytest

from tests.support.gateways import ThreadGateway


@pytest.fixture
def key(gateway: ThreadGateway) -> str:
    """An API key of an approved bot that is in 1,000 servers."""
    return gateway.list_bot()
