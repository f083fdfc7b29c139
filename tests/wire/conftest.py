"""Fixtures of the wire's tests."""

from collections.abc import Iterator

import pytest

from tests.contract import Served
from tests.wire.clients import Caller, calling


@pytest.fixture
def caller(served: Served) -> Iterator[Caller]:
    with calling(served.gateway.base_url) as caller:
        yield caller
