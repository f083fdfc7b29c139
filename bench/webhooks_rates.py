"""Webhooks sent a second, beside the usual tools: bare loops around aiohttp's client and Node's fetch.

The peers have as many requests under way. They post the same body and as many headers as the gateway does,
and nothing else: no journal, no outbox, no signing, no outcome that is written down. So their rate is that of
the client itself.
"""

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

import aiohttp
import uvloop

from bench.load import SERVER_CORES, on_cores
from bench.receivers import Receivers
from bench.state import in_process
from bench.webhooks_gateway import Fed, feeding, ref_of, webhook_id
from bench.wire import ROUNDS

OURS = "Votegate"
WARM_SECONDS = 1.0
MANY = 1_000
BACKLOG = 2_000
"""The number of deliveries that are always pending: more than can be under way."""
NUMBERS_APART = 10**7
"""The distance between the first votes of two bursts, so that no two votes have one number."""


class Sent(NamedTuple):
    ids: list[str]
    """The ids of all webhooks sent, including those of the warming up."""
    rate: float
    """The webhooks a second while it was measured."""


class Shape(NamedTuple):
    """The endpoints of webhooks, and the number of attempts under way at once."""

    name: str
    first_listing: int
    urls: list[str]
    under_way: int
    in_flight_per_endpoint: int

    def webhooks(self) -> dict[str, str | None]:
        """Return the URLs of the webhooks by listing."""
        return {ref_of(self.first_listing + number): url for number, url in enumerate(self.urls)}


class Rate(NamedTuple):
    per_second: float
    receivers_busy: float
    """The share of its core that the receivers' process took."""


def measure_rates(place: Path, receivers: Receivers, seconds: float) -> dict[str, dict[str, Rate]]:
    """Return the medians of the rounds, by shape and by sender."""
    one, many = receivers.open(1, answering=True), receivers.open(MANY, answering=True)
    shapes = [
        Shape("one receiver, 1 under way", 0, one, 1, 1),
        Shape("one receiver, 16 under way", 0, one, 16, 16),
        Shape(f"{MANY:,} receivers, 1 under way to each", 1, many, MANY, 1),
    ]
    measured: dict[str, dict[str, list[Rate]]] = {shape.name: {} for shape in shapes}
    with ExitStack() as stack:
        gateways: dict[int, Fed] = {}
        for most in {shape.in_flight_per_endpoint for shape in shapes}:
            starting = feeding(place / f"rates-{most}", in_flight_per_endpoint=most)
            gateways[most] = stack.enter_context(starting)
            gateways[most].add({ref: url for shape in shapes for ref, url in shape.webhooks().items()})
        numbers = count(0, NUMBERS_APART)
        for number in range(ROUNDS):
            for shape in shapes:
                print(f"webhooks/s, {shape.name}, round {number + 1} of {ROUNDS}", file=sys.stderr)
                fed = gateways[shape.in_flight_per_endpoint]
                for name, rate in _turn(fed, shape, receivers, seconds, numbers):
                    measured[shape.name].setdefault(name, []).append(rate)
    return {
        shape: {name: Rate(*map(statistics.median, zip(*rates, strict=True))) for name, rates in by.items()}
        for shape, by in measured.items()
    }


def _turn(
    fed: Fed, shape: Shape, receivers: Receivers, seconds: float, numbers: Iterator[int]
) -> Iterator[tuple[str, Rate]]:
    """Yield the rate of each sender. Raises AssertionError unless each webhook arrives once."""
    yield OURS, _rate(receivers, _by_gateway(fed, shape, seconds, numbers))
    yield AIOHTTP, _rate(receivers, by_aiohttp(shape.urls, shape.under_way, seconds, WARM_SECONDS))
    sent = by_fetch(shape.urls, shape.under_way, seconds, WARM_SECONDS)
    if sent is not None:
        yield FETCH, _rate(receivers, sent)


def _by_gateway(fed: Fed, shape: Shape, seconds: float, numbers: Iterator[int]) -> Sent:
    refs, ids = list(shape.webhooks()), list[str]()
    for length in (WARM_SECONDS, seconds):
        first = next(numbers)
        burst = fed.burst(refs, first, length, BACKLOG)
        ids += [webhook_id(first + number) for number in range(burst.votes)]
    return Sent(ids, burst.votes / burst.seconds)


def _rate(receivers: Receivers, sent: Sent) -> Rate:
    arrivals = receivers.arrivals(sent.ids)
    return Rate(sent.rate, arrivals.busy_seconds / len(sent.ids) * sent.rate)


BODY = '{"bot":"123456789012345678","user":"323456789012345678","test":false}'
HEADERS = {
    "Content-Type": "application/json",
    "Authorization": "a-token",
    "webhook-timestamp": "1750000000",
    "webhook-signature": "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
}
AIOHTTP, FETCH = "aiohttp's client", "Node's fetch"
NODE = """
const { urls, underWay, seconds, warm, body, headers } = JSON.parse(process.argv[1])
let sent = 0
async function worker (url, until) {
  while (performance.now() < until) {
    const id = `n${sent++}`
    const response = await fetch(url, { method: 'POST', body, headers: { ...headers, 'webhook-id': id } })
    await response.arrayBuffer()
    if (response.status !== 204) throw new Error(`status ${response.status}`)
  }
}
async function run (length) {
  const before = sent, started = performance.now()
  const until = started + length * 1000
  await Promise.all(Array.from({ length: underWay }, (_, i) => worker(urls[i % urls.length], until)))
  return (sent - before) / (performance.now() - started) * 1000
}
await run(warm)
const rate = await run(seconds)
console.log(JSON.stringify([sent, rate]))
"""


def by_aiohttp(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> Sent:
    with on_cores(SERVER_CORES):
        total, rate = in_process(_aiohttp, urls, under_way, seconds, warm)
    return Sent([f"a{number}" for number in range(total)], rate)


def by_fetch(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> Sent | None:
    """Return None on a machine without Node."""
    if shutil.which("node") is None:
        return None
    arguments = {"urls": urls, "underWay": under_way, "seconds": seconds, "warm": warm}
    task = json.dumps({**arguments, "body": BODY, "headers": HEADERS})
    with on_cores(SERVER_CORES):
        said = subprocess.run(
            ["node", "--input-type=module", "-e", NODE, task], capture_output=True, text=True, check=False
        )
    if said.returncode:
        raise AssertionError(said.stderr)
    total, rate = json.loads(said.stdout)
    return Sent([f"n{number}" for number in range(total)], rate)


def _aiohttp(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> tuple[int, float]:
    return uvloop.run(_posted(urls, under_way, seconds, warm))


async def _posted(urls: Sequence[str], under_way: int, seconds: float, warm: float) -> tuple[int, float]:
    sent = 0
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        timeout=aiohttp.ClientTimeout(total=5),
        headers=HEADERS,
    ) as session:

        async def worker(url: str, until: float) -> None:
            nonlocal sent
            while time.perf_counter() < until:
                headers = {"webhook-id": f"a{sent}"}
                sent += 1
                async with session.post(url, data=BODY, headers=headers, allow_redirects=False) as response:
                    await response.read()
                    if response.status != 204:
                        raise AssertionError(response.status)

        async def run(length: float) -> float:
            before, started = sent, time.perf_counter()
            workers = (worker(urls[number % len(urls)], started + length) for number in range(under_way))
            await asyncio.gather(*workers)
            return (sent - before) / (time.perf_counter() - started)

        await run(warm)
        rate = await run(seconds)
    return sent, rate
