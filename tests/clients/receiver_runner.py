"""Runs stories of the side `receiver` with the Python receiver."""

import logging
from types import ModuleType
from typing import Any

from tests.clients.client_runner import KeyFinder
from tests.clients.stories import NOW, Story, body_bytes, header_lines
from tests.clients.story_clock import StoryClock

Called = tuple[str, Any]
"""A handler's name, and its value."""


class HandlerFailure(Exception):
    """Raised by handlers of a story in which they fail."""


async def run(story: Story, package: ModuleType) -> None:
    """Tell a story to the receiver of a package. Raises AssertionError where it departs from it."""
    options = story["options"]
    receiver = package.Receiver(
        secret=options.get("secrets"), token=options.get("token"), clock=StoryClock(NOW)
    )
    called: list[Called] = []
    for name in ("vote", "test", "event"):
        getattr(receiver, f"on_{name}")(_handler(name, called, story))
    finders = [KeyFinder(secret) for secret in [*options.get("secrets", []), options.get("token")] if secret]
    for each in finders:
        logging.getLogger().addHandler(each)
    try:
        for delivery in story["deliveries"]:
            answer = await receiver.receive(header_lines(delivery["headers"]), body_bytes(delivery["body"]))
            await receiver.finish()
            assert answer.status == delivery["answer"], answer
            check_called(delivery["handler"], called)
            called.clear()
    finally:
        for each in finders:
            logging.getLogger().removeHandler(each)
    for each in finders:
        each.check()


def _handler(name: str, called: list[Called], story: Story) -> Any:
    async def handle(value: Any) -> None:
        called.append((name, value))
        if "handler_fails" in story:
            raise HandlerFailure

    return handle


def check_called(wanted: dict[str, Any] | None, called: list[Called]) -> None:
    """Compare the calls of handlers with the one that the story names, or with none."""
    if wanted is None:
        assert called == []
        return
    assert [name for name, _ in called] == [wanted["on"]]
    [(_, value)] = called
    assert {name: getattr(value, name) for name in wanted["gets"]} == wanted["gets"]
