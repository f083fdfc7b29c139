"""Runs stories of the side `client` with the Python client: `clients/README.md` says how to read them."""

import asyncio
import json
import logging
import threading
import traceback
from datetime import UTC, datetime
from types import ModuleType
from typing import Any, NamedTuple

from tests.clients.scripted_server import ScriptedServer
from tests.clients.stories import NOW, Story, client_options, header_lines
from tests.clients.story_clock import StoryClock
from tests.support.gateways import WAIT_SECONDS

AT_ONCE = (0, 0)
ROUNDING_SECONDS = 1e-6
SETTLED = 20
"""Turns of the loop after which a call that has begun waits for something else."""
PLAIN = ("status", "text", "request_id", "given", "actual", "allowed")
"""Attributes of errors that a story names as they are."""


class Seen(NamedTuple):
    """A request that the server got."""

    kind: str
    fields: dict[str, Any]
    at: float
    """Seconds of the client's clock since the story began."""


class Conductor:
    """Notes the client's time of each request, and holds the answer back while calls are being started."""

    def __init__(self, clock: StoryClock) -> None:
        self.seen: list[Seen] = []
        self._clock = clock
        self._may_answer = threading.Event()
        self._may_answer.set()
        self._arrived = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def report(self, kind: str, fields: dict[str, Any]) -> None:
        """Called by a thread of the server, which answers once this returns."""
        self.seen.append(Seen(kind, fields, self._clock.elapsed))
        self._loop.call_soon_threadsafe(self._arrived.set)
        self._may_answer.wait()

    def hold(self) -> None:
        self._arrived.clear()
        self._may_answer.clear()

    async def arrived(self) -> None:
        await asyncio.wait_for(self._arrived.wait(), WAIT_SECONDS)

    def go(self) -> None:
        self._may_answer.set()


class KeyFinder(logging.Handler):
    """Fails as soon as a log line contains the key."""

    def __init__(self, key: str) -> None:
        super().__init__(logging.DEBUG)
        self._key = key
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))

    def check(self) -> None:
        assert [line for line in self.lines if self._key in line] == []


async def run(story: Story, package: ModuleType) -> None:
    """Tell a story to clients of a package. Raises AssertionError where one departs from it."""
    told = [await _tell(story, package) for _ in range(story.get("times", 1))]
    if "times" in story:
        assert all(len(set(waits)) > 1 for waits in zip(*told, strict=True)), f"the same waits: {told}"


async def _tell(story: Story, package: ModuleType) -> list[float]:
    """Tell a story once. Return the seconds before each request with `after`."""
    clock = StoryClock(NOW)
    conductor = Conductor(clock)
    server = ScriptedServer(story["server"], conductor.report)
    options = client_options(story)
    options["base_url"] = options["base_url"].replace("{address}", server.address)
    log = KeyFinder(options["key"])
    logging.getLogger().addHandler(log)
    try:
        async with package.Client(**options, clock=clock) as client:
            assert options["key"] not in repr(client) + str(client)
            for step in story["do"]:
                if "pass" in step:
                    clock.elapsed += step["pass"]
                else:
                    await _act(step.get("together", [step]), client, clock, conductor, story)
    finally:
        logging.getLogger().removeHandler(log)
        conductor.go()
        left = await asyncio.to_thread(server.close)
    check_exchanges(story, conductor.seen, left, options["key"])
    log.check()
    times = [0.0, *(seen.at for seen in conductor.seen)]
    return [
        round(times[number + 1] - times[number], 3)
        for number, exchange in enumerate(story["server"])
        if "after" in exchange["request"]
    ]


def check_exchanges(story: Story, requests: list[Seen], left: int, key: str) -> None:
    """Compare what the server got with its story. `left` exchanges did not happen."""
    for number, seen in enumerate(requests):
        assert seen.fields["number"] == number, f"not in the story: {seen}"
        _check_request(story["server"][number]["request"], seen, key)
    assert left == 0, f"{left} requests are missing"


async def _act(
    calls: list[dict[str, Any]], client: Any, clock: StoryClock, conductor: Conductor, story: Story
) -> None:
    """Make calls, and check their results and times."""
    began, first = clock.elapsed, len(conductor.seen)
    if len(calls) > 1:
        conductor.hold()
    tasks = [asyncio.create_task(result(client, calls[0]))]
    if len(calls) > 1:
        await conductor.arrived()
        tasks += [asyncio.create_task(result(client, call)) for call in calls[1:]]
        for _ in range(SETTLED):
            await asyncio.sleep(0)
        conductor.go()
    results = await asyncio.gather(*tasks)
    before = check_waits(conductor.seen[first:], story["server"][first:], began)
    for call, got in zip(calls, results, strict=True):
        _check_seconds(clock.elapsed - before, call.get("after", AT_ONCE), "end of the call")
        check_result(call, got, client)
        if isinstance(got, Exception):
            check_silent(client_options(story)["key"], got)


def check_waits(requests: list[Seen], exchanges: list[dict[str, Any]], began: float) -> float:
    """Check the time of each request since the one before it. Return that of the last one."""
    before = began
    for seen, exchange in zip(requests, exchanges, strict=False):
        if isinstance(exchange["request"], dict):
            _check_seconds(seen.at - before, exchange["request"].get("after", AT_ONCE), "request")
        before = seen.at
    return before


async def result(client: Any, call: dict[str, Any]) -> Any:
    """Return what a call returns or raises."""
    try:
        return await getattr(client, call["call"])(**call["with"])
    except Exception as error:
        return error


def check_result(call: dict[str, Any], got: Any, client: Any, *, is_real: bool = False) -> None:
    """Compare the result of a call with its story. A real gateway has its own dates and ids of requests."""
    if "raises" in call:
        assert isinstance(got, Exception), f"returned {got!r}"
        _check_error(call["raises"], got, client, is_real=is_real)
    elif isinstance(call["returns"], dict):
        wanted = dict(call["returns"])
        shown = {"voted": got.voted, "votes": got.votes, "last_vote": got.last_vote}
        if wanted["last_vote"] is not None:
            date = datetime.fromtimestamp(wanted["last_vote"] / 1_000, UTC)
            assert got.last_vote.tzinfo is not None
            wanted["last_vote"] = got.last_vote if is_real else date
        assert shown == wanted
    else:
        assert got is call["returns"], repr(got)


def _check_error(wanted: dict[str, Any], error: Exception, client: Any, *, is_real: bool) -> None:
    whole = "".join(traceback.TracebackException.from_exception(error).format())
    name = type(error).__name__
    if wanted["error"] == "BadArgument":
        assert isinstance(error, TypeError | ValueError), whole
    else:
        assert name == wanted["error"], whole
    for attribute in PLAIN:
        if attribute in wanted and not (is_real and attribute == "request_id"):
            assert getattr(error, attribute) == wanted[attribute], whole
    if wanted.get("wait", AT_ONCE) is None:
        assert getattr(error, "wait", None) is None
    elif "wait" in wanted:
        _check_seconds(error.wait, wanted["wait"], "wait")  # type: ignore[attr-defined]
    if "mentions" in wanted:
        assert wanted["mentions"].replace("{address}", client.base_url) in str(error)


def check_silent(key: str, error: Exception) -> None:
    """The key is in no text of an error, not even in a traceback that shows variables."""
    shown = traceback.TracebackException.from_exception(error, capture_locals=True)
    assert key not in "".join([str(error), repr(error), *shown.format()])


def _check_request(wanted: Any, seen: Seen, key: str) -> None:
    if wanted == "connects":
        assert seen.kind == "connects"
        return
    sent = seen.fields
    assert (sent["method"], sent["path"]) == (wanted["method"], wanted["path"])
    assert (json.loads(sent["body"]) if sent["body"] else None) == wanted.get("json")
    for line in header_lines({"authorization": key, **wanted.get("headers", {})}):
        assert line in sent["headers"]
    assert [name for name, _ in sent["headers"]].count("authorization") == 1


def _check_seconds(seconds: float | None, bounds: tuple[float, float], name: str) -> None:
    least, most = bounds
    assert seconds is not None, name
    assert least - ROUNDING_SECONDS <= seconds <= most + ROUNDING_SECONDS, f"{name} after {seconds} seconds"
