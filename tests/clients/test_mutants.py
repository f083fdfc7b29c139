"""Each mistake in the Python client turns a story red."""

import asyncio
from pathlib import Path

import pytest

from tests.clients import client_runner, poster_runner, receiver_runner
from tests.clients.mutants import MUTANTS, mutated
from tests.clients.stories import named

RUNNERS = {"client": client_runner, "poster": poster_runner, "receiver": receiver_runner}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_turns_a_story_red(name: str, tmp_path: Path) -> None:
    mutant = MUTANTS[name]
    story = named(mutant.story)
    with mutated(mutant, tmp_path) as package, pytest.raises(AssertionError):
        asyncio.run(RUNNERS[story["side"]].run(story, package))


def test_there_are_ten_mistakes_at_least() -> None:
    assert len(MUTANTS) >= 10
