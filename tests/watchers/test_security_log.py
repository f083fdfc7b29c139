"""watchers/security_log.py: a line for each security event, and however many there are, a bounded log."""

import asyncio
import logging
from collections.abc import Iterator

import pytest

from core.actors import ADDRESS
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from watchers.security_log import LINES, LOGGER, STRANGERS_LINES, SecurityBounds, tell

log = logging.getLogger(LOGGER)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, LOGGER)
    return caplog


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bounds(clock: FakeClock) -> Iterator[SecurityBounds]:
    bounds = SecurityBounds(clock)
    log.addFilter(bounds)
    yield bounds
    log.removeFilter(bounds)


def test_a_line_has_the_facts_that_there_are_and_the_address(said: pytest.LogCaptureFixture) -> None:
    address = ADDRESS.set("192.0.2.1")
    tell("form_refused", by="")
    tell("key_revoked", by="users/1", listing="bots/2")
    ADDRESS.reset(address)
    tell("signed_in", user="users/1")
    assert said.messages == [
        "form_refused address=192.0.2.1",
        "key_revoked by=users/1 listing=bots/2 address=192.0.2.1",
        "signed_in user=users/1",
    ]
    assert said.records[1].fields == {  # type: ignore[attr-defined]
        "event": "key_revoked",
        "by": "users/1",
        "listing": "bots/2",
        "address": "192.0.2.1",
    }


@pytest.mark.parametrize(("event", "most"), [("form_refused", STRANGERS_LINES), ("key_issued", LINES)])
def test_an_event_has_so_many_lines_a_minute_and_the_rest_is_counted(
    said: pytest.LogCaptureFixture, bounds: SecurityBounds, clock: FakeClock, event: str, most: int
) -> None:
    for _ in range(most + 7):
        tell(event)
    assert said.messages == [event] * most
    tell("signed_in")
    assert said.messages[-1] == "signed_in", "no other event is left out for it"
    clock.advance(59)
    bounds.step()
    tell(event)
    assert said.messages[-1] == "signed_in"
    clock.advance(1)
    address = ADDRESS.set("192.0.2.1")
    tell(event)
    ADDRESS.reset(address)
    assert said.messages[-2:] == [f"left_out of={event} lines=8", f"{event} address=192.0.2.1"]


def test_what_was_left_out_is_told_also_when_nothing_more_comes(
    said: pytest.LogCaptureFixture, bounds: SecurityBounds, clock: FakeClock
) -> None:
    for _ in range(STRANGERS_LINES + 2):
        tell("wrong_operator_token")
    clock.advance(60)
    bounds.step()
    bounds.step()
    assert said.messages[STRANGERS_LINES:] == ["left_out of=wrong_operator_token lines=2"]


def test_a_stop_tells_what_was_left_out_and_ends_the_bounds(said: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        running = asyncio.create_task(SecurityBounds(FakeClock()).run())
        await asyncio.sleep(0)
        for _ in range(STRANGERS_LINES + 1):
            tell("sign_in_failed")
        running.cancel()
        await asyncio.wait([running])

    run(story())
    assert said.messages[-1] == "left_out of=sign_in_failed lines=1"
    assert log.filters == []
