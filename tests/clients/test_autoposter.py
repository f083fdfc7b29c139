"""AutoPoster pushes the counts of a bot once an hour, and raises nothing in the bot."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from tests.clients.scripted_server import ScriptedServer
from tests.clients.stories import DEFAULTS, NOW
from tests.clients.story_clock import StoryClock
from votegate_client import AutoPoster, Client

OK = {"status": 200, "json": {"success": True}}
HOUR = 3600


def refusal(status: int, text: str, **headers: str) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return {
        "status": status,
        "json": {"success": False, "error": text, "status": status},
        "headers": names,
    }


class Push(NamedTuple):
    after: float
    """Seconds of the bot's clock since the push before it."""
    counts: dict[str, int]


class FakeBot:
    """A bot in one server more after each push. It is closed after so many pushes."""

    def __init__(self, clock: StoryClock, pushes: int, shard_count: int | None = None) -> None:
        self.guilds: Sequence[object] = range(10)
        self.shard_count = shard_count
        self.is_ready = asyncio.Event()
        self._clock = clock
        self._left = pushes

    async def wait_until_ready(self) -> None:
        await self.is_ready.wait()
        self._clock.elapsed += 5

    def is_closed(self) -> bool:
        self._left -= 1
        self.guilds = range(len(self.guilds) + 1)
        return self._left < 0


class ShardedBot(FakeBot):
    @property
    def shards(self) -> dict[int, object]:
        return {0: "a shard", 1: "another one"}


class World:
    """A clock, and a gateway with given answers, which notes the pushes."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self.clock = StoryClock(NOW)
        self.pushes: list[Push] = []
        self._last = 0.0
        request = {"method": "PATCH"}
        exchanges = [{"request": request, "answer": answer} for answer in answers]
        self.server = ScriptedServer(exchanges, self._note)
        client = DEFAULTS["client"]
        self.client = Client(client["key"], client["bot_id"], self.server.address, clock=self.clock)

    def _note(self, _kind: str, request: dict[str, Any]) -> None:
        self.pushes.append(Push(self.clock.elapsed - self._last, json.loads(request["body"])))
        self._last = self.clock.elapsed


Open = Callable[..., World]


@pytest.fixture
def open_world() -> Iterator[Open]:
    opened: list[World] = []

    def open_one(*answers: dict[str, Any]) -> World:
        opened.append(World(list(answers)))
        return opened[-1]

    yield open_one
    for world in opened:
        assert world.server.close() == 0


async def run(world: World, bot: FakeBot, **options: Any) -> None:
    """Run an AutoPoster until its bot is closed."""
    poster = AutoPoster(bot, world.client, clock=world.clock, **options)
    poster.start()
    bot.is_ready.set()
    await asyncio.gather(*other_tasks())
    assert not poster.is_running


def other_tasks() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def test_it_starts_after_ready_and_pushes_once_an_hour(open_world: Open) -> None:
    world = open_world(OK, OK, OK)
    asyncio.run(run(world, FakeBot(world.clock, 3)))
    assert world.pushes == [
        Push(5, {"server_count": 11}),
        Push(HOUR, {"server_count": 12}),
        Push(HOUR, {"server_count": 13}),
    ]


def test_after_a_restart_in_the_window_it_waits_as_long_as_the_gateway_says(
    open_world: Open, caplog: pytest.LogCaptureFixture
) -> None:
    world = open_world(refusal(429, "Too many requests, please try again later.", retry_after="7157"), OK)
    asyncio.run(run(world, FakeBot(world.clock, 2)))
    assert [push.after for push in world.pushes] == [5, 7157]
    assert world.pushes[1].counts == {"server_count": 12}
    assert [record.levelno for record in caplog.records] == [logging.INFO]  # it is no trouble


@pytest.mark.parametrize("seconds", ["1800000000", "9" * 400])
def test_a_wait_that_cannot_be_one_ends_within_a_day(open_world: Open, seconds: str) -> None:
    world = open_world(refusal(429, "Too many requests, please try again later.", retry_after=seconds), OK)
    asyncio.run(run(world, FakeBot(world.clock, 2)))
    assert [push.after for push in world.pushes] == [5, 24 * HOUR]


def test_it_waits_for_the_limit_before_it_is_hit(open_world: Open) -> None:
    used_up = {**OK, "headers": {"ratelimit-remaining": "0", "ratelimit-reset": "5000"}}
    world = open_world(used_up, OK)
    asyncio.run(run(world, FakeBot(world.clock, 3)))
    _, second = world.pushes
    assert 5000 <= second.after <= 5001
    assert second.counts == {"server_count": 13}


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (refusal(401, "Invalid API key."), HOUR),
        (refusal(404, "Bot not found."), HOUR),
        (refusal(400, "Server count must be between 0 and 10 Million."), HOUR),
        (refusal(500, "Could not fetch server count.", retry_after="900"), 900),
        ({"status": 302, "headers": {"location": "https://elsewhere.example/"}, "text": ""}, HOUR),
        ({"status": 200, "text": "<html>"}, 300),
    ],
)
def test_a_failure_is_logged_and_the_next_push_comes_later(
    open_world: Open, caplog: pytest.LogCaptureFixture, answer: dict[str, Any], seconds: int
) -> None:
    world = open_world(answer, OK)
    asyncio.run(run(world, FakeBot(world.clock, 2)))
    assert [push.after for push in world.pushes] == [5, seconds]
    (line,) = caplog.messages
    assert line.startswith("The counts were not pushed (")
    assert line.endswith(f"). Next try in {seconds} s.")
    assert DEFAULTS["client"]["key"] not in caplog.text


def test_an_outage_of_the_gateway_costs_minutes_and_not_an_hour(
    open_world: Open, caplog: pytest.LogCaptureFixture
) -> None:
    world = open_world(*[refusal(503, "Nothing can be written right now.")] * 6, OK)
    asyncio.run(run(world, FakeBot(world.clock, 2)))
    assert world.pushes[-1] == Push(300, {"server_count": 12})
    assert [record.levelno for record in caplog.records] == [
        logging.WARNING,  # the first failure of the call
        *[logging.INFO] * 4,
        logging.WARNING,
    ]


def test_counts_may_come_from_functions_of_the_bot(open_world: Open) -> None:
    async def of_all_processes() -> int:
        await asyncio.sleep(0)
        return 2500

    world = open_world(OK)
    bot = FakeBot(world.clock, 1)
    asyncio.run(run(world, bot, server_count=of_all_processes, command_count=lambda: 42))
    assert [push.counts for push in world.pushes] == [{"server_count": 2500, "command_count": 42}]


def test_a_function_that_fails_does_not_end_it(open_world: Open, caplog: pytest.LogCaptureFixture) -> None:
    counts = iter([None, 7])
    world = open_world(OK)
    bot = FakeBot(world.clock, 2)
    asyncio.run(run(world, bot, server_count=lambda: next(counts) or 1 // 0))
    assert world.pushes == [Push(5 + 300, {"server_count": 7})]
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize(("every", "wait"), [(HOUR, 300), (200, 200)])
def test_a_limit_that_names_no_wait_is_tried_again_after_300_seconds_or_sooner(
    open_world: Open, every: int, wait: int
) -> None:
    refused = refusal(429, "Too many requests, please try again later.")
    world = open_world(*[refused] * 6, OK)
    asyncio.run(run(world, FakeBot(world.clock, 2), every=every))
    assert wait <= world.pushes[6].after <= wait + 1


def test_the_number_of_commands_may_be_a_number(open_world: Open) -> None:
    world = open_world(OK)
    asyncio.run(run(world, FakeBot(world.clock, 1), command_count=42))
    assert world.pushes == [Push(5, {"server_count": 11, "command_count": 42})]


def test_a_bot_that_never_becomes_ready_is_let_alone(
    open_world: Open, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(FakeBot):
        async def wait_until_ready(self) -> None:
            raise RuntimeError("The client is not initialised.")

    world = open_world()
    asyncio.run(run(world, Broken(world.clock, 1)))
    assert "The client is not initialised." in caplog.text


@pytest.mark.parametrize("kind", [FakeBot, ShardedBot])
def test_a_part_of_the_shards_is_never_pushed_as_the_whole(
    open_world: Open, caplog: pytest.LogCaptureFixture, kind: type[FakeBot]
) -> None:
    world = open_world()
    asyncio.run(run(world, kind(world.clock, 1, shard_count=4)))
    assert world.pushes == []
    assert "Give AutoPoster a `server_count`" in caplog.text


def test_a_process_with_all_shards_counts_all_servers(open_world: Open) -> None:
    world = open_world(OK)
    asyncio.run(run(world, ShardedBot(world.clock, 1, shard_count=2)))
    assert [push.counts for push in world.pushes] == [{"server_count": 11}]


def test_a_second_start_changes_nothing_and_it_can_be_stopped(open_world: Open) -> None:
    world = open_world(OK)
    asleep = asyncio.Event()

    class Night(StoryClock):
        async def sleep(self, _seconds: float) -> None:
            asleep.set()
            await asyncio.Event().wait()

    async def go() -> None:
        bot = FakeBot(world.clock, 100)
        poster = AutoPoster(bot, world.client, clock=Night(NOW))
        bot.is_ready.set()
        poster.start()
        poster.start()
        await asleep.wait()
        poster.start()
        assert len(other_tasks()) == 1
        await poster.stop()
        assert not poster.is_running
        assert other_tasks() == set()

    asyncio.run(go())
    assert len(world.pushes) == 1


def test_it_needs_a_running_loop(open_world: Open) -> None:
    world = open_world()
    poster = AutoPoster(FakeBot(world.clock, 1), world.client)
    with pytest.raises(RuntimeError, match="no running event loop"):
        poster.start()
