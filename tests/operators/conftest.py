"""Browsers of an operator who has signed in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.gateways import ThreadGateway
from tests.support.page_visitor import PageVisitor
from tests.support.suspended_endpoints import trying_once
from tests.support.webhook_receiver import Receiver


@pytest.fixture
def visitor(gateway: ThreadGateway) -> PageVisitor:
    visitor = PageVisitor(gateway)
    visitor.sign_in()
    return visitor


@pytest.fixture
def once(tmp_path: Path, receiver: Receiver) -> Iterator[ThreadGateway]:
    """A gateway that tries each delivery once."""
    with trying_once(tmp_path / "once", receiver) as gateway:
        yield gateway


@pytest.fixture
def watching(once: ThreadGateway) -> PageVisitor:
    visitor = PageVisitor(once)
    visitor.sign_in()
    return visitor
