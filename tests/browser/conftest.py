"""One browser for all tests of pages, and gateways with much and with nothing to show."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.browser import Visitor, browsing, visiting
from tests.support.debug_scene import filled_scene
from tests.support.gateways import ThreadGateway, running
from tests.support.webhook_receiver import Receiver, receiving


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/tests/browser/" in str(item.path):
            item.add_marker(pytest.mark.pages)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with browsing() as browser:
        yield browser


@pytest.fixture(scope="session")
def receiver_of_all() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def full(tmp_path_factory: pytest.TempPathFactory, receiver_of_all: Receiver) -> Iterator[ThreadGateway]:
    """A gateway with something on every page; tests change nothing in it."""
    with filled_scene(tmp_path_factory.mktemp("full") / "data", receiver_of_all) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreadGateway]:
    """A gateway that nobody has used."""
    with running(tmp_path_factory.mktemp("empty") / "data") as gateway:
        yield gateway


@pytest.fixture
def visitor(browser: Browser, full: ThreadGateway) -> Iterator[Visitor]:
    """A signed-in operator of the full gateway."""
    with visiting(browser, full) as visitor:
        yield visitor.sign_in()
