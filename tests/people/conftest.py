"""A deployment with one moderator by its settings."""

import pytest

from core.state import State
from people.permissions import Moderators
from people.user_sessions import Sessions
from tests.support.people import TERMS
from tests.support.sample_rows import OWNER


@pytest.fixture
def moderators(state: State) -> Moderators:
    return Moderators(state, frozenset({OWNER}))


@pytest.fixture
def sessions(state: State, moderators: Moderators) -> Sessions:
    return Sessions(state, moderators, TERMS)
