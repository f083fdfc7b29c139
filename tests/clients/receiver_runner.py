"""Runs stories of the side `receiver` with the Python receiver."""

import hmac
import logging
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tests.clients.client_runner import KeyFinder
from tests.clients.stories import NOW, Story, body_bytes, header_lines
from tests.clients.story_clock import StoryClock

Called = tuple[str, Any]
"""A handler's name, and its value."""


class HandlerFailure(Exception):
    """Raised by handlers of a story in which they fail."""


class FailingStore:
    """A store whose disk is full."""

    def claim(self, _event_id: str) -> bool:
        raise OSError


async def run(story: Story, package: ModuleType) -> None:
    """Tell a story to the receiver of a package. Raises AssertionError where it departs from it."""
    options = story["options"]
    receiver = package.Receiver(
        secret=options.get("secrets"),
        token=options.get("token"),
        store=FailingStore() if "store_fails" in story else None,
        clock=StoryClock(NOW),
    )
    called = handled(receiver, fails="handler_fails" in story)
    token = options.get("token", [])
    finders = [
        KeyFinder(secret)
        for secret in [*options.get("secrets", []), *([token] if isinstance(token, str) else token)]
    ]
    for each in finders:
        logging.getLogger().addHandler(each)
    try:
        for delivery in story["deliveries"]:
            lines, body = header_lines(delivery["headers"]), body_bytes(delivery["body"])
            with patch("hmac.compare_digest", wraps=hmac.compare_digest) as compared:
                answer = await receiver.receive(lines, body)
            await receiver.finish()
            assert compared.called or answer.status != 204, "not compared in constant time"
            assert answer.status == delivery["answer"], answer
            check_called(delivery["handler"], called)
            called.clear()
    finally:
        for each in finders:
            logging.getLogger().removeHandler(each)
    for each in finders:
        each.check()


def handled(receiver: Any, *, fails: bool = False) -> list[Called]:
    """Give a receiver handlers. Return a list that gets their calls."""
    called: list[Called] = []

    def handler(name: str) -> Any:
        async def handle(value: Any) -> None:
            called.append((name, value))
            if fails:
                raise HandlerFailure

        return handle

    for name in ("vote", "test", "event"):
        getattr(receiver, f"on_{name}")(handler(name))
    return called


def check_called(wanted: dict[str, Any] | None, called: list[Called], *, is_real: bool = False) -> None:
    """Compare the calls of handlers with the one that the story names, or with none.

    A real gateway has its own ids and times of events.
    """
    if wanted is None:
        assert called == []
        return
    assert [name for name, _ in called] == [wanted["on"]]
    [(_, value)] = called
    gets = {name: expected for name, expected in wanted["gets"].items() if not (is_real and name == "id")}
    got = {name: getattr(value, name) for name in gets}
    if is_real and "raw" in gets:
        gets["raw"] = {**gets["raw"], "at": value.raw["at"]}
    assert got == gets
