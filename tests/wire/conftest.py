"""Fixtures of the wire's tests."""

from collections.abc import Iterator

import pytest

from tests.support.contract import Served
from tests.support.raw_http_client import Caller, calling


@pytest.fixture
def caller(served: Served) -> Iterator[Caller]:
    with calling(served.gateway.base_url) as caller:
        yield caller
