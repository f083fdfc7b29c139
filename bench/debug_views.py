"""The cost of a debug view: the time for which the event loop stands still while one is made.

    python -m bench.debug_views --bots 100000

A gateway runs in this process with as many bots, every tenth with a webhook whose last event failed and a
delivery that waits, ten votes for each, a hundred thousand votes for one, and at last a window of each limit
open for each. A coroutine asks the loop for its next turn without a pause; the most work between two turns is
the stall. It is counted in processor time of the loop's thread, so that other processes do not count. Each
view is asked for once cold, right after a start from a snapshot, and then twice.
"""

import argparse
import asyncio
import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import uvloop
from msgspec.structs import replace

from bench.fed_gateways import commit, gateway_here
from bench.servers import OPERATOR
from core.events import DeliveryQueued, EndpointHealthSet, Event, ListingSaved, VoteCast
from core.rows import Webhook
from gateway.serve import Gateway, tune_interpreter
from handlers.public import PublicApi
from kinds.bots import BotProfile
from settings.model import Settings, load_settings
from tests.support.slots_set import webhook_saved

FIRST = 10**17
FAMOUS = FIRST
VIEWS = (
    "/debug/overview.json",
    "/debug/webhooks.json",
    "/debug/errors.json",
    "/debug/journal.json",
    "/debug/find.json?q=bot+99",
    "/debug/find.json?q=nothing-has-this-name",
    f"/debug/listings/bots/{FAMOUS}.json",
    f"/debug/users/{FIRST}.json",
    "/debug/limiter.json",
)
ROUNDS = 3


def events(bots: int, now_ms: int) -> Iterator[Event]:
    profile = BotProfile("", "Counts what happens", "A bot that counts what happens. " * 10, ("Utility",))
    for number in range(bots):
        ref = f"bots/{FIRST + number}"
        named = replace(profile, name=f"Bot {number}")
        yield ListingSaved(ref, str(FIRST + number % 1_000), named, "approved", now_ms)
        for voter in range(10):
            yield VoteCast(ref, str(FIRST + (number * 7 + voter) % bots), 1, now_ms - voter)
        if number % 10 == 0:
            yield webhook_saved(ref, Webhook("https://127.0.0.1:9/votes", now_ms))
            yield DeliveryQueued(f"{number:024x}", ref, str(FIRST), test=False, at_ms=now_ms)
            yield EndpointHealthSet(ref, 1 + number % 9, None)
    for voter in range(100_000):
        yield VoteCast(f"bots/{FAMOUS}", str(FIRST + voter), 1, now_ms - voter % 9_973)


class Turns:
    """The longest work of the loop between two of its turns, in processor time of its thread."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest_ms = max(self.longest_ms, (now - before) * 1_000)
            before = now


def asked(url: str) -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {OPERATOR}"})
    with urllib.request.urlopen(request) as answer:
        body: bytes = answer.read()
    assert json.loads(body)["success"]
    return len(body)


async def measure(gateway: Gateway, public: PublicApi) -> None:
    print(f"{'view':50} {'ms':>9} {'stall ms, cold':>15} {'then':>7} {'KB':>7}")
    for view in VIEWS:
        stalls, took, size = [], 0.0, 0
        if "limiter" in view:  # late, because it unpacks every bot
            use_limits(gateway, public)
            tune_interpreter()  # what was made just now is none of the view's business
        for _ in range(ROUNDS):
            await asyncio.sleep(0.2)
            turns = Turns()
            running = asyncio.create_task(turns.run())
            started = time.perf_counter()
            size = await asyncio.to_thread(asked, gateway.base_url + view)
            took = (time.perf_counter() - started) * 1_000
            running.cancel()
            stalls.append(turns.longest_ms)
        print(f"{view:50} {took:9.1f} {stalls[0]:15.2f} {max(stalls[1:]):7.2f} {size / 1_000:7.1f}")


def use_limits(gateway: Gateway, public: PublicApi) -> None:
    """Open a window of each limit for every bot, and count a failure of as many addresses."""
    limits, now_ns = public.limits, gateway.clock.monotonic_ns()
    for number, ref in enumerate(gateway.ledger.state.listings.refs):
        limits.voters.take(ref, limits.voters_policy, now_ns)
        limits.stats.take(ref, limits.stats_policy, now_ns)
        limits.guard.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", now_ns)


async def once(settings: Settings, bots: int, *, fills: bool) -> None:
    apis: list[PublicApi] = []

    def made(*arguments: Any, **options: Any) -> PublicApi:
        apis.append(PublicApi(*arguments, **options))
        return apis[-1]

    with patch("gateway.api.PublicApi", made):
        async with gateway_here(settings) as gateway:
            if fills:
                await commit(gateway, events(bots, gateway.clock.now_ms()))
            else:
                await measure(gateway, apis[0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bots", type=int, default=100_000)
    bots = parser.parse_args().bots
    with tempfile.TemporaryDirectory() as folder:
        given = {
            "data_dir": Path(folder) / "data",
            "server.port": 0,
            "server.access_log": False,
            "operator.token": OPERATOR,
            "webhooks.allow_private_targets": True,
            "webhooks.retry_delay_seconds": 3_600,
        }
        settings = load_settings(None, {}, given)
        uvloop.run(once(settings, bots, fills=True))
        uvloop.run(once(settings, bots, fills=False))


if __name__ == "__main__":
    main()
