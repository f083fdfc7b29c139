"""`make bench-clients`: the packages for bots beside bare aiohttp and bare fetch, by vote checks in turns.

A ratio is the median of those of all turns, so that a machine whose speed changes does not decide it.

Invariant: both do the same work: one request with the key, one body as JSON, and its field `voted`.
"""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple

import aiohttp

from bench.load import LOAD_CORES, on_cores
from bench.servers import OPERATOR, ROOT, running, votegate
from bench.world import Caller, add_callers, list_bots

sys.path.insert(0, str(ROOT / "clients" / "python"))
from votegate_client import Client

BOT = "bots/123456789012345678"
CHECKS = 1_000
TURNS = 30
IN_FLIGHT = (1, 16)

Check = Callable[[], Awaitable[bool]]


class Cost(NamedTuple):
    """Microseconds of one check."""

    elapsed: float
    processor: float
    """The client's process alone, without the gateway's."""


async def cost(check: Check, in_flight: int) -> Cost:
    left = iter(range(CHECKS))

    async def worker() -> None:
        for _ in left:
            assert await check()

    elapsed, processor = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    each = 1e6 / CHECKS
    return Cost((time.perf_counter() - elapsed) * each, (time.process_time() - processor) * each)


async def measure(address: str, caller: Caller) -> None:
    async with (
        aiohttp.ClientSession() as session,
        Client(caller.key, caller.bot, address) as client,
    ):

        async def bare() -> bool:
            url = f"{address}/bots/{caller.bot}/voters/{caller.user}"
            async with session.get(url, headers={"Authorization": caller.key}) as response:
                voted: bool = (await response.json())["voted"]
                return voted

        checks: dict[str, Check] = {"aiohttp": bare, "Client": lambda: client.has_voted(caller.user)}
        print(f"| medians of {TURNS} turns of {CHECKS:,} checks, microseconds | aiohttp | Client | ratio |")
        print("| --- | ---: | ---: | ---: |")
        for in_flight in IN_FLIGHT:
            costs: dict[str, list[Cost]] = {name: [] for name in checks}
            for turn in range(TURNS):
                for name in sorted(checks, reverse=turn % 2 == 1):
                    costs[name].append(await cost(checks[name], in_flight))
            for field in Cost._fields:
                theirs, ours = ([getattr(each, field) for each in costs[name]] for name in checks)
                ratio = median(one / other for one, other in zip(ours, theirs, strict=True))
                row = f"{field}, {in_flight} under way"
                print(f"| {row} | {median(theirs):.0f} | {median(ours):.0f} | {ratio:.2f} |")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, on_cores(LOAD_CORES):
        gateway = votegate(Path(folder, "data"))
        with running(gateway, Path(folder, "log")) as server:
            list_bots(server.port, OPERATOR, [BOT])
            (caller,) = add_callers(server.port, OPERATOR, [(BOT, 1)])
            address = f"http://127.0.0.1:{server.port}"
            asyncio.run(measure(address, caller))
            subprocess.run(["node", "clients/node/bench.mjs", address, caller.key, caller.bot], check=True)


if __name__ == "__main__":
    main()
