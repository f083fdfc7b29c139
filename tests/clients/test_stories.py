"""The Python client and receiver, from the source tree, follow every story."""

import asyncio

import pytest

import votegate_client
from tests.clients import client_runner, poster_runner, receiver_runner
from tests.clients.stories import named, of_python


@pytest.mark.parametrize("name", [story["name"] for story in of_python("client")])
def test_the_client_follows_the_story(name: str) -> None:
    asyncio.run(client_runner.run(named(name), votegate_client))


@pytest.mark.parametrize("name", [story["name"] for story in of_python("poster")])
def test_the_poster_follows_the_story(name: str) -> None:
    asyncio.run(poster_runner.run(named(name), votegate_client))


@pytest.mark.parametrize("name", [story["name"] for story in of_python("receiver")])
def test_the_receiver_follows_the_story(name: str) -> None:
    asyncio.run(receiver_runner.run(named(name), votegate_client))
