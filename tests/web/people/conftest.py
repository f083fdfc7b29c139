"""One site for all tests of people's pages, and a browser that nobody has signed in with."""

from collections.abc import Iterator

import pytest

from tests.support.people_scene import ATTEMPTS, PeopleSite, PeopleVisitor, serving_people


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
