"""replication/node.py: the log has one line for an outage and one for its end, without the command."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import aclosing

import pytest
from redis.exceptions import ConnectionError as NotConnected
from redis.exceptions import ResponseError

from core.failures import Unavailable
from replication.node import RetryingLoop
from replication.redis_link import ERROR_CHARACTERS, UNREACHABLE, described
from tests.support.coroutines import run
from tests.support.fake_clock import FakeClock
from tests.support.reading_node import link_to
from tests.support.redis_server import RedisServer

SECRET = "what-a-user-has-voted-for"


class Asked:
    """A contact, and what becomes of each thing that is asked; then it is cancelled."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.clock = FakeClock()
        self.seen: list[str | None] = []
        """Why it did not work, before each try."""
        self.calls: list[str] = []
        self._outcomes = iter(outcomes)
        self.contact = RetryingLoop("asking", self.clock, self._drop_idle, lambda: self.calls.append("lost"))

    async def _drop_idle(self) -> None:
        self.calls.append("dropped")

    async def step(self) -> float:
        self.seen.append(self.contact.failure)
        self.clock.advance(1)
        try:
            outcome = next(self._outcomes)
        except StopIteration:
            raise asyncio.CancelledError from None
        if outcome is not None:
            raise outcome
        return 0

    def run(self) -> None:
        with pytest.raises(asyncio.CancelledError):
            run(self.contact.run(self.step))


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records]
    levels = [logging.INFO if "works again" in line else logging.WARNING for line in lines]
    assert [record.levelno for record in caplog.records] == levels
    return lines


@pytest.mark.parametrize(
    "error", [NotConnected("reset"), OSError("reset"), TimeoutError("reset"), Unavailable("reset")]
)
def test_an_outage_is_shown_while_it_lasts_and_told_once_like_its_end(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Asked(None, error, error, error, None, None)
    asked.run()
    failure = f"{type(error).__name__}: reset"
    assert asked.seen == [None, None, failure, failure, failure, None, None]
    assert said(caplog) == [f"Redis: asking fails: {failure}", "Redis: asking works again after 3.0 s"]
    assert asked.calls == ["lost", "dropped"] * 3


def test_the_next_outage_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    Asked(OSError("a"), OSError("b"), None, OSError("c"), None).run()
    assert [words.partition(" after")[0] for words in said(caplog)] == [
        "Redis: asking fails: OSError: a",
        "Redis: asking works again",
        "Redis: asking fails: OSError: c",
        "Redis: asking works again",
    ]


def test_why_it_does_not_work_is_shown_as_of_the_last_try(caplog: pytest.LogCaptureFixture) -> None:
    asked = Asked(OSError("a"), OSError("b"))
    asked.run()
    assert asked.seen == [None, "OSError: a", "OSError: b"]
    assert len(said(caplog)) == 1


def test_a_bug_is_no_outage() -> None:
    with pytest.raises(LookupError):
        run(Asked(LookupError()).contact.run(Asked(LookupError()).step))


@pytest.mark.parametrize("takes_it_for", [TimeoutError(), None])
def test_a_cancelled_loop_ends_although_its_step_has_swallowed_that(
    takes_it_for: Exception | None,
) -> None:
    async def story() -> None:
        asking, asked = asyncio.Event(), list[str]()

        async def step() -> float:
            asked.append("once more")
            asking.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if len(asked) > 1:
                    raise
                if takes_it_for is not None:
                    raise takes_it_for from None
            return 0

        task = asyncio.create_task(Asked().contact.run(step))
        await asking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asked) == 1

    run(story())


# -- in words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ResponseError(f"Command # 1 (XADD s {SECRET}) of pipeline caused error: OOM no"), "OOM no"),
        (ResponseError(f"(SET caused error: {SECRET}) of pipeline caused error: OOM no"), "OOM no"),
        (ResponseError("two\nlines \x1b[31min red\r\u2028"), "twolines [31min red"),
        (ResponseError("x" * 1_000), "x" * ERROR_CHARACTERS),
    ],
)
def test_an_error_is_described_in_one_short_line_without_the_command(error: Exception, words: str) -> None:
    assert described(error) == f"ResponseError: {words}"


@pytest.mark.parametrize("words", ["", "\n\x00"])
def test_an_error_without_words_is_described_by_its_kind(words: str) -> None:
    assert described(TimeoutError(words)) == "TimeoutError"


def test_an_error_of_a_command_in_a_pipeline_is_described_without_the_command(
    redis_server: RedisServer,
) -> None:
    async def errors() -> Iterable[Exception]:
        link = link_to(redis_server.url)
        async with aclosing(link.redis):
            await link.redis.set("votegate:nodes", "of another type")
            pipeline = link.redis.pipeline(transaction=False)
            pipeline.hset("votegate:nodes", "rome", SECRET)
            try:
                await pipeline.execute()
            except UNREACHABLE as error:
                return [error]
        return []

    (error,) = run(errors())
    assert SECRET in str(error)  # or this would show nothing
    assert SECRET not in described(error)
    assert "WRONGTYPE" in described(error)


# -- idle connections --------------------------------------------------------------------------------------


def test_a_command_beside_the_closing_of_idle_connections_is_answered(redis_server: RedisServer) -> None:
    async def story() -> None:
        link = link_to(redis_server.url)
        async with aclosing(link.redis):
            for turns in range(20):
                await asyncio.gather(*(link.redis.ping() for _ in range(3)))  # three are idle now
                closing = asyncio.create_task(link.drop_idle())
                for _ in range(turns % 5):
                    await asyncio.sleep(0)
                await asyncio.gather(*(link.redis.ping() for _ in range(3)))
                await closing

    run(story())
