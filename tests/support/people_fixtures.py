"""Fixtures of tests of people's pages: a gateway, a site with the sign-in alone, and their visitors."""

from collections.abc import Iterator

import pytest

from tests.support.people_gateway import PeopleGateway, Person, serving
from tests.support.people_scene import ATTEMPTS, PeopleSite, PeopleVisitor, serving_people
from tests.support.platform_stand_in import ADA, CLEO


@pytest.fixture(scope="module")
def settings() -> dict[str, object]:
    """The settings of the gateway. A module that needs others overrides this fixture."""
    return {}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, settings: dict[str, object]) -> Iterator[PeopleGateway]:
    """One gateway for all tests of a module. Each test lists the bots and servers that it needs."""
    with serving(tmp_path_factory.mktemp("people") / "data", **settings) as gateway:
        yield gateway


@pytest.fixture
def ada(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(600)
    return gateway.person(ADA)


@pytest.fixture
def cleo(gateway: PeopleGateway) -> Person:
    gateway.clock.advance(600)
    return gateway.person(CLEO)


@pytest.fixture(scope="module")
def shared_site() -> Iterator[PeopleSite]:
    with serving_people() as site:
        yield site


@pytest.fixture
def site(shared_site: PeopleSite) -> PeopleSite:
    shared_site.clock.advance(ATTEMPTS.window_seconds)
    shared_site.people.takes_writes, shared_site.people.refusal = True, None
    return shared_site


@pytest.fixture
def visitor(site: PeopleSite) -> PeopleVisitor:
    return site.visitor()
